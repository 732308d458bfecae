/* hutch image import: finds out the format of a file or folder, and makes an
 * image of it. */
#include "rootfs-tools/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/entries.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/wait_line.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "rootfs-tools/source.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"
#include "store/reference.h"
#include "store/store.h"

#define UNPACKED "tar" /* in the stage */

/* --- a file -------------------------------------------------------------------- */

static bool is_compressed(int fd)
{
	static const struct {
		unsigned char bytes[6];
		size_t len;
	} known[] = {
		{ { 0x1f, 0x8b }, 2 },
		{ { 0x28, 0xb5, 0x2f, 0xfd }, 4 },
		{ { 0xfd, '7', 'z', 'X', 'Z', 0 }, 6 },
	};
	unsigned char begin[6] = { 0 };
	ssize_t len = pread(fd, begin, sizeof(begin), 0);

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (len >= (ssize_t)known[i].len &&
		    !memcmp(begin, known[i].bytes, known[i].len))
			return true;
	return false;
}

/* Imports an uncompressed tar: the parts of an image, or a root file system. */
static int import_plain(const struct import *i, int *fd, bool *ret_is_root, struct err *e)
{
	struct source *from = NULL;
	int rc = 0;

	*ret_is_root = false;
	if (source_of_tar(*fd, import_is_part, &from, e) < 0)
		return -1;
	if (from)
		*fd = -1;
	if (from && import_is_layout(from))
		rc = import_layout(i, from, e);
	else if (from && source_has(from, "manifest.json"))
		rc = import_saved(i, from, e);
	else
		*ret_is_root = true;
	source_free(from);
	return rc;
}

/* Decompresses into a temporary file without a name. */
static int inflate(const struct import *i, int in, struct err *e)
{
	AUTO_FREE char *name = NULL;
	AUTO_CLOSE int tmp = store_folder(i->store, STORE_TMP, e);
	AUTO_CLOSE int stage = tmp < 0 ? -1 : store_stage(i->store, &name, e);

	if (stage < 0)
		return -1;
	AUTO_CLOSE int fd =
		openat(stage, UNPACKED, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		(void)err_sys(e, "make a file in tmp of the store");
	(void)unlinkat(stage, UNPACKED, 0); /* if this fails, a later sweep removes the
					     * file */
	(void)unlinkat(tmp, name, AT_REMOVEDIR);
	if (fd < 0 || lseek(in, 0, SEEK_SET) < 0 ||
	    import_inflate(i->store, in, fd, e) < 0)
		return -1;
	return fd_take(&fd);
}

static int import_file(const struct import *i, int fd, struct err *e)
{
	bool is_small = is_compressed(fd), is_root;

	if (is_small && !import_has_parts(i->store, fd))
		return import_tar(i, fd, e);
	AUTO_CLOSE int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	AUTO_CLOSE int plain = is_small ? inflate(i, fd, e) : fd_take(&again);
	if (plain < 0 || import_plain(i, &plain, &is_root, e) < 0)
		return -1;
	own_close(&plain);
	return is_root ? import_tar(i, fd, e) : 0;
}

/* --- a path -------------------------------------------------------------------- */

static int import_folder(const struct import *i, int *fd, struct err *e)
{
	AUTO_CLOSE int again = fcntl(*fd, F_DUPFD_CLOEXEC, 0);
	struct source *from = source_of_folder(fd_take(&again));
	int rc;

	if (import_is_layout(from))
		rc = import_layout(i, from, e);
	else
		rc = i->tag ? err_set(e, ERR_USAGE,
				      "the folder is no OCI layout, and has no "
				      "image '%.100s'",
				      i->tag)
			    : import_tree(i, *fd, e);
	source_free(from);
	return rc;
}

/* Opens the longest existing PATH in PATH or PATH:TAG; both may have colons in
 * them. */
static int open_path(char *path, const char **ret_tag, struct stat *st, struct err *e)
{
	AUTO_FREE char *whole = text_copy(path);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char *colon;

	*ret_tag = NULL;
	while (fd < 0 && (errno == ENOENT || errno == ENOTDIR) &&
	       (colon = strrchr(path, ':')) && colon > path) {
		*colon = '\0';
		*ret_tag = colon + 1;
		fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	}
	if (fd < 0 || fstat(fd, st) < 0)
		return err_sys(e, "open %.300s", whole);
	/* Each try has cut `path` at one more colon.  The tag is all after the last
	 * cut, so it is restored from the whole text. */
	if (*ret_tag)
		*ret_tag = strcpy(path + strlen(path) + 1, whole + strlen(path) + 1);
	return fd_take(&fd);
}

static int import_path(struct import *i, char *path, struct err *e)
{
	struct stat st;
	AUTO_CLOSE int fd = open_path(path, &i->tag, &st, e);
	int rc;

	if (fd < 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		rc = import_folder(i, &fd, e);
	else if (S_ISREG(st.st_mode))
		rc = import_file(i, fd, e);
	else
		rc = err_set(e, ERR_USAGE, "it is neither a folder nor a regular file");
	return rc < 0 ? err_in(e, "import %.100s", path) : 0;
}

/* --- the verb ------------------------------------------------------------------ */

static void tell_left_out(void *line, uint64_t count, const char *first)
{
	struct err e;

	wait_line_stop(line);
	(void)err_set(&e, ERR_NONE, "%llu files were left out, such as %s",
		      (unsigned long long)count, first);
	report_error(&e);
}

static int import(const char *name, char *path, struct err *e)
{
	struct reference wanted, called;
	struct store s;
	struct wait_line line;
	struct import i = { .store = &s,
			    .called = &called,
			    .on_left_out = tell_left_out,
			    .context = &line };
	char text[REFERENCE_MAX];

	if (name && reference_parse_name(name, &wanted, e) < 0)
		return -1;
	i.name = name ? &wanted : NULL;
	if (store_open(&s, true, e) < 0)
		return -1;
	AUTO_CLOSE int lock = store_lock(&s, false, true, e);
	AUTO_FREE char *doing = text_format("importing %s", path);
	wait_line_start(&line, doing);
	int rc = lock < 0 ? -1 : import_path(&i, path, e);
	wait_line_stop(&line);
	store_done(&s);
	if (rc < 0)
		return -1;
	reference_print_short(&called, text);
	(void)puts(text);
	return 0;
}

int image_import_main(char **argv)
{
	const char *name = NULL;
	const struct flag flags[] = {
		{ 'n', "name", "REF", "the image's name", NULL, &name },
	};
	const struct usage usage = {
		.synopsis = "hutch image import PATH[:TAG] [--name REF]",
		.about =
			"Takes an image from a folder or an archive: an OCI layout, what docker "
			"save\nwrites, or a root file system itself.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(import(name, argv[0], &e), &e);
}

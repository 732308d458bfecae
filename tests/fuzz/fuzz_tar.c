/* A tar is arbitrary bytes.  The values of its headers are in range and are the
 * same in a header that hutch writes; when it is unpacked, nothing is made
 * outside of the folder, and no more than the limits permit.  Blocks that are
 * marked as headers get a correct checksum, so that the code after the check is
 * reached. */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/entries.h"
#include "archive/unpack.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "tests/fuzz/tar_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An entry that is written again must read the same. */
static void check_again(const struct tar_entry *entry)
{
	struct entries t;
	struct buffer tar;
	struct err e;

	buffer_init(&tar, 3 * TAR_HEADER_MAX);
	tar_encode(&tar, entry);
	AUTO_CLOSE int fd = memfd_create("again", MFD_CLOEXEC);
	must(fd >= 0 && io_write_all(fd, buffer_data(&tar), buffer_len(&tar)) == 0 &&
	     lseek(fd, 0, SEEK_SET) == 0);
	entries_init(&t, fd);
	must(entries_next(&t, &e) == 1);
	must(t.now.type == entry->type && !strcmp(t.now.path, entry->path) &&
	     !strcmp(t.now.link, entry->link) && t.now.mode == entry->mode &&
	     t.now.uid == entry->uid && t.now.gid == entry->gid &&
	     t.now.size == entry->size && t.now.mtime == entry->mtime &&
	     t.now.mtime_ns == entry->mtime_ns);
	entries_done(&t);
	buffer_done(&tar);
}

static void check_entry(const struct tar_entry *entry)
{
	must(entry->type < TAR_LABEL && entry->mode <= 07777 &&
	     entry->size <= INT64_MAX && entry->mtime_ns < 1000000000);
	must(strlen(entry->path) <= TAR_HEADER_MAX &&
	     strlen(entry->link) <= TAR_HEADER_MAX);
	/* The headers that hutch writes can have no earlier times than this. */
	if (entry->type <= TAR_LINK && entry->mtime > INT64_MIN / 2)
		check_again(entry);
}

static void read_it(int fd)
{
	struct entries t;
	struct err e = { 0 };
	const uint8_t *data;
	ssize_t len;
	int more;

	entries_init(&t, fd);
	while ((more = entries_next(&t, &e)) > 0) {
		check_entry(&t.now);
		while ((len = entries_read(&t, &data, &e)) > 0)
			must((uint64_t)len <= t.now.size);
	}
	must(more == 0 || e.text[0]);
	entries_done(&t);
}

static unsigned count_names(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	must(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count - 2; /* "." and ".." */
}

/* Unpacks into the folder "in" of a new folder, with another folder beside it. */
static void unpack_it(int fd, int top, const char *rename)
{
	struct unpack u = { .in = fd, .rename = rename, .entries_max = ENTRIES_MAX,
			    .bytes_max = BYTES_MAX };
	struct err e = { 0 };
	struct stat st;

	must(mkdirat(top, "in", 0755) == 0);
	AUTO_CLOSE int root = openat(top, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(root >= 0);
	u.root = root;
	must(unpack_all(&u, &e) == 0 || e.text[0]);
	must(u.entries + u.left_out <= ENTRIES_MAX && u.bytes <= BYTES_MAX);
	must(fstat(root, &st) == 0 && (st.st_mode & 07777) == 0755);
	rm_tree_remove(top, "in");
	must(faccessat(top, "in", F_OK, AT_SYMLINK_NOFOLLOW) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_CLOSE int fd = make_input(data, size);
	int top = open_top();
	char beside[sizeof(top_path) + 8];

	read_it(fd);
	must(lseek(fd, 0, SEEK_SET) == 0);
	unpack_it(fd, top, size & 1 ? "x" : NULL);
	(void)snprintf(beside, sizeof(beside), "%s/beside", top_path);
	must(count_names(beside) == 0 && count_names(top_path) == 1);
	return 0;
}

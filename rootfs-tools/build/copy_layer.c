#include "rootfs-tools/build/copy_layer.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/entries.h"
#include "archive/outcome.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/build/sources.h"
#include "rootfs-tools/changes/reader.h"
#include "rootfs-tools/layers/merged.h"
#include "sandbox/root/jail.h"
#include "store/store.h"

#define DATABASE_MAX (1u << 20) /* limit of the bytes of /etc/passwd and /etc/group */

struct place_work {
	const struct copy_layer *p;
	struct merged image;
	struct entries tar;
	struct outcome *outcome;
	uid_t uid;
	gid_t gid;
	int out;
	void *written; /* owned; a tree (tsearch(3)) of the paths of the folders that were
		        * written to `out` */
	char *from, *where; /* owned: the tar's folder that was looked up last, and that
			     * folder's path in the image */
	bool is_folder;	    /* the destination is a folder, or must become one */
};

/* --- owners --------------------------------------------------------------------- */

static bool is_number(const char *text, size_t len, unsigned long *ret)
{
	char copy[16], *end;

	if (!len || len > 10 || strspn(text, "0123456789") < len)
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	*ret = strtoul(copy, &end, 10);
	return *ret < UINT32_MAX;
}

/* Returns the field number `n`, counted from 0, of a line of passwd(5) or group(5). */
static const char *field(const char *line, unsigned n, size_t *ret_len)
{
	for (; n > 0; n--) {
		line += strcspn(line, ":\n");
		if (*line != ':')
			return NULL;
		line++;
	}
	*ret_len = strcspn(line, ":\n");
	return line;
}

/* Finds the line whose field 0 is `name`, and gives the numbers in its fields 2 and 3:
 * in passwd(5) the user and group id. */
static bool find_name(const char *text, const char *name, size_t len, unsigned long *ret2,
		      unsigned long *ret3)
{
	for (const char *line = text; *line;
	     line += strcspn(line, "\n"), line += *line == '\n') {
		size_t has;
		const char *at = field(line, 0, &has);
		if (has != len || memcmp(at, name, len) != 0)
			continue;
		at = field(line, 2, &has);
		if (!at || !is_number(at, has, ret2))
			return false;
		at = field(line, 3, &has);
		if (ret3 && (!at || !is_number(at, has, ret3)))
			*ret3 = 0;
		return true;
	}
	return false;
}

/* Reads a file of the image; the text is "" if the image has no such file. */
static int read_database(const struct merged *image, const char *path, char **ret,
			 struct err *e)
{
	AUTO_FREE char *missing = NULL;
	struct merged_at at;
	size_t len;
	int rc = 0;

	if (merged_resolve(image, path, true, &at, &missing, e) < 0)
		return -1;
	if (*missing || !S_ISREG(at.st.st_mode)) {
		*ret = text_copy("");
	} else {
		AUTO_CLOSE int fd = merged_open(image, &at, e);
		rc = fd < 0 ? -1 : io_read_file(fd, path, DATABASE_MAX, ret, &len, e);
	}
	merged_at_done(&at);
	return rc;
}

static int no_such(const char *what, const char *name, size_t len, const char *file,
		   struct err *e)
{
	(void)err_set(e, ERR_NOT_FOUND, "there is no %s %.*s in the image's %s", what,
		      (int)(len < 100 ? len : 100), name, file);
	return err_remedy(e, "a number can always be given");
}

static int find_group(const struct merged *image, const char *group, gid_t *ret,
		      struct err *e)
{
	AUTO_FREE char *text = NULL;
	unsigned long gid;

	if (!is_number(group, strlen(group), &gid)) {
		if (read_database(image, "/etc/group", &text, e) < 0)
			return -1;
		if (!find_name(text, group, strlen(group), &gid, NULL))
			return no_such("group", group, strlen(group), "/etc/group", e);
	}
	*ret = (gid_t)gid;
	return 0;
}

int copy_layer_owner(const struct merged *image, const char *owner, uid_t *ret_uid,
		  gid_t *ret_gid, struct err *e)
{
	size_t len = strcspn(owner, ":");
	unsigned long uid, gid = 0;
	AUTO_FREE char *text = NULL;

	if (!is_number(owner, len, &uid)) {
		if (read_database(image, "/etc/passwd", &text, e) < 0)
			return -1;
		if (len == 4 && !memcmp(owner, "root", 4))
			uid = 0;
		else if (!find_name(text, owner, len, &uid, &gid))
			return no_such("user", owner, len, "/etc/passwd", e);
	} else if (!owner[len]) {
		gid = uid; /* a lone number is the user and the group, as in docker */
	}
	*ret_uid = (uid_t)uid;
	*ret_gid = (gid_t)gid;
	return owner[len] ? find_group(image, owner + len + 1, ret_gid, e) : 0;
}

/* --- writing -------------------------------------------------------------------- */

static int write_out(struct place_work *w, const void *data, size_t len, struct err *e)
{
	return io_write_all(w->out, data, len) < 0 ? err_sys(e, "write the layer") : 0;
}

static int write_header(struct place_work *w, const struct tar_entry *entry,
			struct err *e)
{
	struct tar_entry clamped = *entry;
	struct buffer b;

	if (clamped.mtime >= w->p->newest) {
		clamped.mtime = w->p->newest;
		clamped.mtime_ns = 0;
	}
	buffer_init(&b, 2 * TAR_HEADER_MAX);
	tar_encode(&b, &clamped);
	int rc = write_out(w, buffer_data(&b), buffer_len(&b), e);
	buffer_done(&b);
	w->outcome->entries++;
	return rc;
}

static int copy_content(struct place_work *w, struct err *e)
{
	static const uint8_t zeros[TAR_BLOCK];
	uint64_t size = w->tar.now.size, pad = tar_padded(size) - size;
	const uint8_t *data;
	ssize_t len;

	while ((len = entries_read(&w->tar, &data, e)) > 0)
		if (write_out(w, data, (size_t)len, e) < 0)
			return -1;
	w->outcome->bytes += size;
	return len < 0 ? -1 : write_out(w, zeros, pad, e);
}

/* Returns the header to write for `path`: that of the tar's current entry, with the
 * owner, mode and time that the caller's struct copy_layer sets. */
static struct tar_entry looks_of(const struct place_work *w, const char *path)
{
	struct tar_entry entry = w->tar.now;

	entry.path = path;
	entry.xattrs = NULL;
	entry.xattr_count = 0;
	if (!w->p->keeps_ids || w->p->owner) {
		entry.uid = w->uid;
		entry.gid = w->gid;
	}
	if (w->p->has_mode && entry.type != TAR_LINK)
		entry.mode = w->p->mode;
	return entry;
}

/* --- folders -------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Records the folder as written; returns false if the folder had been written before. */
static bool note_written(struct place_work *w, const char *path)
{
	char *mine = text_copy(path);
	char **node = mem_or_abort(tsearch(mine, &w->written, by_text));

	if (*node == mine)
		return true;
	free(mine);
	return false;
}

static int write_existing(struct place_work *w, const struct merged_at *at, struct err *e)
{
	const struct tar_entry entry = {
		.type = TAR_FOLDER,
		.path = at->path,
		.mode = at->st.st_mode & 07777,
		.uid = at->st.st_uid,
		.gid = at->st.st_gid,
		.mtime = at->st.st_mtim.tv_sec,
		.mtime_ns = (uint32_t)at->st.st_mtim.tv_nsec,
	};

	return write_header(w, &entry, e);
}

static int write_new(struct place_work *w, const char *path, struct err *e)
{
	const struct tar_entry entry = { .type = TAR_FOLDER,
					 .path = path,
					 .mode = 0755,
					 .uid = w->uid,
					 .gid = w->gid,
					 .mtime = w->p->now };

	return write_header(w, &entry, e);
}

/* Writes the folder `path`, which has no links in it, unless it was written before. */
static int write_folder(struct place_work *w, const char *path, struct err *e)
{
	AUTO_FREE char *missing = NULL;
	struct merged_at at;

	if (!*path || !note_written(w, path))
		return 0;
	if (merged_resolve(&w->image, path, false, &at, &missing, e) < 0)
		return -1;
	int rc = *missing ? write_new(w, path, e) : write_existing(w, &at, e);
	merged_at_done(&at);
	return rc;
}

/* Writes `path` and all folders above it. */
static int write_folders(struct place_work *w, const char *path, struct err *e)
{
	for (size_t i = 1; path[i - 1]; i++) {
		if (path[i] && path[i] != '/')
			continue;
		AUTO_FREE char *part = text_format("%.*s", (int)i, path);
		if (write_folder(w, part, e) < 0)
			return -1;
	}
	return 0;
}

static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return text_format("%.*s", slash ? (int)(slash - path) : 0, path);
}

/* --- where ---------------------------------------------------------------------- */

/* Resolves the image's links in a path; *ret is a path without links.  *ret_mode: the
 * mode of the existing file, 0 if there is none. */
static int resolve(struct place_work *w, const char *path, bool follows, char **ret,
		   mode_t *ret_mode, struct err *e)
{
	AUTO_FREE char *missing = NULL;
	struct merged_at at;

	if (merged_resolve(&w->image, path, follows, &at, &missing, e) < 0)
		return -1;
	if (*missing && !S_ISDIR(at.st.st_mode)) {
		(void)err_set(e, ERR_USAGE, "/%.300s is no folder", at.path);
		merged_at_done(&at);
		return -1;
	}
	*ret = text_format("%s%s%s", at.path, *at.path && *missing ? "/" : "", missing);
	*ret_mode = *missing ? 0 : at.st.st_mode;
	merged_at_done(&at);
	return 0;
}

/* Sets w->where to the path that the tar's folder `from` gets in the image. */
static int find_where(struct place_work *w, const char *from, struct err *e)
{
	AUTO_FREE char *path = text_format("%s/%s", w->p->to, from), *where = NULL;
	mode_t mode;

	if (w->from && !strcmp(w->from, from))
		return 0;
	if (resolve(w, path, true, &where, &mode, e) < 0)
		return -1;
	if (mode && !S_ISDIR(mode))
		return err_set(e, ERR_EXISTS, "/%.300s is no folder in the image", where);
	free(w->from);
	free(w->where);
	w->from = text_copy(from);
	w->where = where;
	where = NULL;
	return 0;
}

/* Cleans a name of the tar: "." and empty parts are removed; ".." is an error, and so
 * is a whiteout's name, which would delete a file of the image. */
static int clean_name(const char *name, char **ret, struct err *e)
{
	char *clean = mem_new(strlen(name) + 1), *to = clean;

	for (const char *at = name; *at;) {
		size_t len = strcspn(at, "/");
		bool is_up = len == 2 && !memcmp(at, "..", 2);
		if (is_up || sources_is_whiteout(at)) {
			free(clean);
			return err_set(e, ERR_USAGE, "'%.300s' in the archive: %s", name,
				       is_up ? "'..' leads out of it" :
					       "in a layer it would delete another file");
		}
		if (len && !(len == 1 && *at == '.')) {
			if (to > clean)
				*to++ = '/';
			memcpy(to, at, len);
			to += len;
		}
		at += len + (at[len] == '/');
	}
	*to = '\0';
	*ret = clean;
	return 0;
}

/* Returns the path that a file or link of the tar gets in the image; NULL with an
 * error. */
static char *file_place(struct place_work *w, const char *name, struct err *e)
{
	AUTO_FREE char *from = parent_of(name), *whole = NULL;
	const char *slash = strrchr(name, '/');
	mode_t mode;

	if (!w->is_folder) {
		if (resolve(w, w->p->to, true, &whole, &mode, e) < 0)
			return NULL;
		if (!S_ISDIR(mode) && *whole)
			return text_copy(whole);
		w->is_folder = true;
	}
	if (find_where(w, from, e) < 0)
		return NULL;
	return text_format("%s%s%s", w->where, *w->where ? "/" : "",
			   slash ? slash + 1 : name);
}

/* For a hard link, sets *ret and entry->link to the path of the link's target in the
 * image. */
static int place_target(struct place_work *w, struct tar_entry *entry, char **ret,
			struct err *e)
{
	AUTO_FREE char *target = NULL;

	if (entry->type != TAR_HARD_LINK)
		return 0;
	if (clean_name(entry->link, &target, e) < 0)
		return -1;
	*ret = file_place(w, target, e);
	entry->link = *ret;
	return *ret ? 0 : -1;
}

static int place_file(struct place_work *w, const char *name, struct err *e)
{
	AUTO_FREE char *path = file_place(w, name, e), *is = NULL, *link = NULL;
	mode_t mode;

	if (!path || resolve(w, path, false, &is, &mode, e) < 0)
		return -1;
	if (S_ISDIR(mode))
		return err_set(e, ERR_EXISTS,
			       "/%.300s is a folder in the image, and a file is "
			       "to take its place",
			       path);
	AUTO_FREE char *folder = parent_of(path);
	struct tar_entry entry = looks_of(w, path);
	if (write_folders(w, folder, e) < 0 || place_target(w, &entry, &link, e) < 0 ||
	    write_header(w, &entry, e) < 0)
		return -1;
	return entry.type == TAR_FILE ? copy_content(w, e) : 0;
}

static int place_folder(struct place_work *w, const char *name, struct err *e)
{
	AUTO_FREE char *from = parent_of(name), *path = NULL, *direct = NULL, *is = NULL;
	mode_t mode;

	w->is_folder = true;
	if (find_where(w, name, e) < 0)
		return -1;
	path = text_copy(w->where);
	if (!*name)
		return write_folders(w, path, e);
	if (find_where(w, from, e) < 0 || write_folders(w, w->where, e) < 0)
		return -1;
	const char *slash = strrchr(name, '/');
	direct = text_format("%s/%s", w->where, slash ? slash + 1 : name);
	if (resolve(w, direct, false, &is, &mode, e) < 0)
		return -1;
	if (S_ISLNK(mode)) /* the image has a link to a folder here: keep it, and write
			    * into that folder */
		return write_folders(w, path, e);
	if (!note_written(w, path))
		return 0;
	const struct tar_entry entry = looks_of(w, path);
	return write_header(w, &entry, e);
}

static void leave_out(struct place_work *w, const char *name)
{
	w->outcome->left_out++;
	if (!w->outcome->first[0]) /* a long path may be cut: the text is only for a
				    * message */
		(void)snprintf(w->outcome->first, sizeof(w->outcome->first),
			       "%.90s: a device, a FIFO or something unknown", name);
}

static int place_entry(struct place_work *w, struct err *e)
{
	AUTO_FREE char *name = NULL;

	if (w->tar.now.type == TAR_OTHER) {
		leave_out(w, w->tar.now.path);
		return 0;
	}
	if (clean_name(w->tar.now.path, &name, e) < 0)
		return -1;
	if (w->tar.now.type == TAR_FOLDER)
		return place_folder(w, name, e);
	if (!*name)
		return err_set(e, ERR_PROTOCOL, "the archive has a file without a name");
	return place_file(w, name, e);
}

/* --- the work ------------------------------------------------------------------- */

static int place_all(struct place_work *w, struct err *e)
{
	size_t len = strlen(w->p->to);
	int more;

	if (w->p->owner &&
	    copy_layer_owner(&w->image, w->p->owner, &w->uid, &w->gid, e) < 0)
		return -1;
	w->is_folder = len && w->p->to[len - 1] == '/';
	while ((more = entries_next(&w->tar, e)) > 0)
		if (place_entry(w, e) < 0)
			return -1;
	if (more < 0)
		return -1;
	entries_drain(&w->tar);
	if (!w->is_folder)
		return 0;
	return find_where(w, "", e) < 0 ? -1 : write_folders(w, w->where, e);
}

static void place_in_jail(const void *arg, int folder, int in, void *result)
{
	struct place_work w = { .p = arg, .outcome = result, .out = JAIL_OUT };
	struct err *e = &w.outcome->error;

	entries_init(&w.tar, in);
	if (merged_open_layers(&w.image, folder, w.p->layers, e) == 0)
		(void)place_all(&w, e);
	/* Nothing is freed here, since the process ends now. */
}

int copy_layer_work(void *arg, void *outcome, struct err *e)
{
	const struct copy_layer_order *order = arg;
	struct jail jail = { .folder = order->layers, .in = order->in, .out = order->out,
			     .leash = order->leash, .file_max = UINT64_MAX,
			     .work = place_in_jail, .arg = order->p };

	(void)e; /* `e` is not used: the outcome has the error */
	reader_run(&jail, outcome);
	return 0;
}

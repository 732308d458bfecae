#include "rootfs-tools/changes/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "archive/outcome.h"
#include "archive/pack.h"
#include "archive/pack_output.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/worker.h"
#include "rootfs-tools/changes/reader.h"
#include "rootfs-tools/changes/upper_scan.h"
#include "sandbox/root/jail.h"

#define WHITEOUT ".wh."
#define OPAQUE	 ".wh..wh..opq"
#define STAT	 "user.hutch.stat"

/* Limits for the attributes of one file; a file that exceeds them is left out. */
#define XATTRS_MAX  256
#define XATTRS_BYTES (1u << 20)

/* A hole becomes zeros in a tar, and a sandbox can make a hole of a terabyte for free.
 * The holes of all files together may have HOLES_MAX bytes, or HOLES_RATIO times the
 * bytes of data. */
#define HOLES_MAX  (1ull << 30)
#define HOLES_RATIO 4

struct writing {
	struct pack pack;
	struct upper_scan scan;
	struct outcome *outcome;
	uint64_t there, holes; /* bytes of all files so far: of data, and of holes */
	bool has_ranges;       /* files have the owners that the kernel reports; else
			        * root, or the owner in user.hutch.stat */
};

/* --- what was left out -------------------------------------------------------- */

static void on_left_out(void *context, const char *path, const char *why)
{
	struct writing *w = context;

	if (!w->outcome->first[0]) /* a long path may be cut: the text is only for a
				    * message */
		(void)snprintf(w->outcome->first, sizeof(w->outcome->first),
			       "%.90s: %.60s", path, why);
}

/* --- attributes --------------------------------------------------------------- */

struct attributes {
	struct tar_xattr items[XATTRS_MAX]; /* owned */
	size_t count, bytes;
	bool has_any; /* the file has attributes, even if none of them is in `items` */
};

static void attributes_done(struct attributes *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free((char *)a->items[i].name);
		free((void *)a->items[i].value);
	}
	a->count = 0;
}

static bool has_front(const char *text, const char *front)
{
	return !strncmp(text, front, strlen(front));
}

/* Returns whether the attribute is written to the tar.  Attributes of overlayfs and
 * hutch are not: they have a meaning only in an unpacked layer. */
static bool is_the_insides(const char *name)
{
	return has_front(name, "user.") && !has_front(name, "user.overlay.") &&
	       !has_front(name, "user.hutch.") && !strpbrk(name, "=\n");
}

/* Adds one attribute of a file; -1 if the file has more attributes than the limits
 * allow. */
static int add_attribute(struct attributes *a, int fd, const char *name)
{
	AUTO_FREE char *value = mem_new(XATTR_SIZE_MAX);
	ssize_t len = fgetxattr(fd, name, value, XATTR_SIZE_MAX);

	if (len < 0)
		return 0; /* the attribute was removed meanwhile */
	if (a->count == XATTRS_MAX || a->bytes + (size_t)len > XATTRS_BYTES)
		return -1;
	a->bytes += (size_t)len;
	a->items[a->count++] = (struct tar_xattr){ .name = text_copy(name),
						   .value = mem_copy(value, (size_t)len),
						   .len = (size_t)len };
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct tar_xattr *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int read_attributes(int fd, struct attributes *ret)
{
	AUTO_FREE char *names = mem_new(XATTR_LIST_MAX + 1);
	ssize_t len = flistxattr(fd, names, XATTR_LIST_MAX);
	int result = 0;

	ret->count = ret->bytes = 0;
	ret->has_any = len != 0;
	if (len <= 0)
		return 0;
	names[len] = '\0';
	for (const char *at = names; at < names + len && result == 0;
	     at += strlen(at) + 1)
		if (is_the_insides(at))
			result = add_attribute(ret, fd, at);
	if (ret->count > 1)
		qsort(ret->items, ret->count, sizeof(*ret->items), by_name);
	return result;
}

/* Sets the owner in `st` from the attribute user.hutch.stat, "UID GID MODE"; any other
 * text is ignored. */
static void read_owner(const struct writing *w, int fd, struct stat *st)
{
	char text[48], more;
	unsigned uid, gid, mode;
	if (w->has_ranges)
		return;
	ssize_t len = fd < 0 ? -1 : fgetxattr(fd, STAT, text, sizeof(text) - 1);
	st->st_uid = st->st_gid = 0;
	if (len <= 0)
		return;
	text[len] = '\0';
	if (strspn(text, "0123456789 ") != (size_t)len ||
	    sscanf(text, "%10u %10u %6o%c", &uid, &gid, &mode, &more) != 3 ||
	    mode > 07777)
		return;
	st->st_uid = uid;
	st->st_gid = gid;
	st->st_mode |= mode & 07000;
}

/* --- entries ------------------------------------------------------------------ */

static struct pack_item item_of(const struct upper_scan_item *d,
				const struct attributes *a)
{
	return (struct pack_item){ .at = d->at, .name = d->name, .as = d->path,
				   .xattrs = a ? a->items : NULL,
				   .xattr_count = a ? a->count : 0 };
}

/* Writes a whiteout or an opaque mark: an empty file whose name has that meaning.  The
 * files that overlayfs uses as whiteouts share inodes, so their times mean nothing and
 * are not copied. */
static void put_mark(struct writing *w, const char *path)
{
	const struct stat st = { .st_mode = S_IFREG | 0600 };
	const struct pack_item i = { .as = path };

	pack_header(&w->pack, TAR_FILE, &i, &st, NULL);
}

static int put_gone(struct writing *w, const struct upper_scan_item *d, struct err *e)
{
	AUTO_FREE char *path = text_format("%.*s" WHITEOUT "%s",
					   (int)(strlen(d->path) - strlen(d->name)),
					   d->path, d->name);

	(void)e;
	put_mark(w, path);
	return 0;
}

static int put_folder(struct writing *w, const struct upper_scan_item *d, struct err *e)
{
	struct attributes a;
	struct stat st = d->st;

	(void)e;
	if (read_attributes(d->fd, &a) < 0)
		upper_scan_leave_out(&w->scan, d->path,
				     "some of its attributes are too many");
	read_owner(w, d->fd, &st);
	const struct pack_item i = item_of(d, &a);
	pack_header(&w->pack, TAR_FOLDER, &i, &st, NULL);
	attributes_done(&a);
	if (d->is_opaque) {
		AUTO_FREE char *path = text_format("%s/" OPAQUE, d->path);
		put_mark(w, path);
	}
	return 0;
}

static int put_end(struct writing *w, const struct upper_scan_item *d, struct err *e)
{
	(void)w;
	(void)d;
	(void)e;
	return 0;
}

static int put_open_file(struct writing *w, const struct upper_scan_item *d, int fd,
			 struct stat *st, struct err *e)
{
	struct attributes a;

	if (read_attributes(fd, &a) < 0)
		upper_scan_leave_out(&w->scan, d->path,
				     "some of its attributes are too many");
	read_owner(w, a.has_any ? fd : -1, st);
	const struct pack_item i = item_of(d, &a);
	int result = pack_content(&w->pack, fd, &i, st, e);
	attributes_done(&a);
	return result;
}

static bool has_too_many_holes(struct writing *w, const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size, there = (uint64_t)st->st_blocks * 512;
	uint64_t holes = size > there ? size - there : 0;

	if (holes && w->holes + holes > HOLES_MAX + HOLES_RATIO * (w->there + there))
		return true;
	w->there += there;
	w->holes += holes;
	return false;
}

static int put_file(struct writing *w, const struct upper_scan_item *d, struct err *e)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	const struct pack_item i = item_of(d, NULL);
	struct stat st;

	AUTO_CLOSE int fd = openat(d->at, d->name, flags);
	if (fd < 0 || fstat(fd, &st) < 0)
		return pack_leave_out(&w->pack, &i, e);
	if (!S_ISREG(st.st_mode))
		return pack_leave_out_kind(&w->pack, &i, "no longer a file", e);
	struct stat as = st; /* read_owner() changes only the copy: `st` still identifies
			      * the inode */
	const char *first = st.st_nlink > 1 ? inodes_get(&w->pack.linked, &st) : NULL;
	if (first) {
		read_owner(w, fd, &as);
		pack_header(&w->pack, TAR_HARD_LINK, &i, &as, first);
		return 0;
	}
	if (has_too_many_holes(w, &st))
		return pack_leave_out_kind(&w->pack, &i, "more than a GiB of holes", e);
	if (put_open_file(w, d, fd, &as, e) < 0)
		return -1;
	if (st.st_nlink > 1)
		inodes_add(&w->pack.linked, &st, d->path);
	return 0;
}

static int put_link(struct writing *w, const struct upper_scan_item *d, struct err *e)
{
	const struct pack_item i = item_of(d, NULL);
	struct stat st = d->st;
	char to[PATH_MAX];
	ssize_t len = readlinkat(d->at, d->name, to, sizeof(to) - 1);

	if (len < 0)
		return pack_leave_out(&w->pack, &i, e);
	to[len] = '\0';
	read_owner(w, -1, &st);
	pack_header(&w->pack, TAR_LINK, &i, &st, to);
	return 0;
}

static int put_fifo(struct writing *w, const struct upper_scan_item *d, struct err *e)
{
	const struct pack_item i = item_of(d, NULL);
	struct stat st = d->st;

	(void)e;
	read_owner(w, -1, &st);
	pack_header(&w->pack, TAR_OTHER, &i, &st, NULL);
	return 0;
}

static int (*const ways[])(struct writing *, const struct upper_scan_item *,
			   struct err *) = {
	[UPPER_SCAN_FOLDER] = put_folder, [UPPER_SCAN_FOLDER_END] = put_end,
	[UPPER_SCAN_FILE] = put_file,	  [UPPER_SCAN_LINK] = put_link,
	[UPPER_SCAN_FIFO] = put_fifo,	  [UPPER_SCAN_GONE] = put_gone,
};
_Static_assert(ARRAY_LEN(ways) == UPPER_SCAN_KIND_COUNT, "a kind has no entry");

static int put_all(struct writing *w, struct err *e)
{
	struct upper_scan_item item;
	int more;

	while ((more = upper_scan_next(&w->scan, &item, e)) > 0)
		if (ways[item.kind](w, &item, e) < 0 || pack_flush_much(&w->pack, e) < 0)
			return -1;
	return more < 0 ? -1 : pack_end(&w->pack, e);
}

/* --- the jailed writer -------------------------------------------------------- */

static void write_tar(const void *arg, int folder, int in, void *result)
{
	const struct changes *order = arg;
	struct outcome *o = result;
	struct writing w = { .outcome = o, .has_ranges = order->ranges != NULL };

	(void)in;
	w.scan = (struct upper_scan){ .context = &w,
				      .on_left_out = on_left_out,
				      .trusts_types = true,
				      .reserved = WHITEOUT };
	w.pack = (struct pack){ .out = JAIL_OUT,
				.newest = order->newest,
				.context = &w,
				.on_left_out = on_left_out };
	if (upper_scan_begin(&w.scan, folder, &o->error) == 0)
		(void)put_all(&w, &o->error);
	o->entries = w.pack.entries;
	o->bytes = w.pack.bytes;
	o->left_out = w.scan.left_out + w.pack.left_out;
	upper_scan_done(&w.scan);
	pack_done(&w.pack);
}

struct order {
	const struct changes *changes;
	int leash;
};

static int in_jail(void *arg, void *result, struct err *e)
{
	const struct order *order = arg;
	const struct changes *c = order->changes;
	const uint64_t max = c->max && c->max < CHANGES_MAX ? c->max : CHANGES_MAX;
	struct jail jail = { .folder = c->upper, .in = -1, .out = c->out,
			     .leash = order->leash, .file_max = max, .ranges = c->ranges,
			     .work = write_tar, .arg = c };
	struct outcome *o = result;

	reader_run(&jail, o);
	if (o->error.sys != EFBIG)
		return 0;
	(void)err_set(e, ERR_LIMIT, "the written files are more than %llu bytes",
		      (unsigned long long)max);
	e->sys = EFBIG; /* the caller, which set the limit, may replace this error by a
			 * better one */
	return -1;
}

int changes_tar(const struct changes *c, struct outcome *ret, struct err *e)
{
	struct order order = { .changes = c };
	const struct worker_task task = { .name = "the process that reads the changes",
					  .work = in_jail, .arg = &order,
					  .result_len = sizeof(*ret),
					  .fds = { c->upper, c->out }, .fd_count = 2,
					  .leash = &order.leash };
	struct worker w;

	if (worker_start(&task, &w, e) < 0)
		return -1;
	outcome_wait(&w, ret);
	if (ret->error.kind == ERR_NONE)
		return 0;
	if (e)
		*e = ret->error;
	return err_in(e, "the changes");
}

#include "archive/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/entries.h"
#include "archive/inodes.h"
#include "archive/place.h"
#include "archive/site.h"
#include "archive/trail.h"
#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"

/* The pieces in which content is written, and the shortest one that may become a hole. */
#define PIECE	 (64u << 10)
#define HOLE_MIN 4096

struct work {
	struct unpack *u;
	struct entries tar;
	struct site site;
	struct trail look; /* where hard links point to */
	struct place place, target;
};

static struct looks looks_of(const struct work *w)
{
	const struct tar_entry *entry = &w->tar.now;

	return (struct looks){
		.mode = entry->mode & (w->u->keeps_setid ? 07777 : 0777),
		.has_ids = w->u->keeps_ids,
		.uid = (uid_t)entry->uid,
		.gid = (gid_t)entry->gid,
		.has_time = true,
		.mtime = { .tv_sec = entry->mtime, .tv_nsec = entry->mtime_ns },
	};
}

static int make_folder(struct work *w, struct err *e)
{
	const struct looks looks = looks_of(w);
	uint64_t before = w->u->entries;

	if (!*w->place.path) /* the root is not ours */
		return 0;
	if (site_go(&w->site, w->place.path, e) < 0)
		return -1;
	site_folder(&w->site, &looks);
	if (w->u->entries == before)
		w->u->entries++; /* it was there */
	return 0;
}

/* --- places ------------------------------------------------------------------ */

/* To the folder that the entry is to be in. */
static int reach_place(struct work *w, struct err *e)
{
	if (!*w->place.path)
		return err_set(e, ERR_PROTOCOL, "the tar has something without a name");
	if (site_go(&w->site, place_folder(&w->place), e) < 0)
		return -1;
	return site_check_count(&w->site, e);
}

/* What is at the entry's place goes, unless it is a folder. */
static int clear_place(struct work *w, struct err *e)
{
	int here = site_here(&w->site);
	struct stat st;

	if (fstatat(here, w->place.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "%.300s", place_whole(&w->place));
	if (S_ISDIR(st.st_mode))
		return err_set(e, ERR_EXISTS,
			       "%.300s is a folder, and the tar has something else of "
			       "that name",
			       place_whole(&w->place));
	if (unlinkat(here, w->place.name, 0) < 0)
		return err_sys(e, "replace %.300s", place_whole(&w->place));
	return 0;
}

/* --- files ------------------------------------------------------------------- */

/* Before the first byte is written.  What extends headers counts, so that it is not
 * free. */
static int check_bytes(const struct work *w, struct err *e)
{
	uint64_t max = w->u->bytes_max, size = w->tar.now.size;

	if (max && (size > max || w->u->bytes + w->tar.extra_bytes > max - size))
		return err_set(e, ERR_LIMIT, "the tar has more than %llu bytes",
			       (unsigned long long)max);
	return 0;
}

/* Nobody may have it before its owner does. */
static int create(const struct work *w)
{
	const struct open_how how = {
		.flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		.mode = w->u->keeps_ids ? 0600 : w->tar.now.mode & 0777,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return sys_openat2(site_here(&w->site), w->place.name, &how);
}

/* Mostly there is nothing at its place. */
static int create_anew(struct work *w, struct err *e)
{
	int fd = create(w);

	if (fd < 0 && errno == EEXIST) {
		if (clear_place(w, e) < 0)
			return -1;
		fd = create(w);
	}
	return fd < 0 ? err_sys(e, "make %.300s", place_whole(&w->place)) : fd;
}

/* musl's memcmp(3) goes byte by byte. */
static bool is_zeros(const uint8_t *data, size_t len)
{
	uint64_t eight[8], any = 0;

	for (; len >= sizeof(eight); data += sizeof(eight), len -= sizeof(eight)) {
		memcpy(eight, data, sizeof(eight));
		for (size_t i = 0; i < ARRAY_LEN(eight); i++)
			any |= eight[i];
		if (any)
			return false;
	}
	while (len > 0)
		any |= data[--len];
	return !any;
}

/* A hole reads as zeros (lseek(2)). */
static int write_piece(int fd, const uint8_t *data, size_t len)
{
	if (len >= HOLE_MIN && is_zeros(data, len))
		return lseek(fd, (off_t)len, SEEK_CUR) < 0 ? -1 : 0;
	return io_write_all(fd, data, len);
}

static int write_content(struct work *w, int fd, struct err *e)
{
	const uint8_t *data;
	ssize_t got;

	while ((got = entries_read(&w->tar, &data, e)) > 0)
		for (size_t len = (size_t)got, step; len > 0; data += step, len -= step) {
			step = len < PIECE ? len : PIECE;
			if (write_piece(fd, data, step) < 0)
				return err_sys(e, "write %.300s", place_whole(&w->place));
		}
	if (got < 0)
		return -1;
	/* A hole at the end is not there before the file is so long. */
	if (w->tar.now.size >= HOLE_MIN && ftruncate(fd, (off_t)w->tar.now.size) < 0)
		return err_sys(e, "write %.300s", place_whole(&w->place));
	return 0;
}

static int finish_file(struct work *w, int fd, struct err *e)
{
	const struct looks looks = looks_of(w);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat %.300s", place_whole(&w->place));
	if (looks_give(&looks, fd, &st, place_whole(&w->place), e) < 0)
		return -1;
	inodes_add(&w->site.made, &st, NULL);
	w->u->entries++;
	w->u->bytes += w->tar.now.size;
	return 0;
}

static int make_file(struct work *w, struct err *e)
{
	if (check_bytes(w, e) < 0 || reach_place(w, e) < 0)
		return -1;
	AUTO_CLOSE int fd = create_anew(w, e);
	if (fd < 0)
		return -1;
	if (write_content(w, fd, e) == 0 && finish_file(w, fd, e) == 0)
		return 0;
	/* Nobody is to take the half for the whole. */
	(void)unlinkat(site_here(&w->site), w->place.name, 0);
	return -1;
}

/* --- links ------------------------------------------------------------------- */

static void tell_link(struct work *w)
{
	const char *to = w->tar.now.link;

	/* With another name for the first part, that part is what is unpacked. */
	if (!place_leads_out(&w->place, to, w->u->rename ? 1 : 0))
		return;
	w->u->links_out++;
	if (w->u->on_link_out)
		w->u->on_link_out(w->u->who, w->place.path, to);
}

static int finish_link(struct work *w, struct err *e)
{
	const struct looks l = looks_of(w);
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, l.mtime };
	const char *name = w->place.name, *path = place_whole(&w->place);
	int here = site_here(&w->site);
	struct stat st;

	if (l.has_ids && fchownat(here, name, l.uid, l.gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "give %.300s to %u:%u", path, l.uid, l.gid);
	/* Not every file system keeps it, and nobody misses it. */
	(void)utimensat(here, name, times, AT_SYMLINK_NOFOLLOW);
	if (fstatat(here, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		inodes_add(&w->site.made, &st, NULL);
	w->u->entries++;
	tell_link(w);
	return 0;
}

static int make_link(struct work *w, struct err *e)
{
	if (reach_place(w, e) < 0 || clear_place(w, e) < 0)
		return -1;
	if (symlinkat(w->tar.now.link, site_here(&w->site), w->place.name) < 0)
		return err_sys(e, "make the link %.300s", place_whole(&w->place));
	return finish_link(w, e);
}

/* --- hard links -------------------------------------------------------------- */

static int not_made(struct work *w, struct err *e)
{
	return err_set(e, ERR_PROTOCOL,
		       "%.200s is to be a hard link to %.200s, which this tar has not "
		       "made",
		       w->tar.now.path, w->tar.now.link);
}

/* Nothing is made on the way to a target. */
static int look_at(struct work *w, const char *folder)
{
	size_t common = trail_common(&w->look, folder);
	char name[NAME_MAX + 1];

	while (w->look.depth > common)
		if (trail_up(&w->look, NULL) < 0)
			return -1;
	folder = trail_rest(&w->look, folder);
	while (place_next(&folder, name))
		if (trail_down(&w->look, name, NULL) < 0)
			return -1;
	return 0;
}

static int find_target(struct work *w, struct stat *ret, struct err *e)
{
	struct place *target = &w->target;

	if (place_read(target, w->tar.now.link, w->u->rename, e) < 0)
		return -1;
	if (!*target->path || look_at(w, place_folder(target)) < 0 ||
	    fstatat(trail_here(&w->look), target->name, ret, AT_SYMLINK_NOFOLLOW) < 0 ||
	    S_ISDIR(ret->st_mode) || !inodes_has(&w->site.made, ret))
		return not_made(w, e);
	return 0;
}

/* Whether the place has this very file already. */
static bool has_file(const struct work *w, const struct stat *file)
{
	const char *name = w->place.name;
	struct stat st;

	return fstatat(site_here(&w->site), name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

/* The new name must be one of what was looked at. */
static int add_name(struct work *w, const struct stat *target, struct err *e)
{
	int here = site_here(&w->site);

	if (linkat(trail_here(&w->look), w->target.name, here, w->place.name, 0) < 0)
		return err_sys(e, "make the hard link %.300s", place_whole(&w->place));
	if (has_file(w, target))
		return 0;
	(void)unlinkat(here, w->place.name, 0);
	return not_made(w, e);
}

static int make_hard_link(struct work *w, struct err *e)
{
	struct stat target;

	if (find_target(w, &target, e) < 0 || reach_place(w, e) < 0)
		return -1;
	/* A link of a file to itself would remove it first. */
	if (!has_file(w, &target) &&
	    (clear_place(w, e) < 0 || add_name(w, &target, e) < 0))
		return -1;
	w->u->entries++;
	return 0;
}

/* --- entries ----------------------------------------------------------------- */

static const char *why_not(char flag)
{
	switch (flag) {
	case '3':
	case '4':
		return "a device, which is not made";
	case '6':
		return "a FIFO, which is not made";
	default:
		return "something of an unknown kind";
	}
}

static int leave_out(struct work *w, struct err *e)
{
	if (site_check_count(&w->site, e) < 0)
		return -1;
	w->u->left_out++;
	if (w->u->on_left_out)
		w->u->on_left_out(w->u->who, w->tar.now.path, why_not(w->tar.now.flag));
	return 0;
}

static int check_ids(const struct work *w, struct err *e)
{
	const struct tar_entry *entry = &w->tar.now;

	/* The last one stands for "no change" (chown(2)). */
	if (w->u->keeps_ids && (entry->uid >= UINT32_MAX || entry->gid >= UINT32_MAX))
		return err_set(e, ERR_PROTOCOL, "%.300s: its owner is no user",
			       entry->path);
	return 0;
}

static int make_entry(struct work *w, struct err *e)
{
	static int (*const make[])(struct work *, struct err *) = {
		[TAR_FILE] = make_file,	    [TAR_HARD_LINK] = make_hard_link,
		[TAR_LINK] = make_link,	    [TAR_FOLDER] = make_folder,
		[TAR_OTHER] = leave_out,
	};

	if (check_ids(w, e) < 0 ||
	    place_read(&w->place, w->tar.now.path, w->u->rename, e) < 0)
		return -1;
	return make[w->tar.now.type](w, e);
}

static int make_all(struct work *w, struct err *e)
{
	int more;

	while ((more = entries_next(&w->tar, e)) > 0)
		if (make_entry(w, e) < 0)
			break;
	if (more != 0) {
		(void)site_leave_all(&w->site, NULL); /* what can be finished is */
		return -1;
	}
	if (site_leave_all(&w->site, e) < 0)
		return -1;
	entries_drain(&w->tar);
	return 0;
}

static int start(struct work *w, struct err *e)
{
	int root = fcntl(w->u->root, F_DUPFD_CLOEXEC, 0);

	if (root < 0)
		return err_sys(e, "open the folder");
	if (trail_start(&w->look, root, "", e) < 0)
		return -1;
	return site_start(&w->site, w->u, w->u->root, e);
}

int unpack_all(struct unpack *u, struct err *e)
{
	struct work w = { .u = u };

	if (u->rename && !place_is_name(u->rename))
		return err_set(e, ERR_USAGE, "'%.300s' is no name for a file", u->rename);
	entries_init(&w.tar, u->in);
	place_init(&w.place);
	place_init(&w.target);
	int result = start(&w, e) < 0 ? -1 : make_all(&w, e);
	entries_done(&w.tar);
	site_done(&w.site);
	trail_done(&w.look);
	place_done(&w.place);
	place_done(&w.target);
	return result;
}

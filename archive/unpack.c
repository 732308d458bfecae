#include "archive/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/entries.h"
#include "archive/inodes.h"
#include "archive/trail.h"
#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "base/own.h"

/* The longest run of zeros that is written, and the piece in which they are looked
 * for. */
#define HOLE_MIN   4096
#define PIECE	   (64u << 10)

/* What a file or folder is to get when it is finished. */
struct looks {
	mode_t mode;
	bool has_ids, has_time;
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
};

/* A folder on the trail.  What was there before is left as it is. */
struct level {
	bool is_ours;
	struct looks looks;
};

/* A name as it is to be made: parts with slashes between. */
struct place {
	char *path;    /* owned */
	size_t room;
	char *name;    /* its last part; borrowed from it */
};

struct work {
	struct unpack *u;
	struct entries tar;
	struct trail at;      /* where things are made */
	struct level *levels; /* owned; one for each step of it */
	size_t room;
	struct trail look;    /* where hard links point to */
	struct inodes made;
	struct place place, target;
};

/* --- names ------------------------------------------------------------------- */

static void add_part(struct place *to, size_t *len, const char *part, size_t part_len)
{
	size_t slash = *len > 0;

	if (*len + slash + part_len + 1 > to->room) {
		to->room = 2 * (*len + slash + part_len + 1);
		to->path = mem_resize(to->path, to->room, 1);
	}
	if (slash)
		to->path[*len] = '/';
	to->name = to->path + *len + slash;
	memcpy(to->name, part, part_len);
	*len += slash + part_len;
	to->path[*len] = '\0';
}

/* A foreign part of a name.  ".." is the only one that the kernel would take another
 * way than down. */
static int check_part(const char *part, size_t len, const char *path, struct err *e)
{
	if (len == 2 && !memcmp(part, "..", 2))
		return err_set(e, ERR_PROTOCOL,
			       "%.300s: a name with \"..\" in it leads out of the folder",
			       path);
	if (len > NAME_MAX)
		return err_set(e, ERR_PROTOCOL, "%.300s...: a part of the name is too long",
			       path);
	return 0;
}

/* `path` as it is to be made; "" for the root. */
static int read_place(const struct unpack *u, const char *path, struct place *ret,
		      struct err *e)
{
	const char *rename = u->rename;
	size_t used = 0;

	ret->path[0] = '\0';
	ret->name = ret->path;
	for (const char *part = path; *part;) {
		size_t len = strcspn(part, "/");
		bool is_nothing = len == 0 || (len == 1 && *part == '.');
		if (check_part(part, len, path, e) < 0)
			return -1;
		if (!is_nothing && rename)
			add_part(ret, &used, rename, strlen(rename));
		else if (!is_nothing)
			add_part(ret, &used, part, len);
		if (!is_nothing)
			rename = NULL;
		part += len + (part[len] == '/');
	}
	return 0;
}

/* Cuts the last part off the rest, or puts it back. */
static const char *folder_of(struct place *p)
{
	if (p->name == p->path)
		return "";
	p->name[-1] = '\0';
	return p->path;
}

static const char *whole(struct place *p)
{
	if (p->name > p->path)
		p->name[-1] = '/';
	return p->path;
}

/* --- what is finished -------------------------------------------------------- */

static struct looks looks_of(const struct work *w, const struct tar_entry *entry)
{
	return (struct looks){
		.mode = entry->mode & (w->u->keeps_setid ? 07777 : 0777),
		.has_ids = w->u->keeps_ids,
		.uid = (uid_t)entry->uid,
		.gid = (gid_t)entry->gid,
		.has_time = true,
		.mtime = { .tv_sec = entry->mtime, .tv_nsec = entry->mtime_ns },
	};
}

static int give_looks(int fd, const struct looks *l, const char *path, struct err *e)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, l->mtime };

	/* The owner first: fchown(2) takes setuid bits away. */
	if (l->has_ids && fchown(fd, l->uid, l->gid) < 0)
		return err_sys(e, "give %.300s to %u:%u", path, l->uid, l->gid);
	if (fchmod(fd, l->mode) < 0)
		return err_sys(e, "set the mode of %.300s", path);
	if (l->has_time && futimens(fd, times) < 0)
		return err_sys(e, "set the time of %.300s", path);
	return 0;
}

static int check_ids(const struct work *w, const struct tar_entry *entry, struct err *e)
{
	/* The last one stands for "no change". */
	if (w->u->keeps_ids && (entry->uid >= UINT32_MAX || entry->gid >= UINT32_MAX))
		return err_set(e, ERR_PROTOCOL, "%.300s: its owner is no user",
			       entry->path);
	return 0;
}

/* --- what is counted --------------------------------------------------------- */

static int check_entries(const struct unpack *u, struct err *e)
{
	if (u->entries_max && u->entries + u->left_out >= u->entries_max)
		return err_set(e, ERR_LIMIT, "the tar has more than %llu entries",
			       (unsigned long long)u->entries_max);
	return 0;
}

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

static void leave_out(struct work *w, const char *why)
{
	w->u->left_out++;
	if (w->u->on_left_out)
		w->u->on_left_out(w->u->who, w->tar.now.path, why);
}

/* --- folders ----------------------------------------------------------------- */

static struct level *level(struct work *w)
{
	if (w->at.depth >= w->room) {
		w->room = 2 * (w->at.depth + 8);
		w->levels = mem_resize(w->levels, w->room, sizeof(*w->levels));
	}
	return &w->levels[w->at.depth];
}

static int leave(struct work *w, struct err *e)
{
	const struct level *l = level(w);

	if (l->is_ours &&
	    give_looks(trail_here(&w->at), &l->looks, trail_path(&w->at), e) < 0)
		return -1;
	return w->at.depth > 0 ? trail_up(&w->at, e) : 0;
}

/* The folder that the trail has come to.  One that this tar made before is finished
 * already; it is opened up again and will be put back. */
static void note_level(struct work *w, bool is_new)
{
	const struct stat *st = &w->at.steps[w->at.depth].st;
	struct level *l = level(w);

	*l = (struct level){ .is_ours = is_new || inodes_has(&w->made, st) };
	if (is_new) {
		inodes_add(&w->made, st, NULL);
		/* A folder in a setgid one is born one (inode(7)). */
		l->looks.mode = 0755 | (st->st_mode & S_ISGID);
	} else if (l->is_ours) {
		l->looks = (struct looks){ .mode = st->st_mode & 07777,
					   .has_time = true,
					   .mtime = st->st_mtim };
		if ((st->st_mode & 0700) != 0700) /* else what follows fails */
			(void)fchmod(trail_here(&w->at), l->looks.mode | 0700);
	}
}

static int is_no_folder(struct err *e, const char *path)
{
	return err_set(e, ERR_EXISTS,
		       "%.300s: a folder is to be there, and something else is (a link is "
		       "not followed)",
		       path);
}

static int enter(struct work *w, const char *name, struct err *e)
{
	struct err mine;
	bool is_new;

	if (check_entries(w->u, e) < 0)
		return -1;
	is_new = mkdirat(trail_here(&w->at), name, 0700) == 0;
	if (!is_new && errno != EEXIST)
		return err_sys(e, "make the folder %.300s", trail_name(&w->at, name));
	w->u->entries += is_new;
	if (trail_down(&w->at, name, &mine) < 0) {
		if (mine.sys == ENOTDIR || mine.sys == ELOOP)
			return is_no_folder(e, trail_name(&w->at, name));
		if (e)
			*e = mine;
		return -1;
	}
	note_level(w, is_new);
	return 0;
}

/* Calls `step` for each part of `path` behind the folder where we are. */
static int each_part(struct work *w, const char *path,
		     int (*step)(struct work *, const char *, struct err *),
		     struct err *e)
{
	char name[NAME_MAX + 1];

	while (*path) {
		size_t len = strcspn(path, "/");
		memcpy(name, path, len); /* bounded: see check_part() */
		name[len] = '\0';
		if (step(w, name, e) < 0)
			return -1;
		path += len + (path[len] == '/');
	}
	return 0;
}

/* To the folder `path`, making what is missing of it. */
static int go_to(struct work *w, const char *path, struct err *e)
{
	size_t common = trail_common(&w->at, path);

	while (w->at.depth > common)
		if (leave(w, e) < 0)
			return -1;
	return each_part(w, trail_rest(&w->at, path), enter, e);
}

static int make_folder(struct work *w, struct err *e)
{
	uint64_t before = w->u->entries;

	if (!*w->place.path) /* the root is not ours */
		return 0;
	if (go_to(w, w->place.path, e) < 0)
		return -1;
	struct level *l = level(w);
	mode_t born = l->looks.mode & S_ISGID;
	if (l->is_ours) {
		l->looks = looks_of(w, &w->tar.now);
		l->looks.mode |= born;
	}
	if (w->u->entries == before)
		w->u->entries++; /* it was there */
	return 0;
}

/* --- files ------------------------------------------------------------------- */

/* To the folder that the entry is to be in; nothing is at its place then. */
static int clear_place(struct work *w, struct err *e)
{
	struct stat st;

	if (fstatat(trail_here(&w->at), w->place.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "%.300s", whole(&w->place));
	if (S_ISDIR(st.st_mode))
		return err_set(e, ERR_EXISTS,
			       "%.300s is a folder, and the tar has something else of that "
			       "name",
			       whole(&w->place));
	if (unlinkat(trail_here(&w->at), w->place.name, 0) < 0)
		return err_sys(e, "replace %.300s", whole(&w->place));
	return 0;
}

static int reach_place(struct work *w, struct err *e)
{
	if (!*w->place.path)
		return err_set(e, ERR_PROTOCOL, "the tar has something without a name");
	if (check_entries(w->u, e) < 0)
		return -1;
	return go_to(w, folder_of(&w->place), e);
}

static int create(const struct work *w)
{
	const struct open_how how = {
		.flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		.mode = 0600,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return sys_openat2(trail_here(&w->at), w->place.name, &how);
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
	return fd < 0 ? err_sys(e, "make %.300s", whole(&w->place)) : fd;
}

static bool is_zeros(const uint8_t *data, size_t len)
{
	uint64_t eight[8], any = 0;

	for (; len >= sizeof(eight); data += sizeof(eight), len -= sizeof(eight)) {
		memcpy(eight, data, sizeof(eight));
		for (size_t i = 0; i < 8; i++)
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
				return err_sys(e, "write %.300s", whole(&w->place));
		}
	if (got < 0)
		return -1;
	/* A hole at the end is not there before the file is so long. */
	if (w->tar.now.size >= HOLE_MIN && ftruncate(fd, (off_t)w->tar.now.size) < 0)
		return err_sys(e, "write %.300s", whole(&w->place));
	return 0;
}

static int finish_file(struct work *w, int fd, struct err *e)
{
	const struct looks looks = looks_of(w, &w->tar.now);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat %.300s", whole(&w->place));
	if (give_looks(fd, &looks, whole(&w->place), e) < 0)
		return -1;
	inodes_add(&w->made, &st, NULL);
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
	(void)unlinkat(trail_here(&w->at), w->place.name, 0);
	return -1;
}

/* --- links ------------------------------------------------------------------- */

/* How deep the folder of the link is, below what is unpacked. */
static int depth_of(const struct work *w)
{
	int depth = 0;

	for (const char *c = w->place.path; *c; c++)
		depth += *c == '/';
	return depth;
}

static bool leads_out(const struct work *w, const char *to)
{
	/* With another name for the first part, that part is what is unpacked. */
	int depth = depth_of(w), least = w->u->rename ? 1 : 0;
	bool is_out = *to == '/' || depth < least;

	while (!is_out && *to) {
		size_t len = strcspn(to, "/");
		if (len == 2 && !memcmp(to, "..", 2))
			is_out = --depth < least;
		else if (len > 0 && !(len == 1 && *to == '.'))
			depth++;
		to += len + (to[len] == '/');
	}
	return is_out;
}

static void tell_link(struct work *w, const char *to)
{
	if (!leads_out(w, to))
		return;
	w->u->links_out++;
	if (w->u->on_link_out)
		w->u->on_link_out(w->u->who, w->place.path, to);
}

static int finish_link(struct work *w, struct err *e)
{
	const struct looks l = looks_of(w, &w->tar.now);
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, l.mtime };
	int here = trail_here(&w->at);
	const char *name = w->place.name;
	struct stat st;

	if (l.has_ids && fchownat(here, name, l.uid, l.gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "give %.300s to %u:%u", whole(&w->place), l.uid, l.gid);
	/* Not every file system keeps it, and nobody misses it. */
	(void)utimensat(here, name, times, AT_SYMLINK_NOFOLLOW);
	if (fstatat(here, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		inodes_add(&w->made, &st, NULL);
	w->u->entries++;
	(void)whole(&w->place);
	tell_link(w, w->tar.now.link);
	return 0;
}

static int make_link(struct work *w, struct err *e)
{
	if (reach_place(w, e) < 0 || clear_place(w, e) < 0)
		return -1;
	if (symlinkat(w->tar.now.link, trail_here(&w->at), w->place.name) < 0)
		return err_sys(e, "make the link %.300s", whole(&w->place));
	return finish_link(w, e);
}

static int not_made(struct work *w, struct err *e)
{
	return err_set(e, ERR_PROTOCOL,
		       "%.200s is to be a hard link to %.200s, which this tar has not made",
		       w->tar.now.path, w->tar.now.link);
}

static int look_down(struct work *w, const char *name, struct err *e)
{
	return trail_down(&w->look, name, e);
}

/* Nothing is made on the way to a target. */
static int look_at(struct work *w, const char *folder, struct err *e)
{
	size_t common = trail_common(&w->look, folder);

	while (w->look.depth > common)
		if (trail_up(&w->look, e) < 0)
			return -1;
	return each_part(w, trail_rest(&w->look, folder), look_down, e);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int find_target(struct work *w, struct stat *ret, struct err *e)
{
	if (read_place(w->u, w->tar.now.link, &w->target, e) < 0)
		return -1;
	if (!*w->target.path || look_at(w, folder_of(&w->target), NULL) < 0 ||
	    fstatat(trail_here(&w->look), w->target.name, ret, AT_SYMLINK_NOFOLLOW) < 0 ||
	    S_ISDIR(ret->st_mode) || !inodes_has(&w->made, ret))
		return not_made(w, e);
	return 0;
}

/* The new name must be one of what was looked at. */
static int add_name(struct work *w, const struct stat *target, struct err *e)
{
	int here = trail_here(&w->at);
	struct stat st;

	if (linkat(trail_here(&w->look), w->target.name, here, w->place.name, 0) < 0)
		return err_sys(e, "make the hard link %.300s", whole(&w->place));
	if (fstatat(here, w->place.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    is_same(&st, target))
		return 0;
	(void)unlinkat(here, w->place.name, 0);
	return not_made(w, e);
}

static int make_hard_link(struct work *w, struct err *e)
{
	struct stat target, st;

	if (find_target(w, &target, e) < 0 || reach_place(w, e) < 0)
		return -1;
	bool is_done = fstatat(trail_here(&w->at), w->place.name, &st,
			       AT_SYMLINK_NOFOLLOW) == 0 &&
		       is_same(&st, &target);
	if (!is_done && (clear_place(w, e) < 0 || add_name(w, &target, e) < 0))
		return -1;
	w->u->entries++;
	return 0;
}

/* --- entries ----------------------------------------------------------------- */

static int leave_out_other(struct work *w, struct err *e)
{
	char flag = w->tar.now.flag;

	if (check_entries(w->u, e) < 0)
		return -1;
	leave_out(w, flag == '3' || flag == '4' ? "a device, which is not made"
		     : flag == '6'		? "a FIFO, which is not made"
						: "something of an unknown kind");
	return 0;
}

static int make_entry(struct work *w, struct err *e)
{
	static int (*const make[])(struct work *, struct err *) = {
		[TAR_FILE] = make_file,	    [TAR_HARD_LINK] = make_hard_link,
		[TAR_LINK] = make_link,	    [TAR_FOLDER] = make_folder,
		[TAR_OTHER] = leave_out_other,
	};

	if (check_ids(w, &w->tar.now, e) < 0 ||
	    read_place(w->u, w->tar.now.path, &w->place, e) < 0)
		return -1;
	return make[w->tar.now.type](w, e);
}

/* What is on the trail gets its looks, also after a failure. */
static int leave_all(struct work *w, struct err *e)
{
	while (w->at.depth > 0)
		if (leave(w, e) < 0)
			return -1;
	return 0;
}

static int make_all(struct work *w, struct err *e)
{
	int more;

	while ((more = entries_next(&w->tar, e)) > 0)
		if (make_entry(w, e) < 0)
			break;
	if (more != 0) {
		(void)leave_all(w, NULL);
		return -1;
	}
	if (leave_all(w, e) < 0)
		return -1;
	entries_drain(&w->tar);
	return 0;
}

/* Both trails start there. */
static int start(struct work *w, struct err *e)
{
	int root = fcntl(w->u->root, F_DUPFD_CLOEXEC, 0);
	int again = root < 0 ? -1 : fcntl(root, F_DUPFD_CLOEXEC, 0);

	if (again < 0) {
		own_close(&root);
		return err_sys(e, "open the folder");
	}
	if (trail_start(&w->look, again, "", e) < 0) {
		own_close(&root);
		return -1;
	}
	if (trail_start(&w->at, root, "", e) < 0)
		return -1;
	*level(w) = (struct level){ .is_ours = false };
	return 0;
}

static void work_done(struct work *w)
{
	entries_done(&w->tar);
	trail_done(&w->at);
	trail_done(&w->look);
	inodes_done(&w->made);
	free(w->levels);
	free(w->place.path);
	free(w->target.path);
}

/* It is the caller's, and one part. */
static bool is_name(const char *name)
{
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       strlen(name) <= NAME_MAX && !strchr(name, '/');
}

int unpack_all(struct unpack *u, struct err *e)
{
	struct work w = {
		.u = u,
		.place = { .path = mem_new(1), .room = 1 },
		.target = { .path = mem_new(1), .room = 1 },
	};

	if (u->rename && !is_name(u->rename)) {
		work_done(&w);
		return err_set(e, ERR_USAGE, "'%.300s' is no name for a file", u->rename);
	}
	entries_init(&w.tar, u->in);
	int result = start(&w, e) < 0 ? -1 : make_all(&w, e);
	work_done(&w);
	return result;
}

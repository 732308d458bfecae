#include "archive/pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "archive/tar.h"
#include "archive/trail.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"

/* What is pending is written when it is this much. */
#define PENDING (256u << 10)

/* A file up to this goes through `pending`, together with others; a larger one past
 * it. */
#define SMALL (64u << 10)

/* Of a file that does not say how large it is. */
#define UNTOLD_MAX (1u << 20)

/* One thing to be added.  What was given by the caller must be had; what was found
 * below it may have changed, or be closed to us. */
struct item {
	int at;
	const char *name; /* in `at` */
	const char *as;
	bool is_given;
};

/* --- what is written --------------------------------------------------------- */

static int flush(struct pack *p, struct err *e)
{
	size_t len = buffer_len(&p->pending);

	if (len > 0 && io_write_all(p->out, buffer_data(&p->pending), len) < 0)
		return err_sys(e, "write the tar");
	buffer_consume(&p->pending, len);
	return 0;
}

static int flush_much(struct pack *p, struct err *e)
{
	return buffer_len(&p->pending) >= PENDING ? flush(p, e) : 0;
}

static void tell(struct pack *p, const char *path, const char *why)
{
	p->left_out++;
	if (p->on_left_out)
		p->on_left_out(p->who, path, why);
}

/* errno says why it cannot be had. */
static int leave_out(struct pack *p, const struct item *i, struct err *e)
{
	if (i->is_given)
		return err_sys(e, "%.300s", i->name);
	tell(p, i->as, strerror(errno));
	return 0;
}

static int leave_out_kind(struct pack *p, const struct item *i, const char *why,
			  struct err *e)
{
	if (i->is_given)
		return err_set(e, ERR_UNSUPPORTED, "%.300s is %s", i->name, why);
	tell(p, i->as, why);
	return 0;
}

static void put_header(struct pack *p, enum tar_type type, const struct item *i,
		       const struct stat *st, const char *link)
{
	const struct tar_entry entry = {
		.type = type,
		.path = i->as,
		.link = link,
		.mode = st->st_mode & 07777,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = type == TAR_FILE ? (uint64_t)st->st_size : 0,
		.mtime = st->st_mtim.tv_sec,
		.mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
	};

	if (!p->pending.max)
		buffer_init(&p->pending, 2 * TAR_HEADER_MAX + PENDING + UNTOLD_MAX);
	tar_encode(&p->pending, &entry);
	p->entries++;
	p->bytes += entry.size;
}

/* `len` bytes of room behind what is pending. */
static uint8_t *room_for(struct pack *p, size_t len)
{
	return mem_or_abort(buffer_reserve(&p->pending, len));
}

/* --- the content of files ---------------------------------------------------- */

static const char IS_SHORTER[] = "became shorter while it was read; what is missing is "
				 "zeros",
		  IS_LONGER[] = "became longer while it was read, and was cut";

/* The rest of the last block, and what a file no longer has: nothing before
 * `from`. */
static int put_zeros(struct pack *p, uint64_t from, uint64_t to, struct err *e)
{
	while (from < to) {
		size_t len = to - from < SMALL ? (size_t)(to - from) : SMALL;
		memset(room_for(p, len), 0, len);
		buffer_added(&p->pending, len);
		from += len;
		if (flush_much(p, e) < 0)
			return -1;
	}
	return 0;
}

/* One byte more than it should have is asked for, to know. */
static int put_small(struct pack *p, int fd, const struct item *i, uint64_t size,
		     struct err *e)
{
	uint8_t *to = room_for(p, (size_t)size + 1);
	ssize_t got = io_read_full(fd, to, (size_t)size + 1);

	if (got < 0)
		tell(p, i->as, strerror(errno));
	else if ((uint64_t)got < size)
		tell(p, i->as, IS_SHORTER);
	else if ((uint64_t)got > size)
		tell(p, i->as, IS_LONGER);
	uint64_t used = got < 0 ? 0 : (uint64_t)got > size ? size : (uint64_t)got;
	buffer_added(&p->pending, (size_t)used);
	return put_zeros(p, used, tar_padded(size), e);
}

/* Within the kernel as far as that goes; how much went. */
static uint64_t send_file(int out, int fd, uint64_t size)
{
	uint64_t sent = 0;

	while (sent < size) {
		size_t step = size - sent < 1u << 30 ? (size_t)(size - sent) : 1u << 30;
		ssize_t n = sendfile(out, fd, NULL, step);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		sent += (uint64_t)n;
	}
	return sent;
}

/* sendfile(2) does not say which side it failed at, and not every file and every
 * `out` can be had with it. *ret_sent goes on from where it is. */
static int copy_rest(struct pack *p, int fd, uint64_t size, uint64_t *ret_sent,
		     struct err *e)
{
	while (*ret_sent < size) {
		uint64_t left = size - *ret_sent;
		size_t step = left < PENDING ? (size_t)left : PENDING;
		ssize_t n = read(fd, room_for(p, step), step);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? 1 : 0;
		buffer_added(&p->pending, (size_t)n);
		*ret_sent += (uint64_t)n;
		if (flush(p, e) < 0)
			return -1;
	}
	return 0;
}

static int put_large(struct pack *p, int fd, const struct item *i, uint64_t size,
		     struct err *e)
{
	struct stat now;

	if (flush(p, e) < 0)
		return -1;
	uint64_t sent = send_file(p->out, fd, size);
	int result = copy_rest(p, fd, size, &sent, e);
	if (result < 0)
		return -1;
	if (result > 0)
		tell(p, i->as, strerror(errno));
	else if (sent < size)
		tell(p, i->as, IS_SHORTER);
	else if (fstat(fd, &now) == 0 && (uint64_t)now.st_size > size)
		tell(p, i->as, IS_LONGER);
	return put_zeros(p, sent, tar_padded(size), e);
}

/* Most files that say 0 have nothing.  The others are those of procfs. */
static int put_untold(struct pack *p, int fd, const struct item *i, struct stat *st,
		      struct err *e)
{
	AUTO_FREE uint8_t *data = NULL;
	uint8_t first;
	ssize_t len = read(fd, &first, 1);

	if (len > 0) {
		data = mem_new(UNTOLD_MAX + 1);
		data[0] = first;
		len = io_read_full(fd, data + 1, UNTOLD_MAX);
	}
	if (len < 0)
		return leave_out(p, i, e);
	st->st_size = data ? len + 1 : 0;
	if (st->st_size > UNTOLD_MAX) {
		tell(p, i->as, "has more than 1 MiB and did not say so; it was cut");
		st->st_size = UNTOLD_MAX;
	}
	size_t size = (size_t)st->st_size;
	put_header(p, TAR_FILE, i, st, NULL);
	if (data)
		memcpy(room_for(p, size), data, size);
	buffer_added(&p->pending, size);
	return put_zeros(p, size, tar_padded(size), e);
}

static int put_content(struct pack *p, int fd, const struct item *i, struct stat *st,
		       struct err *e)
{
	uint64_t size = (uint64_t)st->st_size;

	if (size == 0)
		return put_untold(p, fd, i, st, e);
	put_header(p, TAR_FILE, i, st, NULL);
	return size <= SMALL ? put_small(p, fd, i, size, e) : put_large(p, fd, i, size, e);
}

/* --- one thing --------------------------------------------------------------- */

/* What is opened was a regular file a moment ago.  If it no longer is, the open does
 * not wait, and no terminal becomes ours. */
static int add_file(struct pack *p, const struct item *i, int nofollow, struct err *e)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat st;
	const char *first;

	AUTO_CLOSE int fd = openat(i->at, i->name, flags | nofollow);
	if (fd < 0 || fstat(fd, &st) < 0)
		return leave_out(p, i, e);
	if (!S_ISREG(st.st_mode))
		return leave_out_kind(p, i, "no longer a file", e);
	first = st.st_nlink > 1 ? inodes_get(&p->linked, &st) : NULL;
	if (first) {
		put_header(p, TAR_HARD_LINK, i, &st, first);
		return 0;
	}
	if (put_content(p, fd, i, &st, e) < 0)
		return -1;
	if (st.st_nlink > 1)
		inodes_add(&p->linked, &st, i->as);
	return 0;
}

static int add_link(struct pack *p, const struct item *i, const struct stat *st,
		    struct err *e)
{
	char to[PATH_MAX];
	ssize_t len = readlinkat(i->at, i->name, to, sizeof(to) - 1);

	if (len < 0)
		return leave_out(p, i, e);
	to[len] = '\0';
	put_header(p, TAR_LINK, i, st, to);
	return 0;
}

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFCHR:
	case S_IFBLK:
		return "a device, which is not copied";
	case S_IFIFO:
		return "a FIFO, which is not copied";
	case S_IFSOCK:
		return "a socket, which is not copied";
	default:
		return "nothing that can be copied";
	}
}

/* Anything but a folder. */
static int add_one(struct pack *p, const struct item *i, const struct stat *st,
		   int nofollow, struct err *e)
{
	int result = S_ISREG(st->st_mode)   ? add_file(p, i, nofollow, e)
		     : S_ISLNK(st->st_mode) ? add_link(p, i, st, e)
					    : leave_out_kind(p, i, kind_of(st->st_mode), e);

	return result < 0 ? -1 : flush_much(p, e);
}

/* --- folders ----------------------------------------------------------------- */

/* The names in a folder, each with its 0; read at once, so that no position in a
 * folder that changes has to be kept. */
struct names {
	char *text; /* owned */
	size_t len, room, next;
};

struct kernel_dirent {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

static void add_name(struct names *n, const char *name)
{
	size_t len = strlen(name) + 1;

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return;
	if (n->len + len > n->room) {
		n->room = 2 * (n->len + len);
		n->text = mem_resize(n->text, n->room, 1);
	}
	memcpy(n->text + n->len, name, len);
	n->len += len;
}

/* By the system call, since opendir(3) would open the folder once more. -1 with
 * errno set; what was read by then is there. */
static int read_names(int folder, struct names *ret)
{
	_Alignas(struct kernel_dirent) char chunk[32 << 10];
	long got;

	*ret = (struct names){ 0 };
	while ((got = syscall(SYS_getdents64, folder, chunk, sizeof(chunk))) > 0)
		for (long at = 0; at < got;) {
			const struct kernel_dirent *d = (void *)(chunk + at);
			add_name(ret, d->name);
			at += d->reclen;
		}
	if (got < 0 && errno == EBADF)
		errno = EACCES; /* it could only be opened O_PATH */
	return got < 0 ? -1 : 0;
}

static const char *next_name(struct names *n)
{
	const char *name = n->text + n->next;

	if (n->next == n->len)
		return NULL;
	n->next += strlen(name) + 1;
	return name;
}

/* A folder with all that is below it.  Without recursion: it may be deep. */
struct walk {
	struct pack *pack;
	struct trail trail;
	struct names *names; /* owned; one for each step of the trail */
	size_t room;
};

static void walk_done(struct walk *w)
{
	for (size_t i = 0; w->trail.steps && w->names && i <= w->trail.depth; i++)
		free(w->names[i].text);
	free(w->names);
	trail_done(&w->trail);
}

/* The folder where the trail is now. */
static void begin_folder(struct walk *w)
{
	size_t depth = w->trail.depth;

	if (depth >= w->room) {
		w->room = 2 * (depth + 8);
		w->names = mem_resize(w->names, w->room, sizeof(*w->names));
	}
	if (read_names(trail_here(&w->trail), &w->names[depth]) < 0)
		tell(w->pack, trail_path(&w->trail), strerror(errno));
}

static int put_folder(struct walk *w, struct err *e)
{
	const struct item i = { .as = trail_path(&w->trail) };

	put_header(w->pack, TAR_FOLDER, &i, &w->trail.steps[w->trail.depth].st, NULL);
	return flush_much(w->pack, e);
}

static int end_folder(struct walk *w, struct err *e)
{
	own_free(&w->names[w->trail.depth].text);
	return w->trail.depth > 0 ? trail_up(&w->trail, e) : 0;
}

/* Too deep is an error, since nothing that is deeper would be there. */
static int add_folder(struct walk *w, const struct item *i, struct err *e)
{
	if (trail_down(&w->trail, i->name, e) < 0)
		return e->kind == ERR_LIMIT && !e->sys ? -1 : leave_out(w->pack, i, e);
	if (put_folder(w, e) < 0)
		return -1;
	begin_folder(w);
	return 0;
}

static int add_named(struct walk *w, const char *name, struct err *e)
{
	struct stat st;
	const struct item i = {
		.at = trail_here(&w->trail),
		.name = name,
		.as = trail_name(&w->trail, name),
	};

	if (fstatat(i.at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return leave_out(w->pack, &i, e);
	return S_ISDIR(st.st_mode) ? add_folder(w, &i, e)
				   : add_one(w->pack, &i, &st, O_NOFOLLOW, e);
}

static int walk_on(struct walk *w, struct err *e)
{
	begin_folder(w);
	for (;;) {
		const char *name = next_name(&w->names[w->trail.depth]);
		bool is_last = !name && w->trail.depth == 0;
		int result = name ? add_named(w, name, e) : end_folder(w, e);
		if (result < 0 || is_last)
			return result;
	}
}

static int walk(struct pack *p, int folder, const char *as, struct err *e)
{
	struct walk w = { .pack = p };
	bool is_content = !strcmp(as, ".");

	int result = trail_start(&w.trail, folder, is_content ? "" : as, e);
	if (result == 0 && !is_content)
		result = put_folder(&w, e);
	if (result == 0)
		result = walk_on(&w, e);
	walk_done(&w);
	return result;
}

/* ----------------------------------------------------------------------------- */

int pack_add(struct pack *p, int at, const char *name, const char *as, struct err *e)
{
	const struct item i = { .at = at, .name = name, .as = as, .is_given = true };
	int nofollow = p->follows ? 0 : O_NOFOLLOW;
	struct err mine;
	struct stat st;

	e = e ? e : &mine;
	if (fstatat(at, name, &st, p->follows ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "%.300s", name);
	if (!S_ISDIR(st.st_mode) && !strcmp(as, "."))
		return err_set(e, ERR_USAGE, "%.300s is no folder", name);
	if (!S_ISDIR(st.st_mode))
		return add_one(p, &i, &st, nofollow, e);
	AUTO_CLOSE int folder = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | nofollow);
	if (folder < 0)
		return err_sys(e, "open the folder %.300s", name);
	return walk(p, fd_take(&folder), as, e);
}

int pack_end(struct pack *p, struct err *e)
{
	if (!p->pending.max)
		buffer_init(&p->pending, 2 * TAR_BLOCK);
	return put_zeros(p, 0, (uint64_t)2 * TAR_BLOCK, e) < 0 ? -1 : flush(p, e);
}

void pack_done(struct pack *p)
{
	buffer_done(&p->pending);
	inodes_done(&p->linked);
}

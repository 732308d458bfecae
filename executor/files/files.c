#include "executor/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/resolve.h"
#include "base/utf8.h"
#include "executor/files/encoding.h"
#include "executor/files/files_parts.h"
#include "executor/process/user.h"
#include "executor/wire/send_queue.h"
#include "protocol/action.h"
#include "protocol/message.h"

/* How many bytes at a file's beginning decide whether the file is text. */
#define SAMPLE 1024

#define NEW_FILE_MODE	0664
#define NEW_FOLDER_MODE 0755

static struct result done(void)
{
	return (struct result){ OUTCOME_DONE, 0 };
}

static struct result refused(enum outcome outcome)
{
	return (struct result){ outcome, 0 };
}

static struct result failed(int sys)
{
	if (sys == ENOENT || sys == ENOTDIR)
		return (struct result){ OUTCOME_NOT_FOUND, sys };
	if (sys == EISDIR)
		return refused(OUTCOME_IS_FOLDER);
	if (sys == ENXIO) /* open(2) of a socket, or of a pipe without a reader, gives
			   * ENXIO */
		return refused(OUTCOME_NOT_REGULAR);
	return (struct result){ OUTCOME_ERROR, sys };
}

bool files_make_absolute(char to[PATH_MAX], const char *cwd, const char *path)
{
	const char *slash = *cwd && cwd[strlen(cwd) - 1] == '/' ? "" : "/";
	int len = *path == '/' ? snprintf(to, PATH_MAX, "%s", path)
			       : snprintf(to, PATH_MAX, "%s%s%s", cwd, slash, path);

	return len < PATH_MAX;
}

/* --- kinds of files ---------------------------------------------------------- */

/* Puts the path of an open file, the target of its link in /proc/self/fd, into `to`. */
static bool find_path(int fd, char to[PATH_MAX])
{
	char link[32];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, to, PATH_MAX - 1);
	to[len > 0 ? len : 0] = '\0';
	return len > 0;
}

/* Returns whether the file belongs to a process in /proc. Files such as /proc/cpuinfo
 * may be read; /proc/PID and everything below it may not. */
bool files_is_of_process(int fd)
{
	struct statfs fs;
	char path[PATH_MAX];

	if (fstatfs(fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return false;
	if (!find_path(fd, path))
		return true;
	if (strncmp(path, "/proc/", 6) != 0)
		return strcmp(path, "/proc") != 0;
	return path[6] >= '0' && path[6] <= '9';
}

int files_at(int folder, const char *path, int flags)
{
	const struct open_how how = { .flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
				      .mode = flags & O_CREAT ? NEW_FILE_MODE : 0,
				      .resolve = RESOLVE_NO_MAGICLINKS };

	int fd = resolve_open(folder, path, &how);
	if (fd >= 0 || errno != ELOOP || flags & O_NOFOLLOW)
		return fd;
	/* ELOOP means a loop of links or one of /proc's links to open files. O_PATH opens
	 * no content, and succeeds only in the latter case. */
	AUTO_CLOSE int linked = openat(folder, path, O_PATH | O_CLOEXEC);
	errno = linked < 0 ? ELOOP : EACCES;
	return -1;
}

int files_stat(const char *path, struct stat *ret)
{
	AUTO_CLOSE int fd = files_at(AT_FDCWD, path, O_PATH);

	return fd < 0 ? -1 : fstat(fd, ret);
}

struct result files_open(const char *path, int flags, int *ret_fd, struct stat *ret_st)
{
	AUTO_CLOSE int fd = files_at(AT_FDCWD, path, flags | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return failed(errno);
	if (fstat(fd, ret_st) < 0)
		return failed(errno);
	if (S_ISDIR(ret_st->st_mode))
		return refused(OUTCOME_IS_FOLDER);
	if (!S_ISREG(ret_st->st_mode))
		return refused(OUTCOME_NOT_REGULAR);
	if (files_is_of_process(fd))
		return failed(EACCES);
	*ret_fd = fd_take(&fd);
	return done();
}

/* Reads to the end of the file. The size from fstat(2) is only a first guess: files in
 * /proc have size 0, and files grow. */
struct result files_read_whole(int fd, off_t size, struct content *ret)
{
	size_t room = (size_t)size + 1 < 4096 ? 4096 : (size_t)size + 1, len = 0;
	AUTO_FREE uint8_t *bytes = NULL;

	if (size > (off_t)ACTION_FILE_MAX)
		return refused(OUTCOME_TOO_LARGE);
	bytes = mem_new(room);
	for (;;) {
		ssize_t n = read(fd, bytes + len, room - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(errno);
		len += (size_t)n;
		if (n == 0)
			break;
		if (len > ACTION_FILE_MAX)
			return refused(OUTCOME_TOO_LARGE);
		if (len < room)
			continue;
		room *= 2;
		bytes = mem_resize(bytes, room, 1);
	}
	*ret = (struct content){ bytes, len };
	bytes = NULL;
	return done();
}

static struct result read_path(const char *path, struct content *ret)
{
	struct stat st;
	int fd = -1;
	struct result r = files_open(path, O_RDONLY, &fd, &st);

	if (r.outcome == OUTCOME_DONE)
		r = files_read_whole(fd, st.st_size, ret);
	own_close(&fd);
	return r;
}

/* --- text or binary ------------------------------------------------------------ */

static bool is_plain(uint8_t c)
{
	return (c >= 0x20 && c <= 0x7e) || (c >= '\b' && c <= '\r' && c != '\v');
}

/* Judges as Python's package binaryornot does: by the share of bytes that are not plain
 * ASCII text, and by the share of bytes below 0x7f. The caller has already accepted
 * UTF-8, UTF-16 and Russian text. */
static bool looks_binary(const uint8_t *at, size_t len)
{
	size_t odd = 0, low = 0;

	for (size_t i = 0; i < len; i++) {
		odd += !is_plain(at[i]);
		low += at[i] < 0x7f;
	}
	return (odd * 10 > len * 3 && low * 20 < len) ||
	       (odd * 10 > len * 8 && low * 10 > len * 8) || memchr(at, 0, len) ||
	       memchr(at, 0xff, len);
}

static bool has_utf16_mark(const uint8_t *at, size_t len)
{
	return len >= 2 && ((at[0] == 0xff && at[1] == 0xfe) ||
			    (at[0] == 0xfe && at[1] == 0xff));
}

bool files_look_binary(const struct content *c)
{
	size_t len = c->len < SAMPLE ? c->len : SAMPLE;

	if (len == 0 || has_utf16_mark(c->bytes, len))
		return false;
	if (utf8_ascii(c->bytes, len) == len)
		return looks_binary(c->bytes, len); /* ASCII is no Russian text */
	if (utf8_is_valid(c->bytes, len, true) && !memchr(c->bytes, 0, len))
		return false;
	if (encoding_is_russian((struct bytes){ c->bytes, len }))
		return false;
	return looks_binary(c->bytes, len);
}

static struct result check_text(const struct content *c)
{
	if (files_look_binary(c))
		return refused(OUTCOME_BINARY);
	if (!utf8_is_valid(c->bytes, c->len, false))
		return refused(OUTCOME_NOT_UTF8);
	return done();
}

/* Returns the offset where line `n` begins, or the end if there are fewer lines. */
static size_t line_begin(const struct content *c, uint64_t n)
{
	size_t at = 0;

	if (n >= c->len) /* each line has at least one byte, so there are fewer than `n`
			  * lines */
		return c->len;
	while (n-- > 0 && at < c->len) {
		const uint8_t *end = memchr(c->bytes + at, '\n', c->len - at);
		at = end ? (size_t)(end - c->bytes) + 1 : c->len;
	}
	return at;
}

/* --- read ------------------------------------------------------------------ */

/* Cuts the content to lines [first, end), counted from 0. */
static void slice(struct content *c, uint64_t first, uint64_t end)
{
	size_t from = line_begin(c, first);
	size_t to = end == ACTION_LAST_LINE ? c->len : line_begin(c, end);

	if (to < from)
		to = from;
	memmove(c->bytes, c->bytes + from, to - from);
	c->len = to - from;
}

static struct result do_read(const char *path, const struct read_request *r,
			     struct content *ret)
{
	struct result got = read_path(path, ret);

	if (got.outcome != OUTCOME_DONE || r->form == READ_BASE64)
		return got;
	got = check_text(ret);
	if (got.outcome == OUTCOME_DONE)
		slice(ret, r->first, r->end);
	return got;
}

/* --- write ----------------------------------------------------------------- */

/* Makes the new content of a file: its lines in front of the replaced ones, the new text
 * with a newline at its end, and its lines behind the replaced ones. */
static struct result compose(const struct content *old, const struct write_request *r,
			     struct content *ret)
{
	size_t head = r->first ? line_begin(old, r->first) : 0;
	size_t tail = r->end == ACTION_LAST_LINE ? old->len : line_begin(old, r->end);
	size_t len = head + r->content.len + 1 + old->len - tail;

	if (len > ACTION_FILE_MAX)
		return refused(OUTCOME_TOO_LARGE);
	*ret = (struct content){ mem_new(len), len };
	if (head > 0)
		memcpy(ret->bytes, old->bytes, head);
	if (r->content.len > 0)
		memcpy(ret->bytes + head, r->content.data, r->content.len);
	head += r->content.len;
	ret->bytes[head++] = '\n';
	if (tail < old->len)
		memcpy(ret->bytes + head, old->bytes + tail, old->len - tail);
	return done();
}

/* Makes the missing folders above the path. Returns 0, or the errno of the folder that
 * could not be made: an attempt to make the file would only report ENOENT. A folder that
 * another process makes meanwhile is fine. */
static int make_parents(const char *path)
{
	AUTO_CLOSE int at = files_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY);
	char parts[PATH_MAX];
	int sys = 0;

	/* is not cut: the path is shorter than PATH_MAX */
	(void)snprintf(parts, sizeof(parts), "%s", path);
	for (char *name = parts, *end; at >= 0 && (end = strchr(name, '/'));
	     name = end + 1) {
		*end = '\0';
		if (!*name)
			continue;
		sys = mkdirat(at, name, NEW_FOLDER_MODE) < 0 ? errno : 0;
		int below = files_at(at, name, O_PATH | O_DIRECTORY);
		if (below < 0 && (sys == 0 || sys == EEXIST))
			sys = errno;
		own_close(&at);
		at = below;
	}
	return at < 0 ? sys : 0;
}

/* Opens the folder that an open file is in, and finds the file's name there. -1: the file
 * is not at that place any more. */
static int open_folder(int fd, const struct stat *st, char path[PATH_MAX],
		       const char **ret_name)
{
	struct stat now;

	if (!find_path(fd, path) || path[0] != '/')
		return -1;
	char *slash = strrchr(path, '/');
	*ret_name = slash + 1;
	*slash = '\0';
	AUTO_CLOSE int folder = files_at(AT_FDCWD, *path ? path : "/",
					 O_PATH | O_DIRECTORY | O_NOFOLLOW);
	if (folder < 0 || fstatat(folder, *ret_name, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
	    now.st_dev != st->st_dev || now.st_ino != st->st_ino)
		return -1;
	return fd_take(&folder);
}

/* Makes a temporary file with the new content and the old file's owner and mode. Fails
 * if the new file has extended attributes, since an ACL that it inherits from the folder
 * may let other users in. */
static int make_twin(int folder, const char *name, const struct stat *st,
		     const struct content *c)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
	struct stat made;
	AUTO_CLOSE int fd = openat(folder, name, flags, 0600);

	if (fd < 0)
		return -1;
	errno = 0;
	if (io_write_all(fd, c->bytes, c->len) < 0 || fstat(fd, &made) < 0 ||
	    made.st_uid != st->st_uid ||
	    (made.st_gid != st->st_gid && fchown(fd, (uid_t)-1, st->st_gid) < 0) ||
	    fchmod(fd, st->st_mode & 07777) < 0 || fstat(fd, &made) < 0 ||
	    made.st_mode != st->st_mode || flistxattr(fd, NULL, 0) > 0) {
		int why = errno;
		(void)unlinkat(folder, name, 0);
		errno = why;
		return -1;
	}
	return fd_take(&fd);
}

static bool is_full(int sys)
{
	return sys == ENOSPC || sys == EDQUOT;
}

/* Replaces the file by a complete temporary file, with rename(2). True: the file was
 * replaced; false: nothing was changed. *ret_is_full: there was no space for the
 * temporary file. */
static bool replace(int fd, const struct stat *st, const struct content *c,
		    bool *ret_is_full)
{
	char path[PATH_MAX], twin[64];
	const char *name;

	if (st->st_nlink != 1 || flistxattr(fd, NULL, 0) > 0)
		return false;
	AUTO_CLOSE int folder = open_folder(fd, st, path, &name);
	if (folder < 0)
		return false;
	(void)snprintf(twin, sizeof(twin), ".hutch-%llx-%llx",
		       (unsigned long long)st->st_ino, (unsigned long long)st->st_mtime);
	AUTO_CLOSE int made = make_twin(folder, twin, st, c);
	*ret_is_full = made < 0 && is_full(errno);
	if (made < 0)
		return false;
	if (renameat(folder, twin, folder, name) == 0)
		return true;
	(void)unlinkat(folder, twin, 0); /* removes the temporary file: rename(2) has
					  * failed, as it does if the old file is a mount
					  * point */
	return false;
}

static struct result fill(int fd, const struct content *c)
{
	if (lseek(fd, 0, SEEK_SET) < 0 || io_write_all(fd, c->bytes, c->len) < 0 ||
	    ftruncate(fd, (off_t)c->len) < 0)
		return failed(errno);
	return done();
}

/* Reserves `len` bytes of disk space with fallocate(2), also where the file has holes.
 * Returns 0, or the errno if there is no space. If the file system has no fallocate(2),
 * returns 0. */
static int find_space(int fd, size_t len)
{
	if (len == 0 || fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)len) == 0)
		return 0;
	return is_full(errno) || errno == EFBIG ? errno : 0;
}

/* Restores the set-id bits of the mode: the kernel clears them when a process without
 * CAP_FSETID writes. */
static void keep_mode(int fd, const struct stat *st)
{
	struct stat now;

	if (fstat(fd, &now) == 0 && now.st_mode != st->st_mode)
		/* fails if the file belongs to another user; then the set-id bits stay
		 * cleared */
		(void)fchmod(fd, st->st_mode & 07777);
}

/* Replaces the file, or else writes in place. The latter is done only if there is space
 * for the whole content: a partial write would mix old and new. */
struct result files_put(int fd, const struct stat *st, const struct content *c)
{
	bool has_no_space = false;

	if (replace(fd, st, c, &has_no_space))
		return done();
	if (has_no_space && c->len > (size_t)st->st_size)
		return failed(ENOSPC);
	int sys = find_space(fd, c->len);
	struct result got = sys ? failed(sys) : fill(fd, c);
	if (got.outcome == OUTCOME_DONE && st->st_mode & (S_ISUID | S_ISGID))
		keep_mode(fd, st);
	return got;
}

static bool is_whole(const struct write_request *r)
{
	return r->first == 0 && r->end == ACTION_LAST_LINE;
}

static struct result write_old(const char *path, const struct write_request *r)
{
	struct content old = { 0 }, new = { 0 };
	struct stat st;
	int fd = -1;
	struct result got = files_open(path, is_whole(r) ? O_WRONLY : O_RDWR, &fd, &st);

	if (got.outcome == OUTCOME_DONE && !is_whole(r)) {
		got = files_read_whole(fd, st.st_size, &old);
		if (got.outcome == OUTCOME_DONE &&
		    !utf8_is_valid(old.bytes, old.len, false))
			got = refused(OUTCOME_NOT_UTF8);
	}
	if (got.outcome == OUTCOME_DONE)
		got = compose(&old, r, &new);
	if (got.outcome == OUTCOME_DONE)
		got = files_put(fd, &st, &new);
	free(old.bytes);
	free(new.bytes);
	own_close(&fd);
	return got;
}

/* Makes a new file, also at the end of a dangling link. EEXIST: another process has made
 * a file of that name meanwhile. */
static int open_new(int folder, const char *name, bool *ret_is_mine)
{
	const int flags = O_WRONLY | O_CREAT | O_NOCTTY | O_NONBLOCK;
	struct stat st;
	AUTO_CLOSE int fd = files_at(folder, name, flags | O_EXCL);

	*ret_is_mine = fd >= 0;
	if (fd >= 0 || errno != EEXIST)
		return fd_take(&fd);
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(st.st_mode)) {
		errno = EEXIST;
		return -1;
	}
	fd = files_at(folder, name, flags);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > 0)) {
		errno = EEXIST;
		return -1;
	}
	return fd_take(&fd);
}

/* Opens the folder that the last name of a path is in, and returns the name in
 * *ret_name. */
static int open_above(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";

	*ret_name = slash ? slash + 1 : path;
	if (slash) /* the folder's path is shorter than `path`, which fits */
		(void)snprintf(folder, sizeof(folder), "%.*s",
			       slash > path ? (int)(slash - path) : 1, path);
	return files_at(AT_FDCWD, folder, O_PATH | O_DIRECTORY);
}

/* Makes a new file with this content. A file that could not be written whole is removed
 * again, or emptied if another process made it. */
struct result files_make(const char *path, const struct content *c)
{
	bool is_mine = false;
	struct result got;
	const char *name;

	AUTO_CLOSE int folder = open_above(path, &name);
	AUTO_CLOSE int fd = folder < 0 ? -1 : open_new(folder, name, &is_mine);
	if (fd < 0)
		got = failed(errno);
	else if (files_is_of_process(fd))
		got = failed(EACCES);
	else if (fchmod(fd, NEW_FILE_MODE) < 0)
		got = failed(errno);
	else
		got = fill(fd, c);
	if (fd >= 0 && got.outcome != OUTCOME_DONE)
		(void)(is_mine ? unlinkat(folder, name, 0) : ftruncate(fd, 0));
	return got;
}

static struct result write_new(const char *path, const struct write_request *r)
{
	const struct content nothing = { 0 };
	struct content new = { 0 };
	struct result got = compose(&nothing, r, &new);

	if (got.outcome == OUTCOME_DONE)
		got = files_make(path, &new);
	free(new.bytes);
	return got;
}

static struct result do_write(const char *path, const struct write_request *r)
{
	struct result got = write_old(path, r);

	if (got.outcome != OUTCOME_NOT_FOUND)
		return got;
	size_t len = strlen(path);
	if (path[len - 1] == '/')
		return refused(OUTCOME_IS_FOLDER);
	int sys = make_parents(path);
	if (sys && sys != ENOENT)
		return (struct result){ OUTCOME_ERROR, sys };
	got = write_new(path, r);
	/* EEXIST: another process has made the file meanwhile, so it is written as an
	 * old one. */
	return got.outcome == OUTCOME_ERROR && got.sys == EEXIST ? write_old(path, r)
								 : got;
}

/* --- replies --------------------------------------------------------------- */

/* Answers a read or a write. Takes over the bytes of `c`, and sends them if the outcome
 * is OUTCOME_DONE. */
static void say_done(const struct files *f, const char *path, struct result r,
		     struct content *c, bool is_base64)
{
	struct reply a = { .id = f->id, .type = MSG_CONTENT, .is_base64 = is_base64 };
	struct done d = { .outcome = r.outcome,
			  .sys = r.outcome == OUTCOME_ERROR ? (uint32_t)r.sys : 0,
			  .path = path,
			  .cwd = f->place->cwd };

	buffer_init(&a.end, SEND_QUEUE_END_MAX);
	/* cannot fail: the frame has at most two paths, for which the buffer has room */
	(void)action_put_done(&a.end, f->id, &d, NULL);
	if (r.outcome == OUTCOME_DONE) {
		a.bytes = c->bytes;
		a.len = c->len;
	} else {
		free(c->bytes);
	}
	send_queue_add(f->replies, &a);
}

/* --- requests -------------------------------------------------------------- */

/* Makes the path absolute, and takes on the ids of the command's user, until leave().
 * After any outcome but OUTCOME_DONE, leave() must not be called. */
static struct result enter(const struct files *f, const char *path,
			   char to[PATH_MAX], struct user_role *role)
{
	if (!files_make_absolute(to, f->place->cwd, path)) {
		to[0] = '\0';
		return failed(ENAMETOOLONG);
	}
	if (user_enter(f->user, f->place->uid, f->place->gid, role) < 0)
		return failed(errno);
	return done();
}

static int leave(const struct files *f, const struct user_role *role, struct err *e)
{
	if (user_leave(f->user, role) < 0)
		return err_sys(e, "become the executor again");
	return 0;
}

int files_read(const struct files *f, const struct read_request *r, struct err *e)
{
	struct content c = { 0 };
	struct user_role role;
	char path[PATH_MAX];
	struct result got = enter(f, r->path, path, &role);

	if (got.outcome == OUTCOME_DONE) {
		got = do_read(path, r, &c);
		if (leave(f, &role, e) < 0)
			return -1;
	}
	say_done(f, path, got, &c, r->form == READ_BASE64);
	return 0;
}

int files_write(const struct files *f, const struct write_request *r, struct err *e)
{
	struct content none = { 0 };
	struct user_role role;
	char path[PATH_MAX];
	struct result got = enter(f, r->path, path, &role);

	if (got.outcome == OUTCOME_DONE) {
		got = do_write(path, r);
		if (leave(f, &role, e) < 0)
			return -1;
	}
	say_done(f, path, got, &none, false);
	return 0;
}

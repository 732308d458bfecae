#include "archive/dir_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/resolve.h"

int dir_stack_here(const struct dir_stack *t)
{
	return t->steps[t->depth].fd;
}

/* Opens a folder to be read; a folder that may be entered but not read is opened
 * O_PATH. */
static int open_folder(int at, const char *name, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = resolve,
	};
	int fd = resolve_open(at, name, &how);

	if (fd >= 0 || errno != EACCES)
		return fd;
	how.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	return resolve_open(at, name, &how);
}

static int open_below(int at, const char *name)
{
	return open_folder(at, name,
			   RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* Appends `name` to the path of the current folder; returns the new length. */
static size_t extend(struct dir_stack *t, const char *name)
{
	size_t here = t->steps[t->depth].path_len, len = strlen(name);
	size_t slash = here > 0 ? 1 : 0, room = here + slash + len + 1;

	if (room > t->path_room) {
		t->path_room = 2 * room;
		t->path = mem_resize(t->path, t->path_room, 1);
	}
	if (slash)
		t->path[here] = '/';
	memcpy(t->path + here + slash, name, len + 1);
	return here + slash + len;
}

/* Returns the path of the current folder.  Another call may have appended a name to
 * the buffer, so the path is cut to the folder's own length first. */
const char *dir_stack_path(struct dir_stack *t)
{
	t->path[t->steps[t->depth].path_len] = '\0';
	return t->path;
}

const char *dir_stack_name(struct dir_stack *t, const char *name)
{
	(void)extend(t, name);
	return t->path;
}

/* Stores `fd` as step `number` of the stack.  The stack then owns `fd`; after a failure
 * `fd` is closed. */
static int set_step(struct dir_stack *t, size_t number, int fd, struct err *e)
{
	AUTO_CLOSE int mine = fd;

	if (number == t->room) {
		t->room = t->room ? 2 * t->room : 16;
		t->steps = mem_resize(t->steps, t->room, sizeof(*t->steps));
	}
	t->steps[number].fd = -1;
	if (fstat(fd, &t->steps[number].st) < 0)
		return err_sys(e, "stat %.300s", t->path);
	t->steps[number].fd = fd_take(&mine);
	return 0;
}

int dir_stack_start(struct dir_stack *t, int fd, const char *path, struct err *e)
{
	size_t len = strlen(path);

	*t = (struct dir_stack){ .path = mem_copy(path, len + 1), .path_room = len + 1 };
	if (set_step(t, 0, fd, e) < 0)
		return -1;
	t->steps[0].path_len = len;
	return 0;
}

void dir_stack_done(struct dir_stack *t)
{
	for (size_t i = 0; t->steps && i <= t->depth; i++)
		own_close(&t->steps[i].fd);
	free(t->steps);
	free(t->path);
	*t = (struct dir_stack){ 0 };
}

int dir_stack_down(struct dir_stack *t, const char *name, struct err *e)
{
	size_t len;

	if (t->depth == DIR_STACK_DEPTH_MAX)
		return err_set(e, ERR_LIMIT, "%.200s...: deeper than %d folders",
			       dir_stack_path(t), DIR_STACK_DEPTH_MAX);
	int fd = open_below(dir_stack_here(t), name);
	if (fd < 0)
		return err_sys(e, "open the folder %.300s", dir_stack_name(t, name));
	len = extend(t, name);
	if (set_step(t, t->depth + 1, fd, e) < 0)
		return -1;
	t->depth++;
	t->steps[t->depth].path_len = len;
	if (t->depth >= DIR_STACK_HELD)
		own_close(&t->steps[t->depth - DIR_STACK_HELD].fd);
	return 0;
}

/* Reopens a folder of the stack by "..".  The stack came down through the folder, so
 * search permission is there. */
static int open_again(struct dir_stack_step *up, int below, const char *path,
		      struct err *e)
{
	AUTO_CLOSE int fd = open_folder(below, "..", RESOLVE_NO_SYMLINKS);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "come back from %.300s", path);
	if (st.st_dev != up->st.st_dev || st.st_ino != up->st.st_ino)
		return err_set(e, ERR_BUSY,
			       "%.300s was moved to another place meanwhile", path);
	up->fd = fd_take(&fd);
	return 0;
}

int dir_stack_up(struct dir_stack *t, struct err *e)
{
	struct dir_stack_step *up = &t->steps[t->depth - 1];

	if (up->fd < 0 && open_again(up, dir_stack_here(t), dir_stack_path(t), e) < 0)
		return -1;
	own_close(&t->steps[t->depth].fd);
	t->depth--;
	return 0;
}

/* Returns whether the stack's path and `path` agree up to `len`, and `len` ends a
 * whole name of `path`: at 0, at a slash, or at the end. */
static bool is_on_way(const struct dir_stack *t, const char *path, size_t from,
		      size_t len)
{
	return strncmp(t->path + from, path + from, len - from) == 0 &&
	       (len == 0 || path[len] == '/' || path[len] == '\0');
}

size_t dir_stack_common(const struct dir_stack *t, const char *path)
{
	size_t steps = 0;

	while (steps < t->depth && is_on_way(t, path, t->steps[steps].path_len,
					     t->steps[steps + 1].path_len))
		steps++;
	return steps;
}

const char *dir_stack_rest(const struct dir_stack *t, const char *path)
{
	const char *rest = path + t->steps[t->depth].path_len;

	return *rest == '/' ? rest + 1 : rest;
}

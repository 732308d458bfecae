#include "executor/files/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "archive/dir_stack.h"
#include "base/err.h"
#include "base/mem.h"
#include "executor/files/dir_entry.h"
#include "executor/files/files_parts.h"

/* Bytes that one getdents64(2) may return. */
#define ENTRIES_ROOM (128u << 10)

/* is_late() is asked each time after this many names. */
#define LOOK_UP 256

/* The state of a walk. `waiting` holds the names of folders that are still to be read,
 * each with a 0 behind it. marks[d] is the offset in `waiting` where the names from the
 * current path's folder at depth d begin. */
struct walker {
	struct walk *w;
	struct dir_stack stack;
	char *waiting; /* owned */
	size_t len, room;
	size_t *marks; /* owned; one offset in `waiting` for each folder from the start
		        * to the current one */
	size_t marks_room;
	char *entries; /* owned */
	unsigned until; /* how many more names until is_late() is asked */
	bool is_over;
};

static bool is_itself(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* --- waiting names -------------------------------------------------------------- */

static bool put_off(struct walker *k, const char *name)
{
	size_t len = strlen(name) + 1;

	if (k->len + len > WALK_WAITING)
		return false;
	if (k->len + len > k->room) {
		k->room = 2 * (k->len + len);
		k->waiting = mem_resize(k->waiting, k->room, 1);
	}
	memcpy(k->waiting + k->len, name, len);
	k->len += len;
	return true;
}

/* Removes the name that was added last from the names of the current folder, and returns
 * it; NULL: there is none. */
static const char *take_off(struct walker *k)
{
	if (k->len == k->marks[k->stack.depth])
		return NULL;
	k->len--; /* removes the 0 behind the name */
	while (k->len > k->marks[k->stack.depth] && k->waiting[k->len - 1])
		k->len--;
	return k->waiting + k->len;
}

static void set_mark(struct walker *k)
{
	if (k->stack.depth >= k->marks_room) {
		k->marks_room = 2 * k->stack.depth + 16;
		k->marks = mem_resize(k->marks, k->marks_room, sizeof(*k->marks));
	}
	k->marks[k->stack.depth] = k->len;
}

/* --- reporting ------------------------------------------------------------------- */

static void closed(struct walker *k, int sys)
{
	if (k->w->closed++ == 0)
		k->w->sys = sys;
}

static struct walk_name name_of(struct walker *k, const char *name, unsigned char type)
{
	const char *path = dir_stack_name(&k->stack, name);

	return (struct walk_name){
		.path = path,
		.name = path + strlen(path) - strlen(name),
		.depth = k->stack.depth,
		.folder = dir_stack_here(&k->stack),
		.type = type,
	};
}

static enum walk_step step_of(struct walker *k, enum walk_step step)
{
	k->is_over = k->is_over || step == WALK_END;
	return step;
}

/* Asks is_late() after every LOOK_UP names. True: the walk must end. */
static bool has_enough(struct walker *k)
{
	const struct walk *w = k->w;

	if (k->until-- > 0)
		return false;
	k->until = LOOK_UP;
	return w->names >= WALK_NAMES || (w->is_late && w->is_late(w->context));
}

static void tell_name(struct walker *k, const struct dir_entry *d)
{
	const struct walk_name n =
		name_of(k, d->name, dir_entry_type(dir_stack_here(&k->stack), d));

	k->w->names++;
	enum walk_step step = step_of(k, k->w->on_name(k->w->context, &n));
	if (step == WALK_ON && n.type == DT_DIR && !put_off(k, d->name))
		closed(k, ENOBUFS);
	if (has_enough(k))
		k->is_over = k->w->is_cut = true;
}

/* --- one folder ------------------------------------------------------------------ */

static void read_folder(struct walker *k)
{
	int folder = dir_stack_here(&k->stack);
	long len = 0;

	set_mark(k);
	if (files_is_of_process(folder)) {
		closed(k, EACCES);
		return;
	}
	while (!k->is_over &&
	       (len = syscall(SYS_getdents64, folder, k->entries, ENTRIES_ROOM)) > 0)
		for (long at = 0; at < len && !k->is_over;) {
			const struct dir_entry *d = (const void *)(k->entries + at);
			at += d->len;
			if (!is_itself(d->name))
				tell_name(k, d);
		}
	if (len < 0) /* EBADF: the folder is open with O_PATH only, since it may not be
		      * read */
		closed(k, errno == EBADF ? EACCES : errno);
}

/* --- moving through the tree
 * ------------------------------------------------------- */

/* Goes into a subfolder, and reads it. Does nothing if the name has gone, or is no
 * folder by now. */
static void go_down(struct walker *k, const char *name)
{
	struct err e = { 0 };

	if (dir_stack_down(&k->stack, name, &e) == 0)
		read_folder(k);
	else if (e.sys != ENOENT && e.sys != ENOTDIR && e.sys != ELOOP)
		closed(k, e.sys ? e.sys : ENAMETOOLONG);
}

/* Goes back to the parent. -1: another process has moved the folder, so its parent is
 * not the folder that the walk came from. */
static int go_up(struct walker *k)
{
	const struct walk *w = k->w;
	struct err e;
	const char *path = dir_stack_path(&k->stack), *slash = strrchr(path, '/');
	char *name =
		mem_copy(slash ? slash + 1 : path, strlen(slash ? slash + 1 : path) + 1);
	int up = dir_stack_up(&k->stack, &e);

	if (up == 0 && w->on_left) {
		const struct walk_name n = name_of(k, name, DT_DIR);
		(void)step_of(k, w->on_left(w->context, &n));
	}
	free(name);
	return up;
}

static void walk(struct walker *k)
{
	read_folder(k);
	while (!k->is_over) {
		const char *next = take_off(k);
		if (next) {
			go_down(k, next);
			continue;
		}
		if (k->stack.depth == 0)
			return;
		if (go_up(k) < 0)
			k->is_over = k->w->is_cut = true;
	}
}

bool walk_run(struct walk *w, int folder)
{
	struct walker k = { .w = w, .entries = mem_new(ENTRIES_ROOM), .until = LOOK_UP };
	struct err e;

	if (dir_stack_start(&k.stack, folder, "", &e) == 0)
		walk(&k);
	else
		closed(&k, e.sys);
	dir_stack_done(&k.stack);
	free(k.waiting);
	free(k.marks);
	free(k.entries);
	return !k.is_over;
}

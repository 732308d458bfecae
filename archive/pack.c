#include "archive/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/dir_names.h"
#include "archive/dir_stack.h"
#include "archive/pack_output.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"

/* --- one thing --------------------------------------------------------------- */

/* Adds a path that was a regular file a moment ago.  If the file has been replaced
 * since, the open does not block (O_NONBLOCK), and a terminal does not become the
 * controlling terminal of this process (O_NOCTTY). */
static int add_file(struct pack *p, const struct pack_item *i, int nofollow,
		    struct err *e)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat st;
	const char *first;

	AUTO_CLOSE int fd = openat(i->at, i->name, flags | nofollow);
	if (fd < 0 || fstat(fd, &st) < 0)
		return pack_leave_out(p, i, e);
	if (!S_ISREG(st.st_mode))
		return pack_leave_out_kind(p, i, "no longer a file", e);
	bool is_linked = st.st_nlink > 1 && !p->has_no_links;
	first = is_linked ? inodes_get(&p->linked, &st) : NULL;
	if (first) {
		pack_header(p, TAR_HARD_LINK, i, &st, first);
		return 0;
	}
	if (pack_content(p, fd, i, &st, e) < 0)
		return -1;
	if (is_linked)
		inodes_add(&p->linked, &st, i->as);
	return 0;
}

static int add_link(struct pack *p, const struct pack_item *i, const struct stat *st,
		    struct err *e)
{
	char to[PATH_MAX];
	struct stat target;

	if (p->has_no_links && fstatat(i->at, i->name, &target, 0) < 0)
		return pack_leave_out(p, i, e);
	if (p->has_no_links && !S_ISREG(target.st_mode))
		return pack_leave_out_kind(p, i, "a link, and not to a file", e);
	if (p->has_no_links)
		return add_file(p, i, 0, e);
	ssize_t len = readlinkat(i->at, i->name, to, sizeof(to) - 1);
	if (len < 0)
		return pack_leave_out(p, i, e);
	to[len] = '\0';
	pack_header(p, TAR_LINK, i, st, to);
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

/* Adds a file of any kind but a folder. */
static int add_one(struct pack *p, const struct pack_item *i, const struct stat *st,
		   int nofollow, struct err *e)
{
	int result;

	if (S_ISREG(st->st_mode))
		result = add_file(p, i, nofollow, e);
	else if (S_ISLNK(st->st_mode))
		result = add_link(p, i, st, e);
	else
		result = pack_leave_out_kind(p, i, kind_of(st->st_mode), e);
	return result < 0 ? -1 : pack_flush_much(p, e);
}

/* --- folders ----------------------------------------------------------------- */

/* The state of a walk that adds a folder with everything below it.  It replaces
 * recursion, since the tree may be deep. */
struct walk {
	struct pack *pack;
	struct dir_stack stack;
	struct dir_names *names; /* owned; the names still to be added, one list for
				  * each step of the stack */
	size_t room;
};

static void walk_done(struct walk *w)
{
	for (size_t i = 0; w->stack.steps && w->names && i <= w->stack.depth; i++)
		dir_names_done(&w->names[i]);
	free(w->names);
	dir_stack_done(&w->stack);
}

/* Starts reading the folder where the stack is now. */
static void begin_folder(struct walk *w)
{
	size_t depth = w->stack.depth;

	if (depth >= w->room) {
		w->room = 2 * (depth + 8);
		w->names = mem_resize(w->names, w->room, sizeof(*w->names));
	}
	if (dir_names_read(dir_stack_here(&w->stack), SIZE_MAX, &w->names[depth]) < 0)
		pack_tell(w->pack, dir_stack_path(&w->stack), err_words(errno));
}

static int put_folder(struct walk *w, struct err *e)
{
	const struct pack_item i = { .as = dir_stack_path(&w->stack) };

	pack_header(w->pack, TAR_FOLDER, &i, &w->stack.steps[w->stack.depth].st, NULL);
	return pack_flush_much(w->pack, e);
}

static int end_folder(struct walk *w, struct err *e)
{
	dir_names_done(&w->names[w->stack.depth]);
	return w->stack.depth > 0 ? dir_stack_up(&w->stack, e) : 0;
}

/* Adds a folder and everything below it.  A tree that is too deep is an error, not a
 * left-out folder: everything below the limit would be missing from the tar. */
static int add_folder(struct walk *w, const struct pack_item *i, struct err *e)
{
	if (dir_stack_down(&w->stack, i->name, e) < 0) {
		bool is_too_deep = e->kind == ERR_LIMIT && !e->sys;
		return is_too_deep ? -1 : pack_leave_out(w->pack, i, e);
	}
	if (put_folder(w, e) < 0)
		return -1;
	begin_folder(w);
	return 0;
}

static int add_named(struct walk *w, const char *name, struct err *e)
{
	struct stat st;
	const struct pack_item i = {
		.at = dir_stack_here(&w->stack),
		.name = name,
		.as = dir_stack_name(&w->stack, name),
	};

	if (fstatat(i.at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return pack_leave_out(w->pack, &i, e);
	return S_ISDIR(st.st_mode) ? add_folder(w, &i, e)
				   : add_one(w->pack, &i, &st, O_NOFOLLOW, e);
}

static int walk_on(struct walk *w, struct err *e)
{
	begin_folder(w);
	for (;;) {
		const char *name = dir_names_next(&w->names[w->stack.depth]);
		bool is_last = !name && w->stack.depth == 0;
		int result = name ? add_named(w, name, e) : end_folder(w, e);
		if (result < 0 || is_last)
			return result;
	}
}

static int walk(struct pack *p, int folder, const char *as, struct err *e)
{
	struct walk w = { .pack = p };
	bool is_content = !strcmp(as, ".");

	int result = dir_stack_start(&w.stack, folder, is_content ? "" : as, e);
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
	const struct pack_item i = { .at = at, .name = name, .as = as, .is_given = true };
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
	AUTO_CLOSE int folder =
		openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | nofollow);
	if (folder < 0)
		return err_sys(e, "open the folder %.300s", name);
	return walk(p, fd_take(&folder), as, e);
}

int pack_end(struct pack *p, struct err *e)
{
	if (!p->pending.max)
		buffer_init(&p->pending, 2 * TAR_BLOCK);
	return pack_zeros(p, 0, (uint64_t)2 * TAR_BLOCK, e) < 0 ? -1 : pack_flush(p, e);
}

void pack_done(struct pack *p)
{
	buffer_done(&p->pending);
	inodes_done(&p->linked);
}

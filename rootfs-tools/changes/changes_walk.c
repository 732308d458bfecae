#include "rootfs-tools/changes/changes_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "archive/dir_names.h"
#include "archive/dir_stack.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/changes/rmdir_check.h"

#define NAMES_MAX (64u << 20) /* limit of the bytes of the names in one of the host's
			       * folders */

/* The names in a host folder that the sandbox's folder hides, and for each name whether
 * the sandbox has it, too.  The sandbox has removed the other names. */
struct cover {
	struct dir_names names;
	bool *is_listed; /* owned; for each name, whether the sandbox has it; NULL: the host
		        * folder is not hidden */
	bool is_new;	 /* the callback has just made the folder: nothing is in it yet */
};

struct walk {
	const struct changes_walk *g;
	struct changes_stream *stream;
	struct dir_stack stack;
	struct cover *covers; /* owned; one for each step of the stack */
	size_t room;
	bool was_missing; /* the host did not have the last item */
	size_t lost;  /* how many folders of the current path, from its end, the host does
		       * not have */
	size_t blind; /* how many folders of the current path, from its end, cannot be
		       * read on the host */
};

/* --- what was asked for -------------------------------------------------- */

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return !strncmp(path, folder, len) && (!len || path[len] == '/' || !path[len]);
}

bool changes_walk_is_wanted(const struct list *wanted, const char *path)
{
	bool is = !wanted || !wanted->count;

	for (size_t i = 0; !is && i < wanted->count; i++)
		is = is_below(path, wanted->items[i]);
	return is;
}

static bool is_above_wanted(const struct list *wanted, const char *path)
{
	bool is = false;

	for (size_t i = 0; !is && wanted && i < wanted->count; i++)
		is = is_below(wanted->items[i], path);
	return is;
}

static int meet(struct walk *w, struct meeting *m, struct err *e)
{
	const struct changes_walk *g = w->g;

	if (!changes_walk_is_wanted(g->wanted, m->path)) {
		m->is_on_way = m->item && m->item->kind == CHANGES_STREAM_FOLDER &&
			       is_above_wanted(g->wanted, m->path);
		if (!m->is_on_way)
			return 0;
	}
	m->content = w->stream;
	return g->on_meeting(g->context, m, e);
}

/* --- folders ------------------------------------------------------------ */

static void cover_done(struct cover *c)
{
	dir_names_done(&c->names);
	own_free(&c->is_listed);
}

/* Prepares the host folder that the stack has just entered; reads its names if the
 * folder is hidden. */
static int begin_folder(struct walk *w, bool is_covered, struct err *e)
{
	size_t depth = w->stack.depth;

	if (depth >= w->room) {
		w->room = 2 * (depth + 8);
		w->covers = mem_resize(w->covers, w->room, sizeof(*w->covers));
	}
	struct cover *c = &w->covers[depth];
	*c = (struct cover){ .is_new = w->was_missing };
	if (w->g->on_folder)
		w->g->on_folder(w->g->context, dir_stack_here(&w->stack));
	if (!is_covered)
		return 0;
	if (dir_names_read(dir_stack_here(&w->stack), NAMES_MAX, &c->names) < 0)
		return err_sys(e, "read the folder %.300s", dir_stack_path(&w->stack));
	dir_names_sort(&c->names);
	c->is_listed = mem_zeroed(c->names.count, sizeof(*c->is_listed));
	return 0;
}

/* Reports as removed each name that the host's folder has and the sandbox's folder
 * lacks. */
static int end_cover(struct walk *w, struct err *e)
{
	struct cover *c = &w->covers[w->stack.depth];

	for (size_t i = 0; c->is_listed && i < c->names.count; i++) {
		const char *name = c->names.sorted[i];
		struct meeting m = { .kind = 'D', .name = name, .exists = true,
				     .at = dir_stack_here(&w->stack) };
		if (c->is_listed[i] ||
		    rmdir_check_look(m.at, name, &m.host, &m.fixed) < 0)
			continue;
		AUTO_FREE char *path = text_copy(dir_stack_name(&w->stack, name));
		m.path = path;
		if (meet(w, &m, e) < 0)
			return -1;
	}
	return 0;
}

static int leave_folder(struct walk *w, struct err *e)
{
	if (w->lost > 0) {
		w->lost--;
		return 0;
	}
	if (end_cover(w, e) < 0)
		return -1;
	cover_done(&w->covers[w->stack.depth]);
	return dir_stack_up(&w->stack, e);
}

/* Enters a folder.  Looks at the host again, since the callback may just have created
 * this folder there. */
static int enter_folder(struct walk *w, const struct changes_stream_item *i,
			struct err *e)
{
	struct stat st;

	if (w->lost > 0 ||
	    fstatat(dir_stack_here(&w->stack), i->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode)) {
		w->lost++;
		return 0;
	}
	if (dir_stack_down(&w->stack, i->name, e) < 0)
		return -1;
	return begin_folder(w, i->is_covered, e);
}

/* --- one thing ----------------------------------------------------------- */

static bool is_same_link(const struct meeting *m)
{
	char to[PATH_MAX];
	ssize_t len = readlinkat(m->at, m->name, to, sizeof(to));

	return len >= 0 && (size_t)len == strlen(m->item->link) &&
	       !memcmp(to, m->item->link, (size_t)len);
}

/* Returns whether the host's file equals the item.  For a regular file of the same mode
 * and size, sets may_be_same: the caller must compare the content. */
static bool is_as_listed(struct meeting *m)
{
	const mode_t host = m->host.st_mode, mode = m->item->mode & 0777;

	switch (m->item->kind) {
	case CHANGES_STREAM_FOLDER:
		return S_ISDIR(host) && (host & 0777) == mode;
	case CHANGES_STREAM_FILE:
		m->may_be_same = S_ISREG(host) && (host & 0777) == mode &&
				 (uint64_t)m->host.st_size == m->item->size;
		return false;
	case CHANGES_STREAM_LINK:
		return S_ISLNK(host) && is_same_link(m);
	case CHANGES_STREAM_FIFO:
		return S_ISFIFO(host);
	case CHANGES_STREAM_GONE:
	case CHANGES_STREAM_FOLDER_END:
	case CHANGES_STREAM_LEFT_OUT:
	case CHANGES_STREAM_KIND_COUNT:
		break;
	}
	return false;
}

static void mark_seen(struct walk *w, const char *name)
{
	struct cover *c = &w->covers[w->stack.depth];
	ssize_t number = w->lost || !c->is_listed ? -1 : dir_names_find(&c->names, name);

	if (number >= 0)
		c->is_listed[number] = true;
}

static void leave_out(struct walk *w, const char *path, const char *why)
{
	if (w->g->on_left_out && changes_walk_is_wanted(w->g->wanted, path))
		w->g->on_left_out(w->g->context, path, why);
}

/* Looks up the host's file at the item's path.  Returns 1 if that path may not be
 * read. */
static int look_at(struct walk *w, const struct changes_stream_item *i, struct err *e)
{
	struct meeting m = { .path = i->path, .name = i->name, .item = i,
			     .at = w->lost ? -1 : dir_stack_here(&w->stack) };

	mark_seen(w, i->name);
	errno = ENOENT;
	if (m.at >= 0 && !w->covers[w->stack.depth].is_new)
		m.exists = rmdir_check_look(m.at, i->name, &m.host, &m.fixed) == 0;
	if (m.at >= 0 && !m.exists && errno == EACCES) {
		leave_out(w, i->path, err_words(EACCES));
		return 1;
	}
	if (m.at >= 0 && !m.exists && errno != ENOENT)
		return err_sys(e, "look at %.300s", i->path);
	w->was_missing = !m.exists;
	if (i->kind == CHANGES_STREAM_GONE && !m.exists)
		return 0;
	if (m.exists && is_as_listed(&m))
		return 0;
	m.kind = i->kind == CHANGES_STREAM_GONE ? 'D' : m.exists ? 'M' : 'A';
	return meet(w, &m, e);
}

/* Skips the entries of a folder that has been reported as left out. */
static void pass_over(struct walk *w, const struct changes_stream_item *i)
{
	w->blind += i->kind == CHANGES_STREAM_FOLDER;
	w->blind -= i->kind == CHANGES_STREAM_FOLDER_END;
}

static int take(struct walk *w, const struct changes_stream_item *i, struct err *e)
{
	int result;

	if (w->blind > 0) {
		pass_over(w, i);
		return 0;
	}
	if (i->kind != CHANGES_STREAM_FILE && w->g->on_other &&
	    w->g->on_other(w->g->context, e) < 0)
		return -1;
	if (i->kind == CHANGES_STREAM_FOLDER_END)
		return leave_folder(w, e);
	if (i->kind == CHANGES_STREAM_LEFT_OUT) {
		leave_out(w, i->path, i->link);
		mark_seen(w, i->name);
		return 0;
	}
	result = look_at(w, i, e);
	if (result > 0)
		pass_over(w, i);
	if (result != 0)
		return result < 0 ? -1 : 0;
	return i->kind == CHANGES_STREAM_FOLDER ? enter_folder(w, i, e) : 0;
}

static int walk(struct walk *w, struct err *e)
{
	struct changes_stream_item item;
	int more;

	AUTO_CLOSE int dir = openat(w->g->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_sys(e, "open the folder");
	if (dir_stack_start(&w->stack, fd_take(&dir), "", e) < 0 ||
	    begin_folder(w, false, e) < 0)
		return -1;
	while ((more = changes_stream_next(w->stream, &item, e)) > 0)
		if (take(w, &item, e) < 0)
			return -1;
	return more;
}

int changes_walk_walk(const struct changes_walk *g, struct changes_stream *t,
		      struct err *e)
{
	struct walk w = { .g = g, .stream = t };
	int result = walk(&w, e);

	for (size_t i = 0; w.covers && w.stack.steps && i <= w.stack.depth; i++)
		cover_done(&w.covers[i]);
	free(w.covers);
	dir_stack_done(&w.stack);
	return result;
}

/* --- content ------------------------------------------------------------ */

static bool is_next(int fd, const uint8_t *data, size_t len, uint8_t *room)
{
	return io_read_full(fd, room, len) == (ssize_t)len && !memcmp(room, data, len);
}

int changes_walk_is_same(const struct meeting *m, struct err *e)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(m->at, m->name, flags);
	/* A piece of content is at most 64 KiB, and most files are much smaller. */
	const size_t most = m->item->size < 64 << 10 ? (size_t)m->item->size : 64 << 10;
	AUTO_FREE uint8_t *room = mem_new(most + 1);
	bool is_same = fd >= 0;
	const uint8_t *data;
	ssize_t len;

	/* The content is read to its end even after a difference, since more items follow
	 * in the stream. */
	while ((len = changes_stream_read(m->content, &data, e)) > 0)
		is_same = is_same && (size_t)len <= most &&
			  is_next(fd, data, (size_t)len, room);
	if (len < 0)
		return m->content->is_broken ? -1 : 0;
	return is_same && io_read_full(fd, room, 1) == 0;
}

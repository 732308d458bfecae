#include "sandbox/kernel/cgroup_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* A line has at most 8 bytes, and a kernel at most 4,194,304 processes. */
#define PIDS_MAX (32u << 20)

struct level {
	dev_t dev;
	ino_t ino;
	size_t left; /* names of this level that wait to be visited */
	char *name;  /* owned: in the folder above; NULL for the top, and for a visit */
};

struct walk {
	int folder;	      /* owned: the one at the end of `levels` */
	struct level *levels; /* owned */
	size_t depth, room, seen;
	struct list names; /* those that wait, the deepest level's last */
};

static void drop_level(struct walk *w)
{
	free(w->levels[--w->depth].name);
}

static void walk_done(struct walk *w)
{
	while (w->depth)
		drop_level(w);
	free(w->levels);
	list_done(&w->names);
	own_close(&w->folder);
}

/* Makes `folder`, which it takes, the deepest level. */
static int push(struct walk *w, int folder, char *name, struct err *e)
{
	struct stat st = { 0 };

	own_close(&w->folder);
	w->folder = folder;
	if (w->depth == w->room) {
		w->room = w->room ? 2 * w->room : 16;
		w->levels = mem_resize(w->levels, w->room, sizeof(*w->levels));
	}
	const int rc = fstat(folder, &st);
	w->levels[w->depth++] =
		(struct level){ .dev = st.st_dev, .ino = st.st_ino, .name = name };
	if (rc)
		return err_sys(e, "stat a cgroup");
	return ++w->seen > CGROUP_TREE_MAX
		       ? err_set(e, ERR_LIMIT, "there are more than %u cgroups below it",
				 CGROUP_TREE_MAX)
		       : 0;
}

/* Goes back to the folder above. */
static int pop(struct walk *w, struct err *e)
{
	struct stat st;
	const int up = openat(w->folder, "..", FOLDER);

	if (up < 0)
		return err_sys(e, "open the cgroup above one");
	own_close(&w->folder);
	w->folder = up;
	drop_level(w);
	const struct level *l = &w->levels[w->depth - 1];
	if (fstat(up, &st))
		return err_sys(e, "stat a cgroup");
	return st.st_dev == l->dev && st.st_ino == l->ino
		       ? 0
		       : err_set(e, ERR_REFUSED, "a cgroup was moved during the visit");
}

static bool is_below(const struct dirent *d)
{
	return d->d_type == DT_DIR && strcmp(d->d_name, ".") != 0 &&
	       strcmp(d->d_name, "..") != 0;
}

static DIR *list_folder(int folder, struct err *e)
{
	const int again = openat(folder, ".", FOLDER);
	DIR *dir = again < 0 ? NULL : fdopendir(again);

	if (!dir)
		(void)err_sys(e, "list a cgroup");
	return dir;
}

/* --- visit ------------------------------------------------------------------------------ */

static int add_names(struct walk *w, struct err *e)
{
	DIR *dir = list_folder(w->folder, e);
	struct level *l = &w->levels[w->depth - 1];

	if (!dir)
		return -1;
	for (struct dirent *d; (d = readdir(dir)) && w->names.count <= CGROUP_TREE_MAX;)
		if (is_below(d)) {
			list_add(&w->names, d->d_name);
			l->left++;
		}
	(void)closedir(dir); /* it was only read */
	return w->names.count > CGROUP_TREE_MAX
		       ? err_set(e, ERR_LIMIT, "there are more than %u cgroups below it",
				 CGROUP_TREE_MAX)
		       : 0;
}

/* Goes to the next folder that waits.  Returns 1 if it is there, 0 if there is none left. */
static int step(struct walk *w, struct err *e)
{
	for (;;) {
		struct level *l = &w->levels[w->depth - 1];
		if (!l->left && w->depth == 1)
			return 0;
		if (!l->left) {
			if (pop(w, e))
				return -1;
			continue;
		}
		l->left--;
		AUTO_FREE char *name = w->names.items[--w->names.count];
		w->names.items[w->names.count] = NULL;
		const int below = openat(w->folder, name, FOLDER);
		if (below >= 0)
			return push(w, below, NULL, e) ? -1 : 1;
		if (errno != ENOENT)
			return err_sys(e, "open the cgroup '%.64s'", name);
	}
}

int cgroup_tree_visit(int top, int (*does)(int folder, void *arg, struct err *e),
		      void *arg, struct err *e)
{
	struct walk w = { .folder = -1 };
	const int again = openat(top, ".", FOLDER);
	int rc = again < 0 ? err_sys(e, "open a cgroup") : push(&w, again, NULL, e);

	for (int more = 1; !rc && more;) {
		rc = does(w.folder, arg, e) || add_names(&w, e);
		more = rc ? 0 : step(&w, e);
		rc = rc || more < 0;
	}
	walk_done(&w);
	return rc ? -1 : 0;
}

/* --- processes -------------------------------------------------------------------------- */

struct pids {
	const char *file;
	pid_t *items; /* owned */
	size_t count, room;
};

static void add_pid(struct pids *p, pid_t pid)
{
	if (p->count == p->room) {
		p->room = p->room ? 2 * p->room : 64;
		p->items = mem_resize(p->items, p->room, sizeof(*p->items));
	}
	p->items[p->count++] = pid;
}

/* ENODEV is the answer of a cgroup that was removed.  A threaded one answers EOPNOTSUPP;
 * the list of the first domain above it has its processes. */
static int add_pids(int folder, void *arg, struct err *e)
{
	struct pids *p = arg;
	AUTO_CLOSE int fd = openat(folder, p->file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	struct err why = { 0 };
	size_t len;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_sys(e, "open %s", p->file);
	if (io_read_file(fd, p->file, PIDS_MAX, &text, &len, &why)) {
		if (why.sys == ENODEV || why.sys == EOPNOTSUPP)
			return 0;
		if (e)
			*e = why;
		return -1;
	}
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			add_pid(p, (pid_t)strtol(line, NULL, 10));
	return 0;
}

static bool is_threaded(int top)
{
	AUTO_CLOSE int fd = openat(top, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	char c;

	return fd >= 0 && read(fd, &c, 1) < 0 && errno == EOPNOTSUPP;
}

int cgroup_tree_pids(int top, pid_t **ret, size_t *ret_count, struct err *e)
{
	struct pids p = { .file = is_threaded(top) ? "cgroup.threads" : "cgroup.procs" };

	if (cgroup_tree_visit(top, add_pids, &p, e)) {
		free(p.items);
		return -1;
	}
	*ret = p.items ? p.items : mem_zeroed(1, sizeof(*p.items));
	*ret_count = p.count;
	return 0;
}

/* --- removal ---------------------------------------------------------------------------- */

/* Removes a folder.  Returns 1 if it has others in it, or processes, which is EBUSY of a
 * cgroup, and ENOTEMPTY elsewhere. */
static int remove_one(int parent, const char *name, struct err *e)
{
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return errno == EBUSY || errno == ENOTEMPTY
		       ? 1
		       : err_sys(e, "remove the cgroup '%.128s'", name);
}

/* Removes a folder that has no other in it any more. */
static int remove_last(int parent, const char *name, struct err *e)
{
	const int rc = remove_one(parent, name, e);

	return rc > 0 ? err_set(e, ERR_BUSY,
				"remove the cgroup '%.128s': it still has processes",
				name)
		      : rc;
}

/* Removes the cgroups of the deepest level up to the first that has more in it.  Returns 1
 * and the name of that one, allocated. */
static int remove_flat(const struct walk *w, char **ret_name, struct err *e)
{
	DIR *dir = list_folder(w->folder, e);
	int rc = 0;

	if (!dir)
		return -1;
	for (struct dirent *d; !rc && (d = readdir(dir));) {
		rc = is_below(d) ? remove_one(w->folder, d->d_name, e) : 0;
		if (rc > 0)
			*ret_name = text_copy(d->d_name);
	}
	(void)closedir(dir); /* it was only read */
	return rc;
}

static int go_down(struct walk *w, char *name, struct err *e)
{
	const int below = openat(w->folder, name, FOLDER);

	if (below >= 0)
		return push(w, below, name, e);
	AUTO_FREE char *lost = name;
	return errno == ENOENT ? 0 : err_sys(e, "open the cgroup '%.128s'", lost);
}

/* Does one step of a removal: down into a cgroup that has others, or up from an empty one,
 * which it then removes. */
static int remove_step(struct walk *w, struct err *e)
{
	char *name = NULL;
	const int rc = remove_flat(w, &name, e);

	if (rc)
		return rc < 0 ? -1 : go_down(w, name, e);
	AUTO_FREE char *own = w->levels[w->depth - 1].name;
	w->levels[w->depth - 1].name = NULL;
	if (own)
		return pop(w, e) || remove_last(w->folder, own, e) ? -1 : 0;
	drop_level(w); /* the top, which the caller removes */
	return 0;
}

int cgroup_tree_remove(int parent, const char *name, struct err *e)
{
	struct walk w = { .folder = -1 };
	int rc = remove_one(parent, name, e);

	if (rc <= 0)
		return rc;
	const int top = openat(parent, name, FOLDER);
	if (top < 0)
		return err_sys(e, "open the cgroup '%.128s'", name);
	rc = push(&w, top, NULL, e);
	while (!rc && w.depth)
		rc = remove_step(&w, e);
	walk_done(&w);
	return rc ? -1 : remove_last(parent, name, e);
}

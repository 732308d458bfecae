#include "rootfs-tools/layers/merged.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "archive/dir_names.h"
#include "base/err.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path_walk.h"
#include "store/store.h"

#define NAMES_MAX  (64u << 20) /* limit of the bytes of the names in one folder */
#define PATH_LIMIT 65536       /* limit of a path that links have lengthened */

/* Opens a path beneath a layer, by openat2(2); "" is the layer itself. */
static int open_below(int layer, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return sys_openat2(layer, *path ? path : ".", &how);
}

/* --- opening -------------------------------------------------------------------- */

int merged_open_layers(struct merged *m, int layers, const struct list *hexes,
		       struct err *e)
{
	*m = (struct merged){ .is_overlay = true, .has_owners = true };
	if (hexes->count > MERGED_LAYERS_MAX)
		return err_set(e, ERR_LIMIT, "more than %u layers", MERGED_LAYERS_MAX);
	for (size_t i = hexes->count; i-- > 0;) {
		AUTO_FREE char *path = text_format("%s/" STORE_FS, hexes->items[i]);
		int fd = open_below(layers, path, O_PATH | O_DIRECTORY);
		if (fd < 0)
			return err_sys(e, "open layer %.12s", hexes->items[i]);
		m->layers[m->count++] = fd;
	}
	return 0;
}

void merged_open_folder(struct merged *m, int folder)
{
	*m = (struct merged){ .layers = { folder }, .count = 1 };
}

void merged_open_layer(struct merged *m, int folder)
{
	*m = (struct merged){ .layers = { folder }, .count = 1, .has_owners = true };
}

void merged_done(struct merged *m)
{
	while (m->count > 0)
		own_close(&m->layers[--m->count]);
}

void merged_at_done(struct merged_at *at)
{
	free(at->path);
	free(at->live);
	*at = (struct merged_at){ 0 };
}

/* --- looking up ----------------------------------------------------------------- */

/* Reads the owner and mode that the layer keeps as data (rootfs-tools/layers/layers.h). */
static void read_owner(int fd, struct stat *st)
{
	unsigned uid, gid, mode;
	char text[64], more;
	ssize_t len = fd < 0 ? -1 :
			       fgetxattr(fd, "user.hutch.stat", text, sizeof(text) - 1);

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

/* Gives the root of the tree.  An image's root belongs to root, whatever a layer's
 * attribute says. */
int merged_root(const struct merged *m, struct merged_at *ret, struct err *e)
{
	*ret = (struct merged_at){ .path = text_copy(""),
				   .live = mem_zeroed(m->count + 1, sizeof(*ret->live)) };
	for (size_t i = 0; i < m->count; i++)
		ret->live[ret->live_count++] = i;
	ret->st.st_mode = S_IFDIR | 0755;
	if (m->count > 0 && fstat(m->layers[0], &ret->st) < 0) {
		merged_at_done(ret);
		return err_sys(e, "look at the root");
	}
	ret->st.st_uid = ret->st.st_gid = 0;
	if (m->has_owners && !m->is_overlay) {
		AUTO_CLOSE int fd = open_below(m->layers[0], "", O_RDONLY | O_DIRECTORY);
		read_owner(fd, &ret->st);
	}
	return 0;
}

static bool is_opaque(int fd)
{
	char value = 0;

	return fd >= 0 && fgetxattr(fd, "user.overlay.opaque", &value, 1) == 1 &&
	       value == 'y';
}

static void take(const struct merged *m, struct merged_at *at, const struct stat *st,
		 size_t layer, int readable)
{
	at->st = *st;
	at->layer = layer;
	if (m->has_owners)
		read_owner(readable, &at->st);
}

/* Looks up the path in one layer.  Returns 1 if lower layers must be looked up, too. */
static int look_in(const struct merged *m, size_t layer, struct merged_at *at,
		   bool *has_any, struct err *e)
{
	AUTO_CLOSE int fd = open_below(m->layers[layer], at->path, O_PATH);
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return 1;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "look at /%.300s", at->path);
	if (m->is_overlay && S_ISCHR(st.st_mode) && st.st_rdev == 0)
		return 0;
	if (*has_any && !S_ISDIR(st.st_mode))
		return 0;
	AUTO_CLOSE int readable = -1;
	if (m->has_owners && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
		readable = open_below(m->layers[layer], at->path, O_RDONLY | O_NONBLOCK);
	if (!*has_any)
		take(m, at, &st, layer, readable);
	*has_any = true;
	if (!S_ISDIR(st.st_mode))
		return 0;
	at->live[at->live_count++] = layer;
	return m->is_overlay && !is_opaque(readable);
}

int merged_look(const struct merged *m, const struct merged_at *folder, const char *name,
		struct merged_at *ret, struct err *e)
{
	struct merged_at at = { 0 };
	bool has_any = false;
	int goes_on = 1;

	if (strlen(name) > NAME_MAX)
		return 0;
	at.path = text_format("%s%s%s", folder->path, *folder->path ? "/" : "", name);
	at.live = mem_zeroed(folder->live_count + 1, sizeof(*at.live));
	for (size_t i = 0; i < folder->live_count && goes_on > 0; i++)
		goes_on = look_in(m, folder->live[i], &at, &has_any, e);
	if (goes_on < 0 || !has_any) {
		merged_at_done(&at);
		return goes_on < 0 ? -1 : 0;
	}
	*ret = at;
	return 1;
}

/* Reads a link's text into PATH_MAX bytes. */
static int read_link_text(const struct merged *m, const struct merged_at *at, char *to,
			  struct err *e)
{
	AUTO_CLOSE int fd = open_below(m->layers[at->layer], at->path, O_PATH);
	const ssize_t len = fd < 0 ? -1 : readlinkat(fd, "", to, PATH_MAX - 1);

	if (len < 0)
		return err_sys(e, "read the link /%.300s", at->path);
	to[len] = '\0';
	return 0;
}

int merged_read_link(const struct merged *m, const struct merged_at *at, char **ret,
		     struct err *e)
{
	char text[PATH_MAX];

	if (read_link_text(m, at, text, e) < 0)
		return -1;
	*ret = text_copy(text);
	return 0;
}

/* --- names ---------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_once(struct list *l)
{
	size_t kept = 0;

	if (l->count == 0)
		return;
	qsort(l->items, l->count, sizeof(*l->items), by_bytes);
	for (size_t i = 1; i < l->count; i++)
		if (strcmp(l->items[kept], l->items[i]) != 0)
			l->items[++kept] = l->items[i];
		else
			free(l->items[i]);
	l->count = kept + 1;
	l->items[l->count] = NULL;
}

static int add_names(const struct merged *m, size_t layer, const char *path,
		     struct list *to, struct err *e)
{
	AUTO_CLOSE int fd = open_below(m->layers[layer], path, O_RDONLY | O_DIRECTORY);
	struct dir_names dir_names = { 0 };
	const char *name;

	if (fd < 0 || dir_names_read(fd, NAMES_MAX, &dir_names) < 0) {
		int rc = err_sys(e, "list /%.300s", path);
		dir_names_done(&dir_names);
		return rc;
	}
	while ((name = dir_names_next(&dir_names)))
		list_add(to, name);
	dir_names_done(&dir_names);
	return 0;
}

int merged_names(const struct merged *m, const struct merged_at *folder, struct list *ret,
		 struct err *e)
{
	for (size_t i = 0; i < folder->live_count; i++)
		if (add_names(m, folder->live[i], folder->path, ret, e) < 0)
			return -1;
	sort_once(ret);
	return 0;
}

/* --- paths ---------------------------------------------------------------------- */

/* A walk through the tree. */
struct walk {
	const struct merged *m;
	struct merged_at *steps; /* owned; the folders from the root to the current one */
	size_t count, room;
	struct list missing;   /* the path's names after the last step */
	struct merged_at link; /* owned: the link that was found last */
	bool follows;	       /* a link at the end of the path is followed, too */
	struct err *e;	       /* borrowed */
};

static struct merged_at *here(struct walk *w)
{
	return &w->steps[w->count - 1];
}

static void walk_done(struct walk *w)
{
	while (w->count > 0)
		merged_at_done(&w->steps[--w->count]);
	free(w->steps);
	merged_at_done(&w->link);
	list_done(&w->missing);
}

static void push(struct walk *w, const struct merged_at *at)
{
	if (w->count == w->room) {
		w->room = w->room ? 2 * w->room : 16;
		w->steps = mem_resize(w->steps, w->room, sizeof(*w->steps));
	}
	w->steps[w->count++] = *at;
}

static int go_missing(struct walk *w, const char *name)
{
	list_add(&w->missing, name);
	return PATH_WALK_ON;
}

static int go_up(struct walk *w)
{
	if (w->missing.count > 0)
		own_free(&w->missing.items[--w->missing.count]);
	else if (w->count > 1)
		merged_at_done(&w->steps[--w->count]);
	return PATH_WALK_ON;
}

static int go_down(struct walk *w, const char *name, bool is_last)
{
	struct merged_at at;

	if (!S_ISDIR(here(w)->st.st_mode))
		return err_set(w->e, ERR_USAGE, "/%.300s is no folder", here(w)->path);
	const int is_there = merged_look(w->m, here(w), name, &at, w->e);
	if (is_there <= 0)
		return is_there < 0 ? -1 : go_missing(w, name);
	if (S_ISLNK(at.st.st_mode) && (w->follows || !is_last)) {
		merged_at_done(&w->link);
		w->link = at;
		return PATH_WALK_LINK;
	}
	push(w, &at);
	return PATH_WALK_ON;
}

/* Walks one name of the path.  If the walk stands at a file, "." stays there, and ".."
 * goes to the file's folder: a COPY destination is resolved like a text, not as by the
 * kernel. */
static int enter(void *context, const char *name, bool is_last)
{
	struct walk *w = context;

	if (!strcmp(name, "."))
		return PATH_WALK_ON;
	if (!strcmp(name, ".."))
		return go_up(w);
	return w->missing.count > 0 ? go_missing(w, name) : go_down(w, name, is_last);
}

static int read_link(void *context, const char *name, char *to)
{
	struct walk *w = context;

	(void)name;
	return read_link_text(w->m, &w->link, to, w->e);
}

static int go_root(void *context)
{
	struct walk *w = context;

	while (w->count > 1)
		merged_at_done(&w->steps[--w->count]);
	return PATH_WALK_ON;
}

static int walk_all(struct walk *w, const char *path)
{
	static const struct path_tree merged_tree = { enter, read_link, go_root };
	struct path_walk walk = { .tree = &merged_tree,
				  .context = w,
				  .rest_max = PATH_LIMIT };
	size_t len = strlen(path);

	while (len > 0 && path[len - 1] == '/') /* a slash after a link does not force the
						 * link to be followed */
		len--;
	AUTO_FREE char *names = text_format("%.*s", (int)len, path);
	const int result = path_walk(&walk, names);
	if (result == -ELOOP)
		return err_set(w->e, ERR_USAGE, "/%.300s: too many links", w->link.path);
	if (result == -ENAMETOOLONG)
		return err_set(w->e, ERR_LIMIT, "/%.300s: its links make too long a path",
			       w->link.path);
	return result;
}

int merged_resolve(const struct merged *m, const char *path, bool follows,
		   struct merged_at *ret, char **ret_missing, struct err *e)
{
	struct walk w = { .m = m, .follows = follows, .e = e };
	struct merged_at root;

	if (merged_root(m, &root, e) < 0)
		return -1;
	push(&w, &root);
	const int result = walk_all(&w, path);
	if (result == 0) {
		*ret_missing = list_join(&w.missing, 0, "/");
		*ret = w.steps[--w.count];
	}
	walk_done(&w);
	return result;
}

/* --- content -------------------------------------------------------------------- */

int merged_open(const struct merged *m, const struct merged_at *at, struct err *e)
{
	int fd = open_below(m->layers[at->layer], at->path, O_RDONLY | O_NONBLOCK);

	return fd < 0 ? err_sys(e, "open /%.300s", at->path) : fd;
}

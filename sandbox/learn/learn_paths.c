#include "sandbox/learn/learn_paths.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/utf8.h"
#include "policy/policy.h"
#include "sandbox/learn/learn_later.h"
#include "sandbox/monitor/trace_set.h"
#include "sandbox/plan/plan.h"

struct work {
	const struct learn_facts *facts;
	struct wishes *to;
};

void wishes_done(struct wishes *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->items[i].path);
	free(w->items);
	list_done(&w->secrets);
	list_done(&w->later);
	for (size_t i = 0; i < LEFT_COUNT; i++)
		list_done(&w->left[i]);
	*w = (struct wishes){ 0 };
}

void learn_list_secrets(const char *home, struct list *ret)
{
	static const char *const names[] = {
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass",
		".git-credentials", ".npmrc", ".pypirc", ".password-store", ".mozilla",
		".thunderbird", ".config/gcloud", ".config/gh", ".config/google-chrome",
		".config/chromium", ".local/share/keyrings", ".cargo/credentials.toml",
		".bash_history", ".python_history", ".zsh_history",
	};

	for (size_t i = 0; home && *home == '/' && home[1] && i < ARRAY_LEN(names); i++)
		list_addf(ret, "%s/%s", home, names[i]);
}

/* --- what there is already -------------------------------------------------------- */

/* Returns whether `path` is below `folder`.  Unlike path_below() of path.h,
 * takes every path as below "/". */
static bool is_below(const char *path, const char *folder)
{
	return !folder[1] || path_below(path, folder);
}

static bool covers(const struct step *s, const char *path)
{
	if (s->kind == STEP_ROOT || s->kind == STEP_SEAL || !s->target)
		return false;
	return s->kind == STEP_DIR ? !strcmp(path, s->target) : is_below(path, s->target);
}

bool learn_is_above(const struct plan *plain, const char *path)
{
	for (size_t i = 0; i < plain->count; i++)
		if (plain->steps[i].target && is_below(plain->steps[i].target, path))
			return true;
	return false;
}

/* --- what may not be shown whole -------------------------------------------------- */

static bool has_below(const struct list *l, const char *folder)
{
	for (size_t i = 0; i < l->count; i++)
		if (is_below(l->items[i], folder))
			return true;
	return false;
}

static bool is_in(const struct list *l, const char *path)
{
	for (size_t i = 0; i < l->count; i++)
		if (path_below(path, l->items[i]))
			return true;
	return false;
}

bool learn_is_shown(const struct plan *plain, const struct list *also, const char *path)
{
	for (size_t i = 0; i < plain->count; i++) {
		const struct step *s = &plain->steps[i];
		if (covers(s, path) && (s->kind != STEP_SCRATCH || !is_in(also, path)))
			return true;
	}
	return false;
}

static bool is_shown(const struct work *w, const char *path)
{
	return learn_is_shown(w->facts->plain, w->facts->also, path);
}

/* Returns whether `folder` is never shown to the sandbox as a whole, judged by this name
 * alone; a link or a bind mount may give the folder other names. */
static bool is_closed_as(const struct learn_facts *g, const char *folder)
{
	return !folder[1] || has_below(g->homes, folder) || has_below(g->own, folder) ||
	       has_below(g->secrets, folder) || is_in(g->secrets, folder);
}

static bool may_be_whole(const struct work *w, const char *folder)
{
	AUTO_FREE char *real = realpath(folder, NULL);

	return !is_closed_as(w->facts, folder) &&
	       (!real || !is_closed_as(w->facts, real)) &&
	       !learn_is_above(w->facts->plain, folder);
}

/* Returns whether the path, or the real path that it leads to, is in a folder of the
 * list. */
static bool is_really_in(const struct list *l, const char *path)
{
	AUTO_FREE char *real = realpath(path, NULL);

	return is_in(l, path) || (real && is_in(l, real));
}

/* --- one path --------------------------------------------------------------------- */

static void leave(struct work *w, enum learn_left why, const char *path)
{
	struct list *l = &w->to->left[why];

	for (size_t i = l->count > 64 ? l->count - 64 : 0; i < l->count; i++)
		if (!strcmp(l->items[i], path))
			return;
	list_add(l, path);
}

/* Returns whether a policy can name this path: a policy writes a mount as
 * SRC:DST:MODE, in JSON, so some characters are excluded. */
static bool can_be_said(const char *path)
{
	const size_t len = strlen(path);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)path[i] < ' ' || path[i] == ':' || path[i] == 0x7f)
			return false;
	return utf8_is_valid((const uint8_t *)path, len, false);
}

static void wish(struct work *w, const char *path, enum wish_mode mode, bool is_folder)
{
	struct wishes *to = w->to;

	if (is_really_in(w->facts->own, path))
		return leave(w, LEFT_OWN, path);
	if (policy_own_place(path))
		return leave(w, LEFT_KERNEL, policy_own_place(path));
	if (!can_be_said(path))
		return leave(w, LEFT_NAME, path);
	if (is_folder && mode != WISH_EMPTY && !may_be_whole(w, path)) {
		leave(w, LEFT_WIDE, path);
		mode = WISH_EMPTY;
	}
	if (to->count == to->room) {
		to->room = to->room ? 2 * to->room : 64;
		to->items = mem_resize(to->items, to->room, sizeof(*to->items));
	}
	to->items[to->count++] = (struct wish){ text_copy(path), mode, is_folder };
}

/* Adds the folder of `path` to the wishes, writable, so that the name can be made or
 * removed; but only if the user may write to that folder on the host. */
static void wish_folder_of(struct work *w, const char *path)
{
	AUTO_FREE char *folder = text_copy(path);
	char *slash = strrchr(folder, '/');
	struct stat st;

	slash[slash == folder] = '\0';
	if (is_shown(w, folder) || stat(folder, &st) < 0 ||
	    !S_ISDIR(st.st_mode) || access(folder, W_OK) < 0)
		return;
	if (may_be_whole(w, folder))
		wish(w, folder, WISH_WRITE, true);
	else
		leave(w, LEFT_MADE, path);
}

static void take_folder(struct work *w, const char *path, unsigned use)
{
	if (learn_is_above(w->facts->plain, path))
		return; /* the plan has paths below that folder, so the sandbox has the
			 * folder anyway, with files of its own */
	if (use & TRACE_SET_WRITE && access(path, W_OK) == 0)
		wish(w, path, WISH_WRITE, true);
	else if (use & TRACE_SET_READ)
		wish(w, path, WISH_READ, true);
	else
		wish(w, path, WISH_EMPTY, true);
}

static void take_file(struct work *w, const char *path, unsigned use)
{
	const bool is_written = use & (TRACE_SET_WRITE | TRACE_SET_CREATE) && access(path, W_OK) == 0;

	if (!is_written && access(path, R_OK) < 0 && access(path, X_OK) < 0)
		return leave(w, LEFT_CLOSED, path);
	wish(w, path, is_written ? WISH_WRITE : WISH_READ, false);
}

/* Returns the program that the first line of a script names, allocated; NULL:
 * the file is no script.  No trace shows this program, since the kernel opens
 * it itself (execve(2)). */
static char *interpreter_of(const char *path)
{
	char line[256];
	struct stat st;
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

	/* Only a regular file is opened to be read: opening another kind, such as a
	 * FIFO, can be noticed by other processes. */
	AUTO_CLOSE int place = open(path, O_PATH | O_CLOEXEC);
	if (place < 0 || fstat(place, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	AUTO_FREE char *again = text_format("/proc/self/fd/%d", place);
	AUTO_CLOSE int fd = open(again, flags);
	if (fd < 0)
		return NULL;
	const ssize_t len = io_read_full(fd, line, sizeof(line) - 1);
	line[len > 0 ? len : 0] = '\0';
	if (strncmp(line, "#!", 2) != 0)
		return NULL;
	const char *name = line + 2 + strspn(line + 2, " \t");
	return *name == '/' ? text_format("%.*s", (int)strcspn(name, " \t\r\n"), name) : NULL;
}

/* The most interpreters that are looked up in a row, where the interpreter of a
 * script is a script itself; the kernel follows no more than 5. */
#define SCRIPTS_DEEP 5

static void take_path(struct work *w, const char *path, unsigned use);

static void take_interpreters(struct work *w, const char *path)
{
	AUTO_FREE char *at = text_copy(path);
	char clean[TRACE_SET_PATH_MAX];

	for (int i = 0; i < SCRIPTS_DEEP; i++) {
		char *next = is_in(w->facts->autos, at) ? NULL : interpreter_of(at);
		if (!next)
			return;
		free(at);
		at = next;
		if (trace_set_join("", at, clean))
			take_path(w, clean, TRACE_SET_READ);
	}
}

static void take_path(struct work *w, const char *path, unsigned use)
{
	struct stat st;

	if (is_shown(w, path))
		return;
	if (is_in(w->facts->autos, path))
		return leave(w, LEFT_AUTO, path);
	const bool has_name = lstat(path, &st) == 0;
	if (use & TRACE_SET_PLACE || (use & TRACE_SET_REMOVE && has_name) ||
	    (use & TRACE_SET_CREATE && !has_name))
		wish_folder_of(w, path);
	/* A path that leads nowhere, such as a dangling link or one into a failed
	 * automount, needs nothing in the policy. */
	if (!has_name || stat(path, &st) < 0)
		return;
	if (use & TRACE_SET_EXECUTE)
		take_interpreters(w, path);
	if (S_ISDIR(st.st_mode))
		take_folder(w, path, use);
	else if (S_ISREG(st.st_mode))
		take_file(w, path, use);
	else
		leave(w, LEFT_SPECIAL, path);
}

/* --- together --------------------------------------------------------------------- */

/* Sorts paths so that those below a path come right behind it. */
static int by_path(const void *a, const void *b)
{
	const char *x = ((const struct wish *)a)->path, *y = ((const struct wish *)b)->path;

	while (*x && *x == *y) {
		x++;
		y++;
	}
	const int p = *x == '/' ? 1 : (unsigned char)*x, q = *y == '/' ? 1 : (unsigned char)*y;
	return p - q;
}

static void drop(struct wish *one)
{
	own_free(&one->path);
}

static void forget_dropped(struct wishes *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->count; i++)
		if (w->items[i].path)
			w->items[kept++] = w->items[i];
	w->count = kept;
}

static void merge_same(struct wishes *w)
{
	struct wish *last = NULL;

	for (size_t i = 0; i < w->count; i++) {
		struct wish *one = &w->items[i];
		if (!last || strcmp(last->path, one->path) != 0) {
			last = one;
			continue;
		}
		last->mode = one->mode > last->mode ? one->mode : last->mode;
		drop(one);
	}
	forget_dropped(w);
}

/* Drops a path if a folder above it is shown already, with the same rights or more.
 * An empty folder (WISH_EMPTY) shows nothing. */
static void drop_shown(struct wishes *w)
{
	const struct wish *readable = NULL, *writable = NULL;

	for (size_t i = 0; i < w->count; i++) {
		struct wish *one = &w->items[i];
		const bool reads = readable && path_below(one->path, readable->path);
		const bool writes = writable && path_below(one->path, writable->path);
		if (writes || (reads && one->mode <= WISH_READ))
			drop(one);
		else if (one->is_folder && one->mode == WISH_WRITE)
			writable = one;
		else if (one->is_folder && one->mode == WISH_READ)
			readable = one;
	}
	forget_dropped(w);
}

/* Drops an empty folder that has a shown path below it: the launch makes the
 * folder for that path anyway. */
static void drop_empty_above(struct wishes *w)
{
	for (size_t i = 0; i + 1 < w->count; i++)
		if (w->items[i].mode == WISH_EMPTY &&
		    path_below(w->items[i + 1].path, w->items[i].path))
			drop(&w->items[i]);
	forget_dropped(w);
}

static void tidy(struct wishes *w)
{
	if (w->count)
		qsort(w->items, w->count, sizeof(*w->items), by_path);
	merge_same(w);
	drop_shown(w);
}

static size_t depth_of(const char *path)
{
	size_t depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

static size_t deepest_below(const struct wishes *w, size_t bound)
{
	size_t deepest = 0;

	for (size_t i = 0; i < w->count; i++) {
		const size_t depth = depth_of(w->items[i].path);
		if (depth < bound && depth > deepest)
			deepest = depth;
	}
	return deepest;
}

/* Returns the length of the path of the folder that contains the wish's path. */
static size_t folder_len(const struct wish *one)
{
	return (size_t)(strrchr(one->path, '/') - one->path);
}

/* Replaces paths by their folder: those from `first` to `end` that are directly in
 * one folder and have this mode, if they are more than LEARN_TOGETHER.  The folder
 * takes the place of one of them, so that the list never grows; the others are below
 * it then, and tidy() drops them. */
static bool join_mode(struct work *w, size_t first, size_t end, enum wish_mode mode)
{
	struct wish *items = w->to->items, *last = NULL;
	const size_t depth = depth_of(items[first].path);
	size_t count = 0;

	for (size_t i = first; i < end; i++) {
		if (items[i].mode != mode || depth_of(items[i].path) != depth)
			continue;
		last = &items[i];
		count++;
	}
	if (count <= LEARN_TOGETHER)
		return false;
	AUTO_FREE char *folder = text_format("%.*s", (int)folder_len(last), last->path);
	if (!may_be_whole(w, folder))
		return false;
	free(last->path);
	*last = (struct wish){ text_copy(folder), mode, true };
	return true;
}

/* Returns the index behind the last path that is in the same folder as path number
 * `first`, or below that folder. */
static size_t end_of_folder(const struct wishes *w, size_t first)
{
	const size_t len = folder_len(&w->items[first]) + 1;
	size_t end = first + 1;

	while (end < w->count && !strncmp(w->items[end].path, w->items[first].path, len))
		end++;
	return end;
}

/* Where many paths of this depth are in one folder, replaces them by that folder
 * (join_mode()). */
static void join_depth(struct work *w, size_t depth)
{
	struct wishes *to = w->to;

	for (size_t i = 0; i < to->count;) {
		if (depth_of(to->items[i].path) != depth) {
			i++;
			continue;
		}
		const size_t end = end_of_folder(to, i);
		if (!join_mode(w, i, end, WISH_WRITE))
			(void)join_mode(w, i, end, WISH_READ);
		i = end;
	}
	tidy(to);
}

static void join_all(struct work *w)
{
	tidy(w->to);
	for (size_t depth = deepest_below(w->to, SIZE_MAX); depth > 1;
	     depth = deepest_below(w->to, depth))
		join_depth(w, depth);
	drop_empty_above(w->to);
}

static void cut(struct work *w)
{
	struct wishes *to = w->to;

	for (size_t i = LEARN_MOUNTS; i < to->count; i++) {
		list_add(&to->left[LEFT_MANY], to->items[i].path);
		drop(&to->items[i]);
	}
	forget_dropped(to);
	for (size_t i = 0; i < to->count; i++) {
		const struct wish *one = &to->items[i];
		if (is_really_in(w->facts->secrets, one->path))
			list_add(&to->secrets, one->path);
		AUTO_FREE char *later =
			one->mode != WISH_WRITE
				? NULL
				: learn_later(w->facts->later, one->path, one->is_folder);
		if (later)
			list_add(&to->later, later);
	}
}

void learn_paths(const struct learn_facts *facts, const struct trace_set *seen,
		 struct wishes *ret)
{
	struct work w = { facts, ret };

	*ret = (struct wishes){ 0 };
	for (size_t i = 0; i < seen->count; i++)
		take_path(&w, trace_set_text(seen, i), seen->paths[i].use);
	join_all(&w);
	cut(&w);
}

#include "executor/search/grep_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "executor/files/dir_entry.h"
#include "executor/search/grep.h"
#include "executor/search/nfa_match.h"

/* When a thread has collected this many bytes of names in a folder, it makes them a work
 * item, which any thread may take. */
#define PORTION ((size_t)4 << 10)
#define ENTRIES_ROOM ((size_t)32 << 10)

/* A work item for a thread: a folder to be read, or names of files in the folder that are
 * to be searched. */
struct work {
	struct work *below;
	char *names;	 /* owned; file names, each with a 0 behind it; NULL: the folder
			  * itself is to be read */
	size_t names_len;
	size_t path_len;
	char path[];	 /* the folder's path: "" or "a/b/" */
};

struct tree {
	const struct grep_wanted *wanted;
	int root;
	pthread_mutex_t lock;	/* protects all fields below */
	pthread_cond_t changed; /* signalled when a work item was added, or when no more
				 * will come */
	struct work *top;
	size_t waiting; /* the total size of the work items on the stack */
	unsigned busy;	/* the number of threads that have a work item now, and so may
			 * add more */
	struct grep_paths *found;
	bool is_over;
};

struct searcher {
	struct tree *tree;
	struct grep grep;
	char *entries;	       /* owned */
	struct grep_paths names; /* names of files in the current folder, which are still
				  * to be searched */
	struct work *folders;  /* work items for the current folder's subfolders, not on
			        * the stack yet */
	char *path;	       /* owned; a buffer for the path of the file that is
			        * searched */
	size_t path_room;
	uint64_t closed;
};

/* --- work ------------------------------------------------------------------- */

static struct work *work_new(const char *path, size_t len, const char *name)
{
	size_t more = strlen(name);
	struct work *w = mem_new(sizeof(*w) + len + more + 2);

	*w = (struct work){ .path_len = len + more + (more > 0) };
	memcpy(w->path, path, len);
	memcpy(w->path + len, name, more);
	memcpy(w->path + len + more, more ? "/" : "", more ? 2 : 1);
	return w;
}

static void work_free(struct work *w)
{
	free(w->names);
	free(w);
}

static size_t size_of(const struct work *w)
{
	return sizeof(*w) + w->path_len + w->names_len;
}

/* Adds a work item to the stack. The caller holds the lock. */
static void push(struct tree *t, struct work *w)
{
	if (t->is_over || t->waiting + size_of(w) > GREP_PATHS_MAX) {
		t->found->is_cut = true;
		work_free(w);
		return;
	}
	t->waiting += size_of(w);
	w->below = t->top;
	t->top = w;
	pthread_cond_signal(&t->changed);
}

/* Takes a work item from the stack, which the caller frees; waits if the stack is empty
 * while another thread may still add one. NULL: no more will come. */
static struct work *take(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	t->busy--;
	while (!t->top && t->busy > 0)
		pthread_cond_wait(&t->changed, &t->lock);
	struct work *w = t->top;
	if (w) {
		t->top = w->below;
		t->waiting -= size_of(w);
		t->busy++;
	} else {
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
	return w;
}

static bool is_late(struct tree *t)
{
	if (!t->wanted->is_late || !t->wanted->is_late(t->wanted->context))
		return false;
	pthread_mutex_lock(&t->lock);
	t->is_over = t->found->is_cut = true;
	for (struct work *w; (w = t->top);) {
		t->top = w->below;
		t->waiting -= size_of(w);
		work_free(w);
	}
	pthread_mutex_unlock(&t->lock);
	return true;
}

/* --- files ------------------------------------------------------------------ */

bool grep_is_of_kernel(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC);
}

static size_t make_path(struct searcher *k, const struct work *w, const char *name)
{
	size_t len = strlen(name);

	if (w->path_len + len + 1 > k->path_room) {
		k->path_room = 2 * (w->path_len + len + 1);
		k->path = mem_resize(k->path, k->path_room, 1);
	}
	memcpy(k->path, w->path, w->path_len);
	memcpy(k->path + w->path_len, name, len + 1);
	return w->path_len + len;
}

static void look_at(struct searcher *k, const struct work *w, int folder,
		    const char *name)
{
	const struct grep_wanted *wanted = k->tree->wanted;
	size_t len = make_path(k, w, name);

	if (wanted->wants && !wanted->wants(wanted->context, k->path))
		return;
	AUTO_CLOSE int fd = grep_open(folder, name);
	enum grep_end end = fd < 0 ? GREP_FAILED : grep_file(&k->grep, fd);
	/* A file that was removed, or replaced by a link, meanwhile does not count as
	 * unreadable. */
	k->closed += end == GREP_FAILED && errno != ENOENT && errno != ELOOP;
	if (end != GREP_FOUND)
		return;
	pthread_mutex_lock(&k->tree->lock);
	/* fails if there is no room; is_cut is then set */
	(void)grep_paths_add(k->tree->found, k->path, len);
	pthread_mutex_unlock(&k->tree->lock);
}

static void look_at_all(struct searcher *k, const struct work *w, int folder,
			struct grep_paths names)
{
	if (!names.bytes) /* NULL + 0 is undefined in C */
		return;
	for (const char *at = names.bytes, *end = at + names.len; at < end;
	     at += strlen(at) + 1)
		look_at(k, w, folder, at);
}

/* --- folders ---------------------------------------------------------------- */

static bool is_left_out(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]) ||
				  !strcmp(name, ".git"));
}

/* Makes the names collected so far a work item, so that another thread may search
 * them. */
static void hand_over(struct searcher *k, const struct work *w)
{
	struct work *more = work_new(w->path, w->path_len, "");

	more->names = mem_copy(k->names.bytes, k->names.len);
	more->names_len = k->names.len;
	pthread_mutex_lock(&k->tree->lock);
	push(k->tree, more);
	pthread_mutex_unlock(&k->tree->lock);
	k->names.len = 0;
}

static void on_entry(struct searcher *k, const struct work *w, int folder,
		     const struct dir_entry *d)
{
	unsigned char type;

	if (is_left_out(d->name))
		return;
	type = dir_entry_type(folder, d);
	if (type == DT_DIR) {
		struct work *below = work_new(w->path, w->path_len, d->name);
		below->below = k->folders;
		k->folders = below;
	} else if (type == DT_REG) {
		if (k->names.len > PORTION)
			hand_over(k, w);
		/* cannot fail: the names collected are a few KiB at most */
		(void)grep_paths_add(&k->names, d->name,
				     strlen(d->name));
	}
}

static void push_folders(struct searcher *k)
{
	if (!k->folders)
		return;
	pthread_mutex_lock(&k->tree->lock);
	for (struct work *w; (w = k->folders);) {
		k->folders = w->below;
		push(k->tree, w);
	}
	pthread_mutex_unlock(&k->tree->lock);
}

static void read_folder(struct searcher *k, const struct work *w, int folder)
{
	long n;

	k->names.len = 0;
	while ((n = syscall(SYS_getdents64, folder, k->entries, ENTRIES_ROOM)) > 0) {
		const struct dir_entry *d;
		for (char *at = k->entries; at < k->entries + n; at += d->len) {
			d = (const struct dir_entry *)(const void *)at;
			on_entry(k, w, folder, d);
		}
	}
	push_folders(k);
	look_at_all(k, w, folder, k->names);
}

static void do_work(struct searcher *k, const struct work *w)
{
	AUTO_CLOSE int folder =
		grep_open_folder(k->tree->root, w->path_len ? w->path : ".");

	if (folder < 0) {
		k->closed += errno != ENOENT && errno != ELOOP && errno != ENOTDIR;
		return;
	}
	if (w->names)
		look_at_all(k, w, folder, (struct grep_paths){ .bytes = w->names,
							       .len = w->names_len });
	else if (!grep_is_of_kernel(folder))
		read_folder(k, w, folder);
}

/* --- threads ---------------------------------------------------------------- */

static bool is_late_for(void *tree)
{
	return is_late(tree);
}

static void *work(void *tree)
{
	struct tree *t = tree;
	struct searcher k = { .tree = t };

	k.grep = (struct grep){ .matcher = nfa_match_new(t->wanted->prepared),
				.is_late = is_late_for,
				.context = t };
	k.entries = mem_new(ENTRIES_ROOM);
	for (struct work *w; (w = take(t));) {
		if (!is_late(t))
			do_work(&k, w);
		work_free(w);
	}
	pthread_mutex_lock(&t->lock);
	t->found->closed += k.closed;
	pthread_mutex_unlock(&t->lock);
	nfa_match_free(k.grep.matcher);
	grep_done(&k.grep);
	grep_paths_done(&k.names);
	free(k.entries);
	free(k.path);
	return NULL;
}

static size_t processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

/* Runs the search in this thread, and in `count` - 1 others, or fewer if no more can be
 * made. All count as busy from the start: otherwise the first could find no work and end
 * before the others have begun. */
static void run_threads(struct tree *t, size_t count)
{
	pthread_t threads[GREP_THREADS_MAX];
	size_t made = 0;

	t->busy = (unsigned)count;
	while (made + 1 < count && pthread_create(&threads[made], NULL, work, t) == 0)
		made++;
	pthread_mutex_lock(&t->lock);
	t->busy -= (unsigned)(count - made - 1);
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	(void)work(t);
	for (size_t i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
}

void grep_tree(int root, const struct grep_wanted *w, struct grep_paths *ret)
{
	struct tree t = { .wanted = w, .root = root, .found = ret };
	size_t count = w->threads ? w->threads : processors();

	pthread_mutex_init(&t.lock, NULL);
	pthread_cond_init(&t.changed, NULL);
	push(&t, work_new("", 0, ""));
	run_threads(&t, count < GREP_THREADS_MAX ? count : GREP_THREADS_MAX);
	pthread_cond_destroy(&t.changed);
	pthread_mutex_destroy(&t.lock);
}

#include "rootfs-tools/layers/ranged.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "rootfs-tools/layers/image_copy.h"
#include "rootfs-tools/layers/layers.h"
#include "rootfs-tools/layers/quota.h"
#include "sandbox/kernel/idmap.h"
#include "sandbox/root/jail.h"
#include "store/digest.h"
#include "store/lock.h"
#include "store/rm_tree.h"
#include "store/store.h"

#define LOCK "lock"

/* The copies of layers for one set of id maps; MAPS is the text of these maps. */
struct shop {
	const struct store *s;
	char *word;  /* owned: the text MAPS */
	struct idmaps maps;
	int folder;  /* owned: the folder ranged/MAPS */
};

static void shop_done(struct shop *w)
{
	own_close(&w->folder);
	own_free(&w->word);
}

static int open_folder(int parent, const char *name)
{
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* --- the folder and its lock ------------------------------------------------------ */

/* Opens a folder, which is made first if `may_make`.  -1 with errno ENOENT: the folder
 * does not exist, and `may_make` is false. */
static int open_made(int parent, const char *name, bool may_make)
{
	int fd = open_folder(parent, name);

	if (fd >= 0 || errno != ENOENT || !may_make)
		return fd;
	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return -1;
	return open_folder(parent, name);
}

static int lock_all(int ranged, struct err *e)
{
	AUTO_CLOSE int fd =
		openat(ranged, LOCK, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || lock_await(fd, LOCK_EX, "copying layers for --idmap ranges") < 0)
		return err_sys(e, "lock the layers for --idmap ranges");
	return fd_take(&fd);
}

/* --- removal ---------------------------------------------------------------------- */

struct removal {
	const struct shop *shop;
	int folder;
};

static void work_remove(const void *arg, int folder, int in, void *result)
{
	struct stat st;

	(void)arg, (void)in;
	rm_tree_remove(folder, STORE_FS);
	*(bool *)result = fstatat(folder, STORE_FS, &st, AT_SYMLINK_NOFOLLOW) < 0;
}

static int remove_it(void *arg, void *result, struct err *e)
{
	const struct removal *r = arg;
	const struct jail j = { .folder = r->folder,
				.in = -1,
				.uid = geteuid(),
				.gid = getegid(),
				.ranges = &r->shop->maps,
				.role = JAIL_REMOVES,
				.reads_all = true,
				.work = work_remove,
				.result_len = sizeof(bool) };

	return jail_run(&j, result, e);
}

static int empty(const struct shop *w, int folder, struct err *e)
{
	struct removal r = { w, folder };
	const struct worker_task task = { .name = "the process that removes a layer",
					  .work = remove_it,
					  .arg = &r,
					  .result_len = sizeof(bool),
					  .has_all_fds = true };
	bool is_gone = false;

	/* If a process was killed, its jailed child may still be ending, and may have
	 * made one more file while this process removed the others: the second try
	 * removes that file. */
	for (int i = 0; i < 2 && !is_gone; i++)
		if (worker_run(&task, &is_gone, e) < 0)
			return -1;
	return is_gone ? 0 : err_set(e, ERR_SYSTEM, "something in it cannot be removed");
}

static int cannot_remove(const struct shop *w, const char *name, struct err *e)
{
	(void)err_in(
		e,
		"remove a layer for --idmap ranges, whose files belong to subordinate ids");
	if (e && e->remedy[0])
		return -1;
	return err_remedy(e, "as root: rm -rf %.200s/" STORE_RANGED "/%s/%.80s",
			  w->s->path, w->word, name);
}

/* Removes the folder `name`, an unfinished or half-removed copy, whose name begins with
 * a dot.  The files in its subfolder fs belong to subordinate ids; the rest belongs to
 * the caller. */
static int remove_hidden(const struct shop *w, const char *name, struct err *e)
{
	AUTO_CLOSE int folder = open_folder(w->folder, name);
	bool has_files = folder >= 0 && unlinkat(folder, STORE_FS, AT_REMOVEDIR) < 0 &&
			 errno != ENOENT;

	if (has_files && empty(w, folder, e) < 0)
		return cannot_remove(w, name, e);
	rm_tree_remove(w->folder, name);
	return 0;
}

/* Removes a copy.  Renames it first, so that no process finds a half-removed copy.  If
 * this process is killed after that, the next sweep removes the rest. */
static int drop(const struct shop *w, const char *hex, struct err *e)
{
	AUTO_FREE char *gone = text_format(".gone-%s", hex);

	(void)remove_hidden(w, gone, NULL); /* a process that was killed before may
					     * have left a folder of that name */
	if (renameat(w->folder, hex, w->folder, gone) < 0)
		return err_sys(e, "remove layer %.12s for --idmap ranges", hex);
	return remove_hidden(w, gone, e);
}

/* --- all that is there ------------------------------------------------------------ */

static int names_in(int folder, struct list *ret, struct err *e)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	if (!dir)
		return err_sys(e, "list the layers for --idmap ranges");
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			list_add(ret, entry->d_name);
	(void)closedir(dir); /* close cannot lose data: the folder was only read */
	return 0;
}

/* Called for each copy.  -1: this call failed; the other copies are visited all the
 * same. */
typedef int visit(void *context, const struct shop *w, const char *name, struct err *e);

/* Calls the function for each copy of one MAPS.  The first error is returned. */
static int visit_one(const struct shop *w, visit *v, void *context, struct err *e)
{
	struct list names = { 0 };
	struct err ignored;
	int rc = names_in(w->folder, &names, e);

	for (size_t i = 0; i < names.count; i++)
		if (v(context, w, names.items[i], rc < 0 ? &ignored : e) < 0)
			rc = -1;
	list_done(&names);
	return rc;
}

static int visit_shop(const struct store *s, int ranged, const char *word, visit *v,
		      void *context, struct err *e)
{
	struct shop w = { .s = s, .word = text_copy(word), .folder = -1 };
	int rc = 0;

	if (idmaps_parse(word, &w.maps, NULL) == 0 &&
	    (w.folder = open_folder(ranged, word)) >= 0)
		rc = visit_one(&w, v, context, e);
	shop_done(&w);
	return rc;
}

static int visit_all(const struct store *s, int ranged, visit *v, void *context,
		     struct err *e)
{
	struct list words = { 0 };
	struct err ignored;
	int rc = names_in(ranged, &words, e);

	for (size_t i = 0; i < words.count; i++)
		if (visit_shop(s, ranged, words.items[i], v, context,
			       rc < 0 ? &ignored : e) < 0)
			rc = -1;
	list_done(&words);
	return rc;
}

/* Takes the lock and visits all copies.  Does nothing if the store has no copies. */
static int visit_locked(const struct store *s, visit *v, void *context, struct err *e)
{
	AUTO_CLOSE int ranged = open_folder(s->root, STORE_RANGED);

	if (ranged < 0)
		return errno == ENOENT ? 0
				       : err_sys(e, "open " STORE_RANGED " in the store");
	AUTO_CLOSE int lock = lock_all(ranged, e);
	return lock < 0 ? -1 : visit_all(s, ranged, v, context, e);
}

static bool about_of(const struct shop *w, const char *name, struct layer_about *ret)
{
	AUTO_CLOSE int folder = open_folder(w->folder, name);

	return folder >= 0 && layers_read_about(folder, ret);
}

/* --- making ----------------------------------------------------------------------- */

static int sweep_one(void *context, const struct shop *w, const char *name, struct err *e)
{
	(void)context;
	return name[0] == '.' ? remove_hidden(w, name, e) : 0;
}

static int stage(const struct shop *w, char **ret_name, struct err *e)
{
	unsigned long long random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_sys(e, "getrandom");
	*ret_name = text_format(".stage-%016llx", random);
	if (mkdirat(w->folder, *ret_name, 0700) < 0)
		return err_sys(e, "make a folder in the store");
	int fd = open_folder(w->folder, *ret_name);
	return fd < 0 ? err_sys(e, "open a folder in the store") : fd;
}

static int copy_it(void *arg, void *result, struct err *e)
{
	return image_copy_make(arg, result, e);
}

static int copy(const struct shop *w, const char *hex, int folder,
		struct layer_about *ret, struct err *e)
{
	AUTO_FREE char *path = text_format(STORE_LAYERS "/%s/" STORE_FS, hex);
	/* O_PATH: the folder's mode may keep its owner from reading it; the
	 * jail reads it all the same. */
	AUTO_CLOSE int from = openat(w->s->root, path,
				     O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int to = from < 0 ? -1 : open_made(folder, STORE_FS, true);
	struct image_copy r = { .ranges = &w->maps, .from = from, .to = to };
	const struct worker_task task = { .name = "the process that copies a layer",
					  .work = copy_it, .arg = &r,
					  .result_len = sizeof(struct image_copy_sum),
					  .has_all_fds = true };
	struct image_copy_sum sum;

	if (to < 0)
		return err_sys(e, "open layer %.12s", hex);
	if (worker_run(&task, &sum, e) < 0)
		return -1;
	*ret = (struct layer_about){ .entries = sum.entries, .bytes = sum.bytes,
				     .left_out = sum.left_out, .there = sum.there };
	return 0;
}

static int make_one(const struct shop *w, const char *hex, struct err *e)
{
	AUTO_FREE char *name = NULL;
	struct layer_about about;
	AUTO_CLOSE int folder = stage(w, &name, e);

	if (folder >= 0 && copy(w, hex, folder, &about, e) == 0 &&
	    layers_write_about(folder, &about, e) == 0) {
		if (renameat(w->folder, name, w->folder, hex) == 0)
			return 0;
		(void)err_sys(e, "put layer %.12s into the store", hex);
	}
	(void)err_in(e, "prepare layer %.12s for --idmap ranges", hex);
	if (folder >= 0)
		(void)remove_hidden(w, name, NULL); /* if this fails, the next sweep
						     * removes it */
	return -1;
}

static void find_missing(const struct shop *w, const struct list *hexes, struct list *ret,
			 struct ranged_todo *ret_todo)
{
	*ret_todo = (struct ranged_todo){ 0 };
	for (size_t i = 0; i < hexes->count; i++) {
		struct layer_about about = { 0 };
		struct digest d;
		if (about_of(w, hexes->items[i], &about))
			continue;
		memcpy(d.hex, hexes->items[i], sizeof(d.hex));
		(void)layers_has(w->s, &d, &about); /* if this fails, the copying
						     * reports it */
		list_add(ret, hexes->items[i]);
		ret_todo->layers++;
		ret_todo->entries += about.entries;
		ret_todo->bytes += about.bytes;
	}
}

/* The list may name a layer twice, so each copy is looked up just before it is made. */
static int make_missing(const struct shop *w, const struct list *hexes, struct err *e)
{
	struct layer_about about;

	for (size_t i = 0; i < hexes->count; i++)
		if (!about_of(w, hexes->items[i], &about) &&
		    make_one(w, hexes->items[i], e) < 0)
			return -1;
	return 0;
}

static int make_all(const struct shop *w, const struct list *hexes,
		    void (*begins)(const struct ranged_todo *), struct err *e)
{
	struct list missing = { 0 };
	struct ranged_todo todo;
	int rc = 0;

	find_missing(w, hexes, &missing, &todo);
	if (missing.count > 0)
		(void)visit_one(w, sweep_one, NULL, NULL); /* leftovers that stay do no
							    * harm */
	if (missing.count > 0 && quota_room(w->s) < todo.bytes)
		rc = quota_is_full(w->s, e);
	else if (missing.count > 0 && begins)
		begins(&todo);
	if (rc == 0)
		rc = make_missing(w, &missing, e);
	list_done(&missing);
	return rc;
}

int ranged_make(const struct store *s, const struct idmaps *maps,
		const struct list *hexes, void (*begins)(const struct ranged_todo *),
		struct err *e)
{
	AUTO_CLOSE int ranged = open_made(s->root, STORE_RANGED, true);

	if (ranged < 0)
		return err_sys(e, "open " STORE_RANGED " in the store");
	AUTO_CLOSE int lock = lock_all(ranged, e);
	if (lock < 0)
		return -1;
	struct shop w = { .s = s, .word = idmaps_print(maps), .maps = *maps };
	w.folder = open_made(ranged, w.word, true);
	int rc = w.folder < 0 ? err_sys(e, "open " STORE_RANGED " in the store")
			      : make_all(&w, hexes, begins, e);
	shop_done(&w);
	return rc;
}

/* --- what others want to know ------------------------------------------------------- */

static int add_bytes(void *context, const struct shop *w, const char *name, struct err *e)
{
	struct layer_about about = { 0 };

	(void)e;
	if (about_of(w, name, &about))
		*(uint64_t *)context += about.bytes;
	return 0;
}

uint64_t ranged_bytes(const struct store *s)
{
	AUTO_CLOSE int ranged = open_folder(s->root, STORE_RANGED);
	uint64_t bytes = 0;

	if (ranged >= 0)
		(void)visit_all(s, ranged, add_bytes, &bytes, NULL);
	return bytes;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_needed(const struct list *sorted, const char *hex)
{
	return sorted->count && bsearch(&hex, sorted->items, sorted->count,
					sizeof(*sorted->items), compare);
}

static int collect_one(void *context, const struct shop *w, const char *name,
		       struct err *e)
{
	struct ranged_collecting *c = context;
	struct layer_about about = { 0 };

	if (is_needed(c->needed, name))
		return 0;
	(void)about_of(w, name, &about); /* on failure the size is not counted */
	c->count += name[0] != '.';
	c->bytes += about.bytes;
	if (c->only_looks)
		return 0;
	return name[0] == '.' ? remove_hidden(w, name, e) : drop(w, name, e);
}

int ranged_collect(const struct store *s, struct ranged_collecting *c, struct err *e)
{
	return visit_locked(s, collect_one, c, e);
}

static int remove_one(void *context, const struct shop *w, const char *name,
		      struct err *e)
{
	return strcmp(name, context) ? 0 : drop(w, name, e);
}

int ranged_remove(const struct store *s, const char *hex, struct err *e)
{
	return visit_locked(s, remove_one, (void *)hex, e);
}

/* Compares a copy with its file `about`.  Returns 1 if the copy is unchanged, 0 if it
 * has changed, -1 if it could not be read. */
static int compare_with_about(const struct shop *w, const char *hex, struct err *e)
{
	AUTO_CLOSE int folder = open_folder(w->folder, hex);
	AUTO_CLOSE int fs =
		folder < 0 ? -1
			   : openat(folder, STORE_FS,
				    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct layer_about about;
	struct count is;

	if (fs < 0 || !layers_read_about(folder, &about)) {
		(void)err_set(e, ERR_NOT_FOUND, "its folder or its record is missing");
		return 0;
	}
	const struct counting c = { .folder = folder,
				    .below = STORE_FS,
				    .ranges = &w->maps };
	if (count_in_jail(&c, &is, e) < 0)
		return -1;
	if (is.entries == about.there.entries && is.bytes == about.there.bytes &&
	    is.sum == about.there.sum)
		return 1;
	(void)err_set(e, ERR_REFUSED, "names, modes, sizes or times in it have changed");
	return 0;
}

static int verify_one(void *context, const struct shop *w, const char *name,
		      struct err *e)
{
	struct ranged_verifying *v = context;
	struct err why = { 0 };

	(void)e;
	if (!digest_is_hex(name))
		return 0;
	v->count++;
	int is_right = compare_with_about(w, name, &why);
	if (is_right <= 0)
		v->on_wrong(v->context, w->word, name, is_right == 0, &why);
	return 0;
}

int ranged_verify(const struct store *s, struct ranged_verifying *v, struct err *e)
{
	AUTO_CLOSE int ranged = open_folder(s->root, STORE_RANGED);

	if (ranged < 0)
		return errno == ENOENT ? 0
				       : err_sys(e, "open " STORE_RANGED " in the store");
	return visit_all(s, ranged, verify_one, v, e);
}

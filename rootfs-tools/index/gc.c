#include "rootfs-tools/index/gc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "rootfs-tools/index/images.h"
#include "rootfs-tools/index/store_index.h"
#include "rootfs-tools/layers/layers.h"
#include "rootfs-tools/layers/ranged.h"
#include "store/lock.h"
#include "store/refs.h"
#include "store/rm_tree.h"
#include "store/store.h"

struct collecting {
	const struct store *s;
	bool only_looks;
	struct list layers, blobs; /* digests of the layers and blobs that some image
				    * needs, hexadecimal */
	bool keeps_blobs, keeps_layers; /* an image cannot be read, so any blob or layer
					 * may belong to it: all of them stay */
	struct collected *done;
};

/* --- images -------------------------------------------------------------------- */

static bool is_step(const struct reference *r)
{
	return !strcmp(r->registry, REFERENCE_BUILDS) &&
	       !strcmp(r->repository, REFERENCE_STEPS);
}

static bool has_name(const struct store_index *c, size_t image)
{
	for (size_t i = 0; i < c->name_count; i++)
		if (c->names[i].image == image && !is_step(&c->names[i].reference))
			return true;
	return false;
}

bool gc_is_used(const struct store *s, const struct digest *image)
{
	AUTO_CLOSE int images = store_folder(s, STORE_IMAGES, NULL);
	AUTO_CLOSE int fd =
		images < 0 ? -1
			   : openat(images, image->hex,
				    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && lock_take(fd, LOCK_EX | LOCK_NB) < 0;
}

/* Removes an image unless a sandbox uses the image.  Returns 1 if the image has been
 * removed or, with `only_looks`, would be. */
static int drop_image(struct collecting *g, const struct store_index_image *image,
		      struct err *e)
{
	int is_removed;

	if (g->only_looks)
		is_removed = !gc_is_used(g->s, &image->digest);
	else if (launch_config_remove_unused(g->s, &image->digest, &is_removed, e) < 0)
		return -1;
	g->done->images += (size_t)is_removed;
	g->done->used += !is_removed;
	return is_removed;
}

static void need(struct collecting *g, const struct store_index_image *image)
{
	const struct launch_config *r = &image->launch_config;
	struct manifest m = { 0 };

	list_add(&g->blobs, image->digest.hex);
	if (r->config.hex[0])
		list_add(&g->blobs, r->config.hex);
	for (size_t i = 0; i < r->layers.count; i++)
		list_add(&g->layers, r->layers.items[i]);
	/* A manifest that is damaged does not say which blobs are its layers. */
	g->keeps_layers |= image->is_broken;
	if (image->is_broken || images_read(g->s, &image->digest, &m, NULL) < 0) {
		g->keeps_blobs = true;
		return;
	}
	list_add(&g->blobs, m.config.digest.hex);
	for (size_t i = 0; i < m.layer_count; i++)
		list_add(&g->blobs, m.layers[i].digest.hex);
	manifest_done(&m);
}

static int drop_steps(struct collecting *g, const struct store_index *c, struct err *e)
{
	for (size_t i = 0; i < c->name_count && !g->only_looks; i++)
		if (is_step(&c->names[i].reference) &&
		    refs_remove(g->s, &c->names[i].reference, e) < 0)
			return -1;
	return 0;
}

static int drop_images(struct collecting *g, const struct store_index *c, struct err *e)
{
	for (size_t i = 0; i < c->image_count; i++) {
		int is_dropped = has_name(c, i) ? 0 : drop_image(g, &c->images[i], e);
		if (is_dropped < 0)
			return -1;
		if (!is_dropped)
			need(g, &c->images[i]);
	}
	return 0;
}

/* --- layers and blobs ---------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_needed(const struct list *sorted, const char *hex)
{
	return sorted->count && bsearch(&hex, sorted->items, sorted->count,
					sizeof(*sorted->items), compare);
}

/* Removes a layer.  Renames it into tmp first, so that no process finds a half-removed
 * layer.  If this process is killed after that, the next sweep removes the rest. */
static int drop_layer(struct collecting *g, const char *hex, struct err *e)
{
	AUTO_FREE char *gone = text_format("gone-%s", hex);
	struct layer_about about = { 0 };
	struct digest d;

	memcpy(d.hex, hex, sizeof(d.hex));
	(void)layers_has(g->s, &d, &about); /* on failure the size is not counted */
	g->done->layers++;
	g->done->bytes += about.bytes;
	if (g->only_looks)
		return 0;
	AUTO_CLOSE int layers = store_folder(g->s, STORE_LAYERS, e);
	AUTO_CLOSE int tmp = layers < 0 ? -1 : store_folder(g->s, STORE_TMP, e);
	if (tmp < 0)
		return -1;
	rm_tree_remove(tmp, gone); /* a process that was killed before may have left a
				    * folder of that name */
	if (renameat(layers, hex, tmp, gone) < 0)
		return err_sys(e, "remove layer %.12s", hex);
	rm_tree_remove(tmp, gone);
	return 0;
}

static int drop_file(struct collecting *g, int folder, const char *name, size_t *count,
		     struct err *e)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "stat %s in the store", name);
	if (!g->only_looks && unlinkat(folder, name, 0) < 0)
		return err_sys(e, "remove %s from the store", name);
	g->done->bytes += (uint64_t)st.st_size;
	(*count)++;
	return 0;
}

static int drop_layers(struct collecting *g, struct err *e)
{
	struct list files = { 0 };
	int rc = store_index_files(g->s, STORE_LAYERS, &files, e);

	for (size_t i = 0; i < files.count && rc == 0 && !g->keeps_layers; i++)
		if (!is_needed(&g->layers, files.items[i]))
			rc = drop_layer(g, files.items[i], e);
	list_done(&files);
	return rc;
}

/* Removes the copies of layers for --idmap ranges.  Their files belong to subordinate
 * ids, so only a process that has these ids can remove them. */
static int drop_ranged(struct collecting *g, struct err *e)
{
	struct ranged_collecting c = { .needed = &g->layers,
				       .only_looks = g->only_looks };
	int rc = g->keeps_layers ? 0 : ranged_collect(g->s, &c, e);

	g->done->ranged += c.count;
	g->done->bytes += c.bytes;
	return rc;
}

static int drop_blobs(struct collecting *g, struct err *e)
{
	struct list files = { 0 };
	AUTO_CLOSE int blobs = store_folder(g->s, STORE_BLOBS, e);
	int rc = blobs < 0 ? -1 : store_index_files(g->s, STORE_BLOBS, &files, e);

	for (size_t i = 0; i < files.count && rc == 0 && !g->keeps_blobs; i++)
		if (!is_needed(&g->blobs, files.items[i]))
			rc = drop_file(g, blobs, files.items[i], &g->done->blobs, e);
	list_done(&files);
	return rc;
}

/* --- what was left over -------------------------------------------------------- */

/* Removes files of `folder` whose names begin with `begin`: partial blobs that no
 * process has locked, and unfinished links in names/.  A process that makes a name
 * holds the store's lock, so all such links are leftovers. */
static int drop_matching(struct collecting *g, const char *folder, const char *begin,
			 struct err *e)
{
	int fd = store_folder(g->s, folder, e);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int rc = 0;

	if (fd < 0)
		return -1;
	if (!dir) {
		own_close(&fd);
		return err_sys(e, "read %s in the store", folder);
	}
	while (rc == 0 && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, begin, strlen(begin)) && entry->d_name[1] &&
		    strcmp(entry->d_name, ".."))
			rc = drop_file(g, fd, entry->d_name, &g->done->partial, e);
	(void)closedir(dir); /* close cannot lose data: the folder was only read */
	return rc;
}

/* Removes abandoned stages: making a new stage does so as a side effect. */
static int sweep(struct collecting *g, struct err *e)
{
	AUTO_FREE char *name = NULL;
	AUTO_CLOSE int tmp = store_folder(g->s, STORE_TMP, e);

	if (tmp < 0)
		return -1;
	if (g->only_looks)
		return 0;
	AUTO_CLOSE int stage = store_stage(g->s, &name, e);
	if (stage < 0)
		return -1;
	(void)unlinkat(tmp, name, AT_REMOVEDIR);
	return 0;
}

static int gc_all(struct collecting *g, const struct store_index *c, struct err *e)
{
	if (drop_steps(g, c, e) < 0 || drop_images(g, c, e) < 0)
		return -1;
	if (g->layers.count)
		qsort(g->layers.items, g->layers.count, sizeof(char *), compare);
	if (g->blobs.count)
		qsort(g->blobs.items, g->blobs.count, sizeof(char *), compare);
	if (drop_layers(g, e) < 0 || drop_blobs(g, e) < 0 ||
	    drop_matching(g, STORE_TMP, STORE_PARTIAL, e) < 0 ||
	    drop_matching(g, STORE_NAMES, ".", e) < 0)
		return -1;
	/* The copies for --idmap ranges come last: if this process cannot remove them,
	 * all else is removed nevertheless. */
	return sweep(g, e) < 0 ? -1 : drop_ranged(g, e);
}

int collect(const struct store *s, bool only_looks, struct collected *ret, struct err *e)
{
	struct collected done = { 0 };
	struct collecting g = { .s = s, .only_looks = only_looks, .done = &done };
	struct store_index c;

	if (store_index_take(s, &c, e) < 0)
		return -1;
	int rc = gc_all(&g, &c, e);
	store_index_done(&c);
	list_done(&g.layers);
	list_done(&g.blobs);
	*ret = done;
	return rc;
}

/* Layers of earlier builds.  A layer's key is the digest of all of its inputs;
 * the image "build.invalid/cache:KEY" has that layer as its last one.  RFC 2606
 * keeps .invalid free of hosts, so the name cannot mean a registry. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "rootfs-tools/build/builder.h"
#include "rootfs-tools/index/images.h"
#include "rootfs-tools/layers/blobs.h"
#include "rootfs-tools/layers/layers.h"
#include "store/reference.h"
#include "store/refs.h"

void cache_add(struct hash *key, const char *text)
{
	hash_add(key, text, strlen(text) + 1);
}

struct hash *cache_key(const struct making *m, const char *what)
{
	struct hash *key = hash_new();
	AUTO_FREE char *state = image_config_state(&m->config);
	AUTO_FREE char *newest = text_format("%lld", (long long)m->b->newest);

	cache_add(key, "hutch build 1");
	cache_add(key, what);
	cache_add(key, state);
	cache_add(key, newest);
	return key;
}

void cache_name(const char *what, const struct digest *key, struct reference *ret)
{
	*ret = (struct reference){ .registry = REFERENCE_BUILDS };
	(void)snprintf(ret->repository, sizeof(ret->repository), "%s", what);
	(void)snprintf(ret->tag, sizeof(ret->tag), "%s", key->hex);
}

static void add_layer(struct making *m, const char *layer, const char *diff_id)
{
	list_add(&m->config.layers, layer);
	list_add(&m->config.diff_ids, diff_id);
}

/* Returns whether the image `found` has the layers of the stage and one more, which
 * then is the cached layer. */
static bool is_next(const struct image_config *ours, const struct image_config *found)
{
	size_t count = ours->diff_ids.count;

	if (found->diff_ids.count != count + 1)
		return false;
	for (size_t i = 0; i < count; i++)
		if (strcmp(ours->diff_ids.items[i], found->diff_ids.items[i]) != 0)
			return false;
	return true;
}

int cache_find(struct making *m, const struct digest *key, const char *history,
	       struct err *e)
{
	struct image_config found = { 0 };
	struct reference name;
	struct digest image;
	struct err none;

	(void)e;
	cache_name("cache", key, &name);
	if (m->b->options->ignores_cache ||
	    refs_get(&m->b->store, &name, &image, &none) < 0)
		return 0;
	/* A cached image that cannot be read is ignored: its layer is built again. */
	if (image_config_read(&m->b->store, &image, &found, &none) < 0)
		return 0;
	bool fits = is_next(&m->config, &found);
	/* The creation time of the cached layer is kept, so that equal builds
	 * give equal images. */
	if (fits) {
		size_t last = found.layers.count - 1;
		add_layer(m, found.layers.items[last], found.diff_ids.items[last]);
		free(m->config.created);
		m->config.created = found.created;
		found.created = NULL;
		image_config_add_history(&m->config, history, true);
	}
	image_config_done(&found);
	return fits;
}

int cache_keep(struct making *m, struct blob *blob, const struct digest *key,
	       const char *history, struct err *e)
{
	struct digest layer, diff_id;
	struct layer_about about;
	struct reference name;

	if (blob_commit(blob, UINT64_MAX, &layer, e) < 0)
		return -1;
	AUTO_CLOSE int fd = blobs_open(&m->b->store, &layer, e);
	/* The layer's blob is an uncompressed tar, so the blob's digest is also the
	 * tar's digest. */
	if (fd < 0 ||
	    layers_unpack(&m->b->store, fd, &layer, NULL, &diff_id, &about, e) < 0)
		return -1;
	add_layer(m, layer.hex, layer.hex);
	image_config_touch(&m->config, m->b->now);
	image_config_add_history(&m->config, history, true);
	AUTO_FREE char *config = image_config_print(&m->config);
	cache_name("cache", key, &name);
	return images_make(&m->b->store, config, &m->config.layers, &m->config.diff_ids,
			   &name, NULL, e);
}

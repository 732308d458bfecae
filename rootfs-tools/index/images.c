#include "rootfs-tools/index/images.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/worker.h"
#include "rootfs-tools/index/document.h"
#include "rootfs-tools/layers/blobs.h"
#include "rootfs-tools/layers/layers.h"
#include "store/launch_config.h"
#include "store/refs.h"
#include "store/store.h"

/* Two layers at a time, so that one can be read and decompressed while the other is
 * written. */
#define UNPACKERS 2

/* --- unpacking ----------------------------------------------------------------- */

struct unpacking {
	const struct store *store;
	const struct manifest *manifest;
	const struct list *diff_ids;
	struct layer_about *abouts; /* owned; the properties of each layer */
	struct worker running[UNPACKERS];
	size_t first, next; /* the layers from `first` to before `next` are being
			     * unpacked */
};

static int unpack_layer(void *arg, void *result, struct err *e)
{
	const struct unpacking *u = arg;
	struct digest diff_id;

	memcpy(diff_id.hex, u->diff_ids->items[u->next], sizeof(diff_id.hex));
	AUTO_CLOSE int blob =
		blobs_open(u->store, &u->manifest->layers[u->next].digest, e);
	if (blob < 0)
		return -1;
	return layers_unpack(u->store, blob, &diff_id, NULL, NULL, result, e);
}

static int finish_first(struct unpacking *u, struct err *e)
{
	size_t layer = u->first++;

	if (worker_wait(&u->running[layer % UNPACKERS], &u->abouts[layer], e) == 0)
		return 0;
	return err_in(e, "layer %zu of %zu", layer + 1, u->diff_ids->count);
}

/* Unpacks all layers.  The first error is returned; workers that still run are waited
 * for. */
static int unpack_all_layers(struct unpacking *u, struct err *e)
{
	const struct worker_task task = { .name = "the process that unpacks it",
					  .work = unpack_layer, .arg = u,
					  .result_len = sizeof(struct layer_about),
					  .has_all_fds = true };
	struct err later;
	int rc = 0;

	for (; u->next < u->diff_ids->count && rc == 0; u->next += rc == 0) {
		if (u->next - u->first == UNPACKERS)
			rc = finish_first(u, e);
		if (rc == 0)
			rc = worker_start(&task, &u->running[u->next % UNPACKERS], e);
	}
	while (u->first < u->next)
		if (finish_first(u, rc < 0 ? &later : e) < 0)
			rc = -1;
	return rc;
}

/* --- an image ------------------------------------------------------------------ */

static int check_size(const struct store *s, const struct descriptor *d, const char *what,
		      struct err *e)
{
	uint64_t size;

	if (!blobs_has(s, &d->digest, &size))
		return err_set(e, ERR_NOT_FOUND, "%s, blob %.12s, is not in the store",
			       what, d->digest.hex);
	if (size == d->size)
		return 0;
	return err_set(e, ERR_REFUSED, "%s has %llu bytes, and the manifest says %llu",
		       what, (unsigned long long)size, (unsigned long long)d->size);
}

static int check_layers(const struct store *s, const struct manifest *m,
			const struct list *diff_ids, struct err *e)
{
	if (diff_ids->count != m->layer_count)
		return err_set(e, ERR_REFUSED,
			       "the manifest has %zu layers, and the image's "
			       "configuration %zu",
			       m->layer_count, diff_ids->count);
	for (size_t i = 0; i < m->layer_count; i++) {
		AUTO_FREE char *what = text_format("layer %zu", i + 1);
		if (check_size(s, &m->layers[i], what, e) < 0)
			return -1;
	}
	return 0;
}

static int read_config(const struct store *s, const struct manifest *m,
		       struct launch_config *r, struct list *diff_ids, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	if (check_size(s, &m->config, "the image's configuration", e) < 0 ||
	    blobs_read(s, &m->config.digest, CONFIG_MAX, &text, &len, e) < 0)
		return -1;
	r->config = m->config.digest;
	return config_parse(text, len, r, diff_ids, e);
}

int images_read(const struct store *s, const struct digest *manifest,
		struct manifest *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	enum document_kind kind;
	size_t len;

	if (blobs_read(s, manifest, MANIFEST_MAX, &text, &len, e) < 0 ||
	    document_kind(text, len, NULL, &kind, e) < 0)
		return -1;
	return manifest_parse(text, len, ret, e);
}

/* Chooses the layers to be mounted.  overlayfs does not accept the same layer twice; if
 * a layer occurs twice, as empty ones do, only the upper one is mounted, which has the
 * same effect.  Layers below an opaque root are not visible and left out. */
static void choose_lowers(struct unpacking *u, struct launch_config *r)
{
	struct list upside_down = { 0 };

	for (size_t i = u->diff_ids->count; i > 0; i--) {
		if (!list_has(&upside_down, u->diff_ids->items[i - 1]))
			list_add(&upside_down, u->diff_ids->items[i - 1]);
		if (u->abouts[i - 1].hides_all)
			break;
	}
	for (size_t i = upside_down.count; i > 0; i--)
		list_add(&r->layers, upside_down.items[i - 1]);
	for (size_t i = 0; i < u->diff_ids->count; i++)
		r->size += u->abouts[i].bytes;
	list_done(&upside_down);
}

static int finish(const struct store *s, const struct digest *manifest,
		  const struct manifest *m, struct err *e)
{
	struct launch_config r;
	struct list diff_ids = { 0 };
	struct unpacking u = { .store = s, .manifest = m, .diff_ids = &diff_ids };

	launch_config_init(&r);
	int rc = read_config(s, m, &r, &diff_ids, e);
	if (rc == 0)
		rc = check_layers(s, m, &diff_ids, e);
	u.abouts = mem_zeroed(diff_ids.count, sizeof(*u.abouts));
	if (rc == 0)
		rc = unpack_all_layers(&u, e);
	if (rc == 0) {
		choose_lowers(&u, &r);
		rc = launch_config_put(s, manifest, &r, e);
	}
	free(u.abouts);
	list_done(&diff_ids);
	launch_config_done(&r);
	return rc;
}

int images_finish(const struct store *s, const struct digest *manifest,
		  const struct reference *r, struct err *e)
{
	struct manifest m = { 0 };

	int rc = images_read(s, manifest, &m, e);
	if (rc == 0)
		rc = finish(s, manifest, &m, e);
	if (rc == 0 && r)
		rc = refs_put(s, r, manifest, e);
	manifest_done(&m);
	return rc;
}

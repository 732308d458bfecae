/* images -- what is in the store as blobs becomes an image that can be launched.
 *
 * Formats: OCI image specification 1.1 (image-spec/manifest.md, config.md) and docker's
 * schema 2; schema 1 is refused.  What a document is goes by the mediaType that its
 * descriptor says and by what it has in it, and both must agree (CVE-2021-41190). */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "store/digest.h"

struct err;
struct recipe;
struct reference;
struct store;

#define MANIFEST_MAX	(4u << 20) /* bytes; the registries' own limit */
#define CONFIG_MAX	(4u << 20)
#define IMAGE_LAYERS_MAX 500

struct descriptor {
	char media_type[128];
	struct digest digest;
	uint64_t size;
};

struct manifest {
	struct descriptor config;
	struct descriptor *layers; /* owned; the lowest one first */
	size_t layer_count;
};

/* Of an index: the manifest for a platform, such as "linux/amd64" or "linux/arm64/v8";
 * NULL: this machine's. */
struct platform {
	char os[32], architecture[32], variant[32];
};

/* What a document says it is.  Refuses what is neither, or both. */
enum document_kind { DOCUMENT_MANIFEST, DOCUMENT_INDEX };
int document_kind(const char *text, size_t len, const char *media_type,
		  enum document_kind *ret, struct err *e);

int manifest_parse(const char *text, size_t len, struct manifest *ret, struct err *e);
void manifest_done(struct manifest *m);

/* The descriptor of the one manifest in an index that fits; ERR_NOT_FOUND lists what
 * there is. */
int index_choose(const char *text, size_t len, const struct platform *p,
		 struct descriptor *ret, struct err *e);
void platform_here(struct platform *ret);
int platform_parse(const char *text, struct platform *ret, struct err *e);

/* Of an image that is in the store. */
int images_read(const struct store *s, const struct digest *manifest, struct manifest *ret,
		struct err *e);

/* The manifest, the configuration and all layers are in the store as blobs: unpacks what
 * is not yet, makes the recipe, and names it `r` (NULL: without a name).  The caller
 * holds the store's lock, shared. */
int images_finish(const struct store *s, const struct digest *manifest,
		  const struct reference *r, struct err *e);

/* An image made here: `layers` are blobs that are in the store, uncompressed tars or
 * compressed, and diff_ids their tars' digests, as layers_unpack() said, both
 * hexadecimal; `config` is a
 * configuration's JSON without its rootfs, which is added (NULL: "{}" for this machine).
 * Adds both documents as blobs, and finishes it. */
int images_make(const struct store *s, const char *config, const struct list *layer_digests,
		const struct list *diff_ids, const struct reference *r, struct digest *ret,
		struct err *e);

/* The same with a whole configuration, which stays as it is. */
int images_assemble(const struct store *s, const char *config, size_t len,
		    const struct list *layer_digests, const struct reference *r,
		    struct digest *ret, struct err *e);

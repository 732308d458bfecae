/* images -- makes an image that can be launched of blobs in the store.
 *
 * Formats: OCI image specification 1.1 (image-spec/manifest.md, config.md) and
 * docker's schema 2; schema 1 is refused.  A document's kind is known by the
 * mediaType of its descriptor and by its content, and both must agree
 * (CVE-2021-41190). */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "store/digest.h"

struct err;
struct launch_config;
struct reference;
struct store;

#define MANIFEST_MAX	(4u << 20) /* largest size of a document, in bytes, as registries
				    * have it */
#define CONFIG_MAX	(4u << 20)
#define IMAGE_LAYERS_MAX 500

struct descriptor {
	char media_type[128];
	struct digest digest;
	uint64_t size;
};

struct manifest {
	struct descriptor config;
	struct descriptor *layers; /* owned; the lowest layer first */
	size_t layer_count;
};

/* The platform whose manifest is chosen from an index, such as "linux/amd64" or
 * "linux/arm64/v8".  Where a pointer to it is NULL, this machine's platform is
 * meant. */
struct platform {
	char os[32], architecture[32], variant[32];
};

/* The kind of a document.  A document that looks like neither kind, or like both, is
 * refused. */
enum document_kind { DOCUMENT_MANIFEST, DOCUMENT_INDEX };
int document_kind(const char *text, size_t len, const char *media_type,
		  enum document_kind *ret, struct err *e);

int manifest_parse(const char *text, size_t len, struct manifest *ret, struct err *e);
void manifest_done(struct manifest *m);

/* Gives the descriptor of the first manifest in an index for the platform `p`;
 * ERR_NOT_FOUND lists the platforms that the index has. */
int index_choose(const char *text, size_t len, const struct platform *p,
		 struct descriptor *ret, struct err *e);
void platform_here(struct platform *ret);
int platform_parse(const char *text, struct platform *ret, struct err *e);

/* Reads the manifest of an image in the store. */
int images_read(const struct store *s, const struct digest *manifest,
		struct manifest *ret, struct err *e);

/* Completes an image whose manifest, configuration and layers are blobs in the
 * store: unpacks the layers that are not unpacked yet, writes the recipe, and
 * names the image `r` (NULL: no name).  The caller holds the store's lock,
 * shared. */
int images_finish(const struct store *s, const struct digest *manifest,
		  const struct reference *r, struct err *e);

/* Makes an image.  The layers are blobs in the store, plain or compressed tars;
 * diff_ids are the tars' digests from layers_unpack(), both hexadecimal, lowest
 * first.  `config` is a configuration's JSON without its rootfs, which is added
 * (NULL: "{}" for this machine).  Adds both documents as blobs, and completes
 * the image. */
int images_make(const struct store *s, const char *config,
		const struct list *layer_digests, const struct list *diff_ids,
		const struct reference *r, struct digest *ret, struct err *e);

/* Makes an image like images_make(), with a whole configuration, which is not changed. */
int images_assemble(const struct store *s, const char *config, size_t len,
		    const struct list *layer_digests, const struct reference *r,
		    struct digest *ret, struct err *e);

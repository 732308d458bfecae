/* fetch -- an image brought from a registry into the store.
 *
 * The documents come first, each checked against its digest: the index, if
 * there is one, the manifest for the platform, the configuration.  Then come
 * the layers that are not in the store (pull_workers.h); then the image gets its name. 
 * Until then the image is not visible; the next try continues with the bytes
 * that have come. */
#pragma once
#include "store/digest.h"

struct err;
struct mirrors;
struct platform;
struct progress;
struct reference;
struct store;

/* Fetches an image; *ret is the manifest's digest.  `platform` NULL: this machine's.
 * The caller holds the store's lock, shared. */
int fetch_image(const struct store *s, const struct mirrors *m, const struct reference *r,
		const struct platform *platform, struct progress *p, struct digest *ret,
		struct err *e);

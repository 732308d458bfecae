/* fetch -- an image brought from a registry into the store.
 *
 * The documents first, each checked against its digest: the index, if it is one, the
 * manifest for the platform, the configuration; then the layers that are not there yet
 * (crew.h); then the image gets its name.  Until then nothing of it is to be seen, and
 * what came is gone on from by the next try. */
#pragma once
#include "store/digest.h"

struct err;
struct mirrors;
struct platform;
struct progress;
struct reference;
struct store;

/* `platform` NULL: this machine's.  *ret: the digest of its manifest.  The caller holds
 * the store's lock, shared. */
int fetch_image(const struct store *s, const struct mirrors *m, const struct reference *r,
		const struct platform *platform, struct progress *p, struct digest *ret,
		struct err *e);

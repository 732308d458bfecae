/* base_image -- an image that is needed: from the store, else from a registry, by
 * `hutch image pull`. */
#pragma once
#include <stdbool.h>

#include "store/digest.h"

struct err;
struct reference;
struct store;

/* `always`: asks the registry even if it is there. */
int base_image_find(const struct store *s, const struct reference *r, bool always,
		    struct digest *ret, struct err *e);

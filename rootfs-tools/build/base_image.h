/* base_image -- finds an image in the store; a missing one is pulled by `hutch
 * image pull`. */
#pragma once
#include <stdbool.h>

#include "store/digest.h"

struct err;
struct reference;
struct store;

/* Finds the image in the store, or pulls it.  `always`: asks the registry for a newer
 * image even if the store has one. */
int base_image_find(const struct store *s, const struct reference *r, bool always,
		    struct digest *ret, struct err *e);

/* quota -- how large the store may become: the file "max-size" in it, a number of bytes;
 * without it there is no bound.
 *
 * What counts are blobs, parts of blobs, and the bytes of files of unpacked layers and of
 * their copies for --idmap ranges, as they were told when these were made.  It is looked at
 * when something is begun and again every few megabytes; those that work side by side may
 * exceed it by that much. */
#pragma once
#include <stdint.h>

#include "store/digest.h"

struct err;
struct store;

#define QUOTA_NONE  UINT64_MAX
#define QUOTA_STEPS (16u << 20) /* bytes after which it is to be looked at again */

/* QUOTA_NONE: there is none.  One that cannot be read counts as 0: nothing is added by
 * mistake. */
uint64_t quota_get(const struct store *s);
int quota_set(const struct store *s, uint64_t max, struct err *e);

uint64_t quota_used(const struct store *s);

/* How much may come: QUOTA_NONE, or 0. */
uint64_t quota_room(const struct store *s);

/* ERR_LIMIT, in words.  Returns -1. */
int quota_is_full(const struct store *s, struct err *e);

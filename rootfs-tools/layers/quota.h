/* quota -- the store's size limit: the file "max-size" in it holds a number of
 * bytes; without that file there is no limit.
 *
 * Counted are blobs, parts of blobs, and the bytes of files of unpacked layers
 * and of their copies for --idmap ranges, as recorded when these were made. 
 * The limit is checked when something is begun and again every few megabytes;
 * processes that work at the same time may exceed it by that much. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "store/digest.h"

struct err;
struct store;

#define QUOTA_NONE  UINT64_MAX
#define QUOTA_STEPS (16u << 20) /* bytes after which the limit is checked again */

/* Returns the limit; QUOTA_NONE: there is none.  An unreadable limit counts as 0, so
 * nothing is added by mistake. */
uint64_t quota_get(const struct store *s);
int quota_set(const struct store *s, uint64_t max, struct err *e);

uint64_t quota_used(const struct store *s);

/* Returns how many bytes may be added; QUOTA_NONE if there is no limit, 0 if the store
 * is full. */
uint64_t quota_room(const struct store *s);

/* Sets the error ERR_LIMIT with its text.  Returns -1. */
int quota_is_full(const struct store *s, struct err *e);

/* Returns whether the error says that the store's file system or the user's quota there
 * has no room.  The remedies are for such an error; the second one is for work of which
 * the store keeps what is done. */
bool quota_no_room(const struct err *e);
#define QUOTA_REMEDY	     "hutch image gc, or other room on that file system"
#define QUOTA_REMEDY_GOES_ON QUOTA_REMEDY "; the next try goes on from there"

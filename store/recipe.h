/* recipe -- what a launch must know of an image, without any JSON: images/HEX of the
 * store.
 *
 * Texts that end in a 0 byte: "hutch-image 1", then KEY=VALUE, in any order but that of
 * equal keys:
 *
 *	layer		the digest of a layer's tar, hexadecimal; the lowest one first;
 *			none: an empty root
 *	env		NAME=value
 *	entrypoint, cmd	a word each
 *	user		as the configuration has it: NAME, UID, NAME:GROUP, UID:GID
 *	workdir		absolute
 *	stop-signal	"SIGTERM"
 *	architecture	"amd64"
 *	config		the digest of the configuration: docker's image id
 *	created		seconds since 1970
 *	size		bytes of the unpacked layers' files
 *
 * The values come from an image and are foreign; they were checked when it was made, and
 * are bounded again when it is read.  An unknown key is an error: an older hutch does not
 * guess what a newer one meant. */
#pragma once
#include <stdint.h>

#include "base/list.h"
#include "store/digest.h"

struct buffer;
struct err;
struct store;

#define RECIPE_MAX	  (1u << 20) /* bytes of the file */
#define RECIPE_LAYERS_MAX 500	     /* what overlayfs takes (OVL_MAX_STACK) */

struct recipe {
	struct list layers; /* hexadecimal digests, the lowest one first */
	struct list env, entrypoint, cmd;
	char *user, *workdir, *stop_signal, *architecture; /* owned; NULL: not said */
	struct digest config;
	int64_t created;
	uint64_t size;
};

void recipe_init(struct recipe *r);
void recipe_done(struct recipe *r);

/* To and from its text, of which RECIPE_MAX is the bound; *ret has been initialised by
 * nobody. */
int recipe_parse(const char *text, size_t len, struct recipe *ret, struct err *e);
int recipe_print(const struct recipe *r, struct buffer *to, struct err *e);

/* Reads images/HEX and holds its lock, shared: as long as *ret_lock is open, which the
 * caller owns, the image and its layers stay.  ERR_NOT_FOUND: no such image. */
int recipe_open(const struct store *s, const struct digest *image, struct recipe *ret,
		int *ret_lock, struct err *e);

/* Makes images/HEX; one that is there is left as it is, being the same. */
int recipe_put(const struct store *s, const struct digest *image, const struct recipe *r,
	       struct err *e);

/* Whether nobody holds its lock; removes it then.  For whoever holds the store's lock
 * alone. */
int recipe_remove_unused(const struct store *s, const struct digest *image,
			 int *ret_is_removed, struct err *e);

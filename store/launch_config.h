/* launch_config -- the facts about an image that a launch needs, without any JSON:
 * images/HEX of the store.
 *
 * The file has texts, each ended by a 0 byte: first "hutch-image 1", then KEY=VALUE.
 * Only the order of equal keys matters:
 *
 *	layer		the digest of a layer's tar, hexadecimal; the lowest one first;
 *			none: an empty root
 *	env		NAME=value
 *	entrypoint, cmd	a word each
 *	user		in the form of the configuration: NAME, UID, NAME:GROUP,
 *			UID:GID
 *	workdir		absolute
 *	stop-signal	"SIGTERM"
 *	architecture	"amd64"
 *	config		the digest of the configuration: docker's image id
 *	created		seconds since 1970
 *	size		bytes of the unpacked layers' files
 *
 * The values come from an image and are foreign; they were checked when it was made,
 * and are bounded again when it is read.  An unknown key is an error: an older hutch
 * does not guess the meaning of a newer one's keys. */
#pragma once
#include <stdint.h>

#include "base/list.h"
#include "store/digest.h"

struct buffer;
struct err;
struct store;

#define LAUNCH_CONFIG_MAX	  (1u << 20) /* limit of the file's bytes */
#define LAUNCH_CONFIG_LAYERS_MAX 500	     /* as many layers as overlayfs takes
					      * (OVL_MAX_STACK) */

struct launch_config {
	struct list layers; /* hexadecimal digests, the lowest one first */
	struct list env, entrypoint, cmd;
	char *user, *workdir, *stop_signal, *architecture; /* owned; NULL: the image
							    * does not give this value */
	struct digest config;
	int64_t created;
	uint64_t size;
};

void launch_config_init(struct launch_config *r);
void launch_config_done(struct launch_config *r);

/* launch_config_parse() reads the text of a recipe, launch_config_print() writes it.
 * The text has at most LAUNCH_CONFIG_MAX bytes.  *ret need not be initialised. */
int launch_config_parse(const char *text, size_t len, struct launch_config *ret,
			struct err *e);
int launch_config_print(const struct launch_config *r, struct buffer *to, struct err *e);

/* Reads images/HEX and takes a shared lock on it.  As long as *ret_lock, which the
 * caller owns, is open, the image and its layers are not removed.  ERR_NOT_FOUND:
 * there is no such image. */
int launch_config_open(const struct store *s, const struct digest *image,
		       struct launch_config *ret, int *ret_lock, struct err *e);

/* Makes images/HEX.  An existing file is left as it is: the same digest means the same
 * content. */
int launch_config_put(const struct store *s, const struct digest *image,
		      const struct launch_config *r, struct err *e);

/* Removes the image if no process holds its lock; *ret_is_removed says whether.  The
 * caller must hold the store's lock exclusively. */
int launch_config_remove_unused(const struct store *s, const struct digest *image,
			 int *ret_is_removed, struct err *e);

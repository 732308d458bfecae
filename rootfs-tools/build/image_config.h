/* image_config -- the configuration of an image that is being built (OCI image
 * specification 1.1, config.md; Shell and OnBuild are docker's).
 *
 * It begins as a copy of another image's configuration, or empty, and becomes
 * the JSON for images_make().  The text that it is read from is foreign: the
 * lists are bounded by CONFIG_MAX bytes of text. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct digest;
struct err;
struct store;

struct image_config {
	char *user, *workdir, *stop_signal; /* owned; NULL: the image does not set this
					     * value */
	char *created;			    /* owned; when the last layer was made (RFC
					     * 3339) */
	struct list env;		    /* "NAME=VALUE" */
	struct list entrypoint, cmd, shell;
	struct list labels; /* names and values in turn: NAME, VALUE, NAME, VALUE ... */
	struct list ports, volumes;
	struct list history;	      /* entries of the image's history, as JSON
				       * objects */
	struct list layers, diff_ids; /* hexadecimal digests, the lowest layer first */
	bool has_cmd;		      /* `cmd` was set by this build, not inherited from
				       * the base image */
	bool has_triggers;	      /* the image has ONBUILD instructions, which hutch
				       * cannot carry out */
};

/* Sets an empty configuration, as FROM scratch and --image scratch have it. */
void image_config_init(struct image_config *c);
void image_config_done(struct image_config *c);
void image_config_copy(const struct image_config *from, struct image_config *ret);

/* Reads the configuration of an image in the store, by the manifest's digest. */
int image_config_read(const struct store *s, const struct digest *image,
		      struct image_config *ret, struct err *e);

/* Parses an image's configuration, for a caller that has read the text elsewhere. */
int image_config_parse(const char *text, size_t len, struct image_config *to,
		       struct err *e);

/* Sets a label; an earlier one of that name is replaced. */
void image_config_label(struct image_config *c, const char *name, const char *value);

/* Records a new layer, made at `when` (seconds since 1970). */
void image_config_touch(struct image_config *c, int64_t when);

/* Adds an entry to the history. */
void image_config_add_history(struct image_config *c, const char *what, bool has_layer);

/* Returns the configuration as JSON, allocated, without its rootfs. */
char *image_config_print(const struct image_config *c);

/* Returns a text of everything in the configuration that affects how a command runs:
 * layers, environment, user, folder, shell.  The text is allocated.  Equal texts mean
 * equal effects, so the text is a part of the build cache's key. */
char *image_config_state(const struct image_config *c);

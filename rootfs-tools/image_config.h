/* image_config -- the configuration of an image that is being built (OCI image
 * specification 1.1, config.md; Shell and OnBuild are docker's).
 *
 * It begins as that of another image, or empty, and becomes the JSON that images_make()
 * takes.  What it is read from is foreign: the lists are bounded by CONFIG_MAX bytes of
 * text. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct digest;
struct err;
struct store;

struct image_config {
	char *user, *workdir, *stop_signal; /* owned; NULL: not said */
	char *created;			    /* owned; of its last layer (RFC 3339) */
	struct list env;		    /* "NAME=VALUE" */
	struct list entrypoint, cmd, shell;
	struct list labels; /* NAME, VALUE, NAME, VALUE ... */
	struct list ports, volumes;
	struct list history;	      /* objects, as JSON */
	struct list layers, diff_ids; /* hexadecimal, the lowest first */
	bool has_cmd;		      /* it is this build's own */
	bool has_triggers;	      /* ONBUILD, which is not done here */
};

/* What --image scratch has: nothing. */
void image_config_init(struct image_config *c);
void image_config_done(struct image_config *c);
void image_config_copy(const struct image_config *from, struct image_config *ret);

/* Of an image in the store, by its manifest. */
int image_config_read(const struct store *s, const struct digest *image,
		      struct image_config *ret, struct err *e);

/* The same from its text; for what reads it from elsewhere. */
int image_config_parse(const char *text, size_t len, struct image_config *to,
		       struct err *e);

/* In place of an earlier one of that name. */
void image_config_label(struct image_config *c, const char *name, const char *value);

/* Adds it unless it is there. */
void image_config_add(struct list *to, const char *text);

/* It has a new layer, since `when` (seconds since 1970). */
void image_config_touch(struct image_config *c, int64_t when);

/* What was done at last. */
void image_config_told(struct image_config *c, const char *what, bool has_layer);

/* JSON, allocated, without its rootfs. */
char *image_config_print(const struct image_config *c);

/* What of it decides on what a command does: layers, environment, user, folder, shell.
 * Allocated; equal texts, equal results. */
char *image_config_state(const struct image_config *c);

/* builder -- an image being built: what its parts share.
 *
 *	stages		which of a Dockerfile's stages are needed, and what variables mean
 *	steps		what each instruction does to the stage
 *	run_step	RUN, in a sandbox
 *	build_cache	layers that were made before
 *
 * A step changes the configuration, and maybe adds a layer, which is found in the cache
 * or made.  Whatever it makes is in the store, and named there, before the next one
 * begins. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "rootfs-tools/build.h"
#include "rootfs-tools/dockerfile.h"
#include "rootfs-tools/expand.h"
#include "rootfs-tools/hash.h"
#include "rootfs-tools/ignore.h"
#include "rootfs-tools/image_config.h"
#include "store/store.h"

struct blob;
struct outcome;
struct reference;

struct stage {
	const struct instruction *from; /* borrowed */
	size_t first, end;		/* instructions behind it */
	char *image, *name;		/* owned; expanded; name NULL: it has none */
	int parent;			/* the stage that it begins with, or -1 */
	bool is_needed;
	unsigned steps;		    /* that are shown */
	struct image_config result; /* when it is done */
};

struct builder {
	const struct build_order *order;
	struct store store;
	int lock; /* owned: the store's, shared */
	struct dockerfile file;
	struct list global; /* ARG before the first FROM, "NAME=VALUE" */
	struct stage *stages;
	size_t stage_count, target;
	int context; /* owned */
	struct ignore ignore;
	int64_t now, newest; /* SOURCE_DATE_EPOCH, or now and INT64_MAX */
	struct list used;    /* the --build-arg that ARG has asked for */
};

/* A stage at work. */
struct making {
	struct builder *b;
	struct stage *stage;
	struct image_config config;
	struct list args; /* "NAME=VALUE" of those that ARG has declared */
	struct list bare; /* "NAME=" of those that have no value */
	unsigned step;
};

/* --- stages --------------------------------------------------------------------- */

int stages_plan(struct builder *b, struct err *e);
void stages_done(struct builder *b);

/* An earlier stage than number `before`, by its name or number; -1: there is none. */
int stages_find(const struct builder *b, const char *name, size_t before);

/* What variables mean in a stage; ENV comes before ARG. */
struct expand making_scope(const struct making *m);

/* ARG. */
int making_declare(struct making *m, const char *word, struct err *e);

/* --- steps ---------------------------------------------------------------------- */

/* All of a stage; its result is in it. */
int steps_do(struct builder *b, struct stage *s, struct err *e);

/* "[2/7] RUN ...", on stderr. */
void steps_show(const struct making *m, const char *text, bool is_cached);

/* What is before a command for the shell: SHELL, else /bin/sh -c. */
void steps_shell(const struct making *m, struct list *to);

/* COPY, ADD, WORKDIR. */
int copy_step(struct making *m, const struct instruction *i, struct err *e);
int folder_step(struct making *m, const struct instruction *i, struct err *e);

int run_step(struct making *m, const struct instruction *i, struct err *e);

/* --- layers --------------------------------------------------------------------- */

/* A key that begins with what the stage is now. */
struct hash *cache_key(const struct making *m, const char *what);

/* Adds a text with its end. */
void cache_add(struct hash *key, const char *text);

/* 1: the layer was there and is the stage's now. */
int cache_find(struct making *m, const struct digest *key, const char *told,
	       struct err *e);

/* The blob becomes the stage's next layer, and is found by `key` from then on. */
int cache_keep(struct making *m, struct blob *blob, const struct digest *key,
	       const char *told, struct err *e);

/* A reserved name, which no registry can have: "build.invalid/WHAT:HEX". */
void cache_name(const char *what, const struct digest *key, struct reference *ret);

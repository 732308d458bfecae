/* builder -- an image being built: the state that the parts of a build share.
 *
 *	stages		which stages of a Dockerfile are needed; the values of variables
 *	steps		the effect of each instruction on its stage
 *	run_step	RUN, in a sandbox
 *
 * A step changes the configuration, and maybe adds a layer, which is found in the cache
 * or made.  Whatever it makes is in the store, and named there, before the next one
 * begins. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "rootfs-tools/build/build.h"
#include "rootfs-tools/build/dockerfile.h"
#include "rootfs-tools/build/expand.h"
#include "rootfs-tools/build/ignore.h"
#include "rootfs-tools/build/image_config.h"
#include "rootfs-tools/layers/hash.h"
#include "store/store.h"

struct blob;
struct outcome;
struct reference;

struct stage {
	const struct instruction *from; /* borrowed: the FROM with which the stage
					 * begins */
	size_t first, end;		/* the range of the stage's instructions */
	char *image, *name;		/* owned; expanded; name NULL: the stage has no
					 * name */
	int parent;			/* the stage that FROM names, or -1 if FROM
					 * names an image */
	bool is_needed;
	unsigned steps;		    /* number of the stage's steps that are printed */
	struct image_config result; /* the stage's final configuration; set when the
				     * stage is done */
};

struct builder {
	const struct build_order *order;
	struct store store;
	int lock; /* owned: a shared lock of the store */
	struct dockerfile file;
	struct list global; /* variables of the ARGs before the first FROM,
			     * "NAME=VALUE" */
	struct stage *stages;
	size_t stage_count, target;
	int context; /* owned: the context's folder */
	struct ignore ignore;
	int64_t now, newest; /* both SOURCE_DATE_EPOCH; or the present time and
			      * INT64_MAX */
	struct list used;    /* names of the --build-arg values that an ARG has
			      * declared */
};

/* A stage while its instructions are carried out. */
struct making {
	struct builder *b;
	struct stage *stage;
	struct image_config config;
	struct list args; /* "NAME=VALUE" of declared ARGs */
	struct list bare; /* "NAME=" of declared ARGs without a value */
	unsigned step;
};

/* --- stages --------------------------------------------------------------------- */

int stages_plan(struct builder *b, struct err *e);
void stages_done(struct builder *b);

/* Returns the number of the stage `name`, a name or a number, if the stage stands
 * before the stage `before`; -1: there is no such stage. */
int stages_find(const struct builder *b, const char *name, size_t before);

/* Returns the variables of a stage, for expand.h; a variable of ENV comes before one
 * of ARG. */
struct expand making_scope(const struct making *m);

/* Declares the variable of an ARG. */
int making_declare(struct making *m, const char *word, struct err *e);

/* --- steps ---------------------------------------------------------------------- */

/* Carries out all instructions of a stage; the resulting configuration is in
 * s->result. */
int steps_do(struct builder *b, struct stage *s, struct err *e);

/* Prints "[2/7] RUN ..." on stderr. */
void steps_show(const struct making *m, const char *text, bool is_cached);

/* Adds the words that run a command by the shell: SHELL's, else /bin/sh -c. */
void steps_shell(const struct making *m, struct list *to);

/* Carry out COPY and ADD, and the folder of WORKDIR. */
int copy_step(struct making *m, const struct instruction *i, struct err *e);
int folder_step(struct making *m, const struct instruction *i, struct err *e);

int run_step(struct making *m, const struct instruction *i, struct err *e);

/* --- layers --------------------------------------------------------------------- */

/* Begins a new cache key with a digest of the stage's present state. */
struct hash *cache_key(const struct making *m, const char *what);

/* Adds a text and its terminating 0 byte to a cache key. */
void cache_add(struct hash *key, const char *text);

/* Looks up a layer in the cache.  Returns 1 if the layer was there and has been added
 * to the stage. */
int cache_find(struct making *m, const struct digest *key, const char *told,
	       struct err *e);

/* Adds the blob to the stage as its next layer and to the cache under `key`. */
int cache_keep(struct making *m, struct blob *blob, const struct digest *key,
	       const char *told, struct err *e);

/* Gives a reserved name, which no registry can have: "build.invalid/WHAT:HEX". */
void cache_name(const char *what, const struct digest *key, struct reference *ret);

/* builder -- an image being built: the state that the parts of a build share.
 *
 *	stages		which stages of a Dockerfile are needed; the values of variables
 *	steps		the effect of each instruction on its stage
 *	run_step	RUN, in a sandbox
 *
 * A step changes the configuration, and may add a layer, which is taken from the cache
 * or made.  Each new layer gets a name in the store before the next step begins. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "rootfs-tools/build/build.h"
#include "rootfs-tools/build/context.h"
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
	const struct instruction *from; /* borrowed: the FROM instruction that begins the
					 * stage */
	size_t first, end;		/* the range of the stage's instructions */
	char *image, *name;		/* owned; the image and the stage's name, with
					 * variables replaced; name NULL: the stage has no
					 * name */
	int parent;			/* the stage that FROM names, or -1 if FROM
					 * names an image */
	bool is_needed;
	unsigned steps;		    /* number of the stage's steps that are printed */
	struct image_config result; /* the stage's final configuration; set when the
				     * stage is done */
};

struct builder {
	const struct build_options *options;
	struct store store;
	int lock; /* owned: a shared lock of the store */
	struct dockerfile file;
	struct list global; /* "NAME=VALUE" of each ARG before the first FROM */
	struct stage *stages;
	size_t stage_count, target;
	int context;	      /* borrowed from `given`, or owned: the context's folder */
	struct context given; /* the context that came on stdin */
	struct ignore ignore;
	int64_t now, newest; /* the build's time, and the upper limit of files' times:
			      * both are SOURCE_DATE_EPOCH if that is set, else the
			      * present time and INT64_MAX */
	struct list used;    /* names of the --build-arg values that an ARG has
			      * declared */
};

/* The state of a stage while its instructions are carried out. */
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

/* Finds a stage before the stage number `before`, by its name or its number as a text.
 * Returns its number, or -1 if there is no such stage. */
int stages_find(const struct builder *b, const char *name, size_t before);

/* Returns the lookup of a stage's variables, for expand.h.  If ENV and ARG have set the
 * same variable, ENV's value is used. */
struct expand making_scope(const struct making *m);

/* Declares the variable of an ARG instruction; `word` is NAME or NAME=VALUE. */
int making_declare(struct making *m, const char *word, struct err *e);

/* --- steps ---------------------------------------------------------------------- */

/* Carries out all instructions of a stage; the resulting configuration is in
 * s->result. */
int steps_do(struct builder *b, struct stage *s, struct err *e);

/* Prints "[2/7] RUN ..." on stderr. */
void steps_show(const struct making *m, const char *text, bool is_cached);

/* Adds the words of the shell that runs a command: those of the SHELL instruction, else
 * "/bin/sh", "-c". */
void steps_shell(const struct making *m, struct list *to);

/* copy_step() carries out COPY and ADD; folder_step() makes the folder of WORKDIR. */
int copy_step(struct making *m, const struct instruction *i, struct err *e);
int folder_step(struct making *m, const struct instruction *i, struct err *e);

int run_step(struct making *m, const struct instruction *i, struct err *e);

/* --- layers --------------------------------------------------------------------- */

/* Begins a cache key for the instruction `what`, with a digest of the stage's present
 * state. */
struct hash *cache_key(const struct making *m, const char *what);

/* Adds a text and its terminating 0 byte to a cache key. */
void cache_add(struct hash *key, const char *text);

/* Looks up a layer in the cache.  Returns 1 if the cache had the layer, which has then
 * been added to the stage. */
int cache_find(struct making *m, const struct digest *key, const char *history,
	       struct err *e);

/* Adds the blob to the stage as its next layer and to the cache under `key`. */
int cache_keep(struct making *m, struct blob *blob, const struct digest *key,
	       const char *history, struct err *e);

/* Gives the image name "build.invalid/WHAT:HEX".  RFC 2606 reserves .invalid, so no
 * registry can have the name. */
void cache_name(const char *what, const struct digest *key, struct reference *ret);

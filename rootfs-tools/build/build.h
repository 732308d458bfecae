/* build -- an image from a Dockerfile and a folder, its context.
 *
 * An instruction that writes files makes one layer.  The layer stays in the
 * store, and a later build finds it by a digest of its inputs: the layers
 * below, the instruction, its variables, and the bytes that it copies. */
#pragma once
#include <stdbool.h>

#include "base/list.h"
#include "store/digest.h"

struct err;

struct build_options {
	const char *context; /* a folder: the files that COPY may copy */
	const char *file;    /* path of the Dockerfile; NULL: the context's Dockerfile */
	const char *text; /* text of a Dockerfile, used instead of reading `file`, which
			   * is then only a name for messages */
	const char *ignored; /* text of .dockerignore; used only if `text` is set */
	const char *target;  /* the stage to build; NULL: the last stage */
	struct list tags;
	struct list args;    /* values of --build-arg, as "NAME=VALUE" */
	const char *network; /* network of RUN: "none", "allow" or "host" */
	struct list allow;   /* values of --allow: where a RUN may connect to */
	bool ignores_cache, pulls, is_quiet;
};

/* Checks the values of --network (NULL: the flag was not given) and of --allow, before
 * the first step.  *ret is the network's word: rules without --network ask for "allow". */
int build_check_network(const char *network, const struct list *allow, const char **ret,
			struct err *e);

/* Builds an image; *ret is the manifest's digest.  Progress is printed on stderr. */
int build_image(const struct build_options *options, struct digest *ret, struct err *e);

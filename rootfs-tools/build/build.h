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

/* The network of each RUN. */
struct build_network {
	const char *mode; /* the value of --network; NULL: the flag was not given */
	struct list allow; /* owned, as add_hosts is: values of --allow */
	struct list add_hosts; /* values of --add-host */
};

struct build_options {
	const char
		*context; /* a folder: the files that COPY may copy; "-": stdin has them
			      * (rootfs-tools/build/context.h) */
	const char *file; /* path of the Dockerfile, in the context if that is "-"; NULL:
			      * the context's Dockerfile */
	const char *text; /* text of a Dockerfile, used instead of reading `file`, which
			   * is then only a name for messages */
	const char *ignored; /* text of .dockerignore; used only if `text` is set */
	const char *target;  /* the stage to build; NULL: the last stage */
	struct list tags;
	struct list args;    /* values of --build-arg, as "NAME=VALUE" */
	struct build_network network; /* of RUN; checked */
	bool ignores_cache, pulls, is_quiet;
};

/* Checks the values before the first step, and fills in n->mode: rules without --network
 * ask for "allow". */
int build_check_network(struct build_network *n, struct err *e);
void build_network_done(struct build_network *n);

/* Builds an image; *ret is the manifest's digest.  Progress is printed on stderr. */
int build_image(const struct build_options *options, struct digest *ret, struct err *e);

/* build -- an image from a Dockerfile and a folder, its context.
 *
 * Instructions that write files make a layer each, in the store from then on and found
 * again by what went into it: the layers below, the instruction, its variables, and the
 * bytes that it copies. */
#pragma once
#include <stdbool.h>

#include "base/list.h"
#include "store/digest.h"

struct err;

struct build_order {
	const char *context; /* a folder */
	const char *file;    /* NULL: its Dockerfile */
	const char *text; /* instead of what is in that file, which is then only named */
	const char *ignored; /* then: instead of .dockerignore */
	const char *target;  /* a stage; NULL: the last one */
	struct list tags;
	struct list args;    /* "NAME=VALUE" */
	const char *network; /* "none" or "host" */
	bool ignores_cache, pulls, is_quiet;
};

/* Whether a RUN may be on such a network. */
int build_check_network(const char *network, struct err *e);

/* *ret is the manifest's digest.  What is done is told on stderr. */
int build_image(const struct build_order *order, struct digest *ret, struct err *e);

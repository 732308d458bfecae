/* reference -- the names of images that people write (distribution/reference,
 * "grammar"; docker's rules for omitted parts).
 *
 *	python			docker.io/library/python:latest
 *	python:3.12		docker.io/library/python:3.12
 *	me/tool			docker.io/me/tool:latest
 *	localhost:5000/a/b:1	itself: a first part with a '.', a ':' or "localhost" is a host
 *	python@sha256:...	docker.io/library/python@sha256:..., pinned; a tag beside it is
 *				dropped
 *
 * A reference comes from a user or a Dockerfile and is checked strictly against the
 * grammar, so that it is safe in a URL, a file name and a line of a terminal. */
#pragma once
#include "store/digest.h"

struct err;

#define REFERENCE_MAX 512 /* size of a reference's text with its 0; the grammar's own
			   * limit is less */

struct reference {
	char registry[256];   /* such as "docker.io" or "localhost:5000" */
	char repository[256]; /* such as "library/python" */
	char tag[129];	      /* "" if the reference has a digest */
	struct digest pin;    /* the digest, or the zero object if the reference has
			       * none */
};

/* The host in the names of hutch's builds; no registry can have the name (RFC 2606). */
#define REFERENCE_BUILDS "build.invalid"

/* The repository, below that host, of the images that RUN steps start from. */
#define REFERENCE_STEPS "step"

/* Parses a reference.  ERR_USAGE: the text is no reference, and *e says why. */
int reference_parse(const char *text, struct reference *ret, struct err *e);

/* Parses a name that a user, or the text of an imported image, gives to an image.
 * ERR_USAGE: it has a digest, which only a registry can give, or it is one of hutch's
 * builds, whose images later builds take for layers of their own. */
int reference_parse_name(const char *text, struct reference *ret, struct err *e);

/* Prints the whole reference: "docker.io/library/python:3.12". */
void reference_print(const struct reference *r, char ret[REFERENCE_MAX]);

/* Prints the shortest form: "python:3.12". */
void reference_print_short(const struct reference *r, char ret[REFERENCE_MAX]);

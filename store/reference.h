/* reference -- what a person calls an image (distribution/reference, "grammar"; docker's
 * rules for what is left out).
 *
 *	python			docker.io/library/python:latest
 *	python:3.12		docker.io/library/python:3.12
 *	me/tool			docker.io/me/tool:latest
 *	localhost:5000/a/b:1	itself: a first part with a '.', a ':' or "localhost" is a host
 *	python@sha256:...	docker.io/library/python@sha256:..., pinned; a tag beside it is
 *				dropped
 *
 * What is foreign here is a person's word, or a Dockerfile's: it is checked to the letter
 * of the grammar, so that it is safe in a URL, a file name and a line of a terminal. */
#pragma once
#include "store/digest.h"

struct err;

#define REFERENCE_MAX 512 /* with its 0; the grammar's own limit is less */

struct reference {
	char registry[256];   /* "docker.io", "localhost:5000" */
	char repository[256]; /* "library/python" */
	char tag[129];	      /* "" where it is pinned */
	struct digest pin;    /* or the zero object */
};

/* What builds remember is named below this one, which no registry can be (RFC 2606). */
#define REFERENCE_BUILDS "build.invalid"

/* ERR_USAGE says what is wrong with it. */
int reference_parse(const char *text, struct reference *ret, struct err *e);

/* The same of a name that somebody gives: one with a digest is a registry's to give, and
 * ERR_USAGE too. */
int reference_parse_name(const char *text, struct reference *ret, struct err *e);

/* Whole: "docker.io/library/python:3.12". */
void reference_print(const struct reference *r, char ret[REFERENCE_MAX]);

/* As short as it can be said: "python:3.12". */
void reference_print_short(const struct reference *r, char ret[REFERENCE_MAX]);

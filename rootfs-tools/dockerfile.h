/* dockerfile -- what a Dockerfile says, as instructions (docs.docker.com, Dockerfile
 * reference; where that is silent, what BuildKit's parser does).
 *
 * Only read here: nothing is expanded, looked up or run.  The text may be anybody's:
 * memory is bounded by its length, which is at most DOCKERFILE_MAX, and every error names
 * the file and the line.
 *
 * Words stay as they were written, with their quotes and variables, for expand_word();
 * what is an array of JSON is exact already. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"

struct err;

#define DOCKERFILE_MAX		(1u << 20)
#define DOCKERFILE_INSTRUCTIONS 4096
#define DOCKERFILE_HEREDOCS	64 /* of one instruction */

enum instruction_kind {
	INSTRUCTION_ADD,
	INSTRUCTION_ARG,	/* words: NAME or NAME=VALUE */
	INSTRUCTION_CMD,	/* is_exec: an array; else one word, for the shell */
	INSTRUCTION_COPY,	/* words: sources and what they become, as ADD */
	INSTRUCTION_ENTRYPOINT, /* as CMD */
	INSTRUCTION_ENV,	/* words: NAME, VALUE, NAME, VALUE ... */
	INSTRUCTION_EXPOSE,
	INSTRUCTION_FROM,	 /* words: an image, and then maybe "AS", a name */
	INSTRUCTION_HEALTHCHECK, /* read, and noted as without effect */
	INSTRUCTION_LABEL,	 /* as ENV */
	INSTRUCTION_MAINTAINER,	 /* one word, as the following three */
	INSTRUCTION_ONBUILD,
	INSTRUCTION_RUN,   /* as CMD */
	INSTRUCTION_SHELL, /* always an array */
	INSTRUCTION_STOPSIGNAL,
	INSTRUCTION_USER,
	INSTRUCTION_VOLUME, /* words, or an array */
	INSTRUCTION_WORKDIR,
	INSTRUCTION_KINDS
};

struct heredoc {
	char *name, *text; /* owned; the tabs of <<- are gone */
	bool expands;	   /* its name has no quotes */
};

struct instruction {
	enum instruction_kind kind;
	unsigned line;	   /* where it begins, from 1 */
	struct list flags; /* "NAME=VALUE", without "--" */
	struct list words;
	bool is_exec;
	struct heredoc *heredocs; /* owned */
	size_t heredoc_count;
	char *text; /* owned: all of it on one line, to be shown */
};

struct dockerfile {
	char *name;		 /* owned: for messages */
	char escape;		 /* '\\', or '`' where a directive says so */
	struct instruction *all; /* owned */
	size_t count;
	struct list notes; /* what is without effect, a sentence each */
};

/* `name` is what messages call it.  After a failure too, dockerfile_done(). */
int dockerfile_parse(const char *text, size_t len, const char *name,
		     struct dockerfile *ret, struct err *e);
void dockerfile_done(struct dockerfile *d);

/* "COPY" */
const char *instruction_name(enum instruction_kind kind);

/* The value of a flag, or NULL. */
const char *instruction_flag(const struct instruction *i, const char *name);

/* Whether a word is where a heredoc stands, such as <<EOF. */
bool instruction_is_heredoc(const char *word);

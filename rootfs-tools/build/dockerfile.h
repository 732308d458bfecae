/* dockerfile -- parses a Dockerfile into instructions (docs.docker.com,
 * Dockerfile reference; where that is silent, BuildKit's parser decides).
 *
 * Nothing is expanded, looked up or run here.  The text may come from a
 * stranger: memory is bounded by the text's length, which is at most
 * DOCKERFILE_MAX, and every error names the file and the line.
 *
 * Words keep their quotes and variables, for expand_word(); the strings of a
 * JSON array are exact already. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"

struct err;

#define DOCKERFILE_MAX		(1u << 20)
#define DOCKERFILE_INSTRUCTIONS 4096
#define DOCKERFILE_HEREDOCS	64 /* how many heredocs one instruction may have */

enum instruction_kind {
	INSTRUCTION_ADD,
	INSTRUCTION_ARG,	/* words: NAME or NAME=VALUE */
	INSTRUCTION_CMD,	/* words of an array if is_exec; else one word, for the
				 * shell */
	INSTRUCTION_COPY,	/* words like those of ADD: sources, and the
				 * destination */
	INSTRUCTION_ENTRYPOINT, /* words like those of CMD */
	INSTRUCTION_ENV,	/* words: NAME, VALUE, NAME, VALUE ... */
	INSTRUCTION_EXPOSE,
	INSTRUCTION_FROM,	 /* words: an image, and then maybe "AS", a name */
	INSTRUCTION_HEALTHCHECK, /* read, and noted as without effect */
	INSTRUCTION_LABEL,	 /* words like those of ENV */
	INSTRUCTION_MAINTAINER,	 /* one word, as the following three instructions have */
	INSTRUCTION_ONBUILD,
	INSTRUCTION_RUN,   /* words like those of CMD */
	INSTRUCTION_SHELL, /* always an array */
	INSTRUCTION_STOPSIGNAL,
	INSTRUCTION_USER,
	INSTRUCTION_VOLUME, /* words, or an array */
	INSTRUCTION_WORKDIR,
	INSTRUCTION_KINDS
};

struct heredoc {
	char *name, *text; /* owned; the tabs of <<- are gone */
	bool expands;	   /* the name had no quotes */
};

struct instruction {
	enum instruction_kind kind;
	unsigned line;	   /* the line where the instruction begins, from 1 */
	struct list flags; /* "NAME=VALUE", without "--" */
	struct list words;
	bool is_exec;
	struct heredoc *heredocs; /* owned */
	size_t heredoc_count;
	char *text; /* owned: the whole instruction on one line, for display */
};

struct dockerfile {
	char *name;		 /* owned: the file's name, for messages */
	char escape;		 /* '\\', or '`' if a directive sets it */
	struct instruction *all; /* owned */
	size_t count;
	struct list notes; /* instructions without effect, a sentence each */
};

/* Parses a Dockerfile.  `name` names the file in messages.  Call dockerfile_done()
 * after a failure too. */
int dockerfile_parse(const char *text, size_t len, const char *name,
		     struct dockerfile *ret, struct err *e);
void dockerfile_done(struct dockerfile *d);

/* Returns the instruction's name, such as "COPY". */
const char *instruction_name(enum instruction_kind kind);

/* Returns the value of a flag, or NULL if the instruction has no such flag. */
const char *instruction_flag(const struct instruction *i, const char *name);

/* Returns whether a word stands for a heredoc, such as <<EOF. */
bool instruction_is_heredoc(const char *word);

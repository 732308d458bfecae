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
	INSTRUCTION_CMD,	/* if is_exec, `words` has the words of a JSON array; else
				 * one word, a command for the shell */
	INSTRUCTION_COPY,	/* `words` has the sources and then the destination, as
				 * for ADD */
	INSTRUCTION_ENTRYPOINT, /* same `words` as CMD */
	INSTRUCTION_ENV,	/* `words` has NAME, VALUE, NAME, VALUE ... */
	INSTRUCTION_EXPOSE,
	INSTRUCTION_FROM,	 /* `words` has the image, and then maybe "AS" and a
				  * name */
	INSTRUCTION_HEALTHCHECK, /* parsed and then ignored, with a note */
	INSTRUCTION_LABEL,	 /* same `words` as ENV */
	INSTRUCTION_MAINTAINER,	 /* `words` has one word, as for STOPSIGNAL, USER and
				  * WORKDIR; ignored, with a note */
	INSTRUCTION_ONBUILD,
	INSTRUCTION_RUN,   /* same `words` as CMD */
	INSTRUCTION_SHELL, /* always an array */
	INSTRUCTION_STOPSIGNAL,
	INSTRUCTION_USER,
	INSTRUCTION_VOLUME, /* words, or an array */
	INSTRUCTION_WORKDIR,
	INSTRUCTION_KINDS
};

struct heredoc {
	char *name, *text; /* owned; for <<- without the tabs at the start of lines */
	bool expands;	   /* variables in the text are expanded, since the heredoc's name
			    * had no quotes */
};

struct instruction {
	enum instruction_kind kind;
	unsigned line;	   /* the line where the instruction begins, from 1 */
	struct list flags; /* "NAME=VALUE", without "--" */
	struct list words;
	bool is_exec;
	struct heredoc *heredocs; /* owned */
	size_t heredoc_count;
	char *text; /* owned: the whole instruction on one line, to be printed */
};

struct dockerfile {
	char *name;		 /* owned: the file's name, for messages */
	char escape;		 /* the escape character: '\\', or '`' if a parser
				  * directive says so */
	struct instruction *all; /* owned */
	size_t count;
	struct list notes; /* a sentence for each instruction that is ignored */
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

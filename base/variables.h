/* variables -- what was changed of an environment, since it was made.
 *
 * The supervisor keeps one for a sandbox, and the executor its copy (MSG_ENV): what
 * starts later gets its own environment with these changes on top, and a shell that
 * lives is told what is newer than what it knows.  What was unset is remembered, too. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct list;

/* A program can be started with no longer NAME=value, its 0 counted (MAX_ARG_STRLEN,
 * execve(2)), and with about twice as much in all. */
#define VARIABLE_MAX	  (128u << 10)
#define VARIABLE_NAME_MAX 255
#define VARIABLES_MAX	  1024
#define VARIABLES_BYTES	  (1u << 20) /* names and values together */

struct variable {
	char *name, *value; /* owned; value NULL: it is unset */
	uint64_t number;    /* of its last change */
};

/* The zero object is none. */
struct variables {
	struct variable *all; /* owned */
	size_t count, bytes;
	uint64_t number; /* of the last change */
};

void variables_done(struct variables *v);

/* What shells take for one: letters, digits and _, no digit first.  Names that begin
 * with __hutch are the session's own. */
#define VARIABLE_NAME_RULE \
	"letters, digits and _, no digit first, up to 255, without __hutch in front"
bool variable_is_name(const char *name);

/* Whether a program can be started with NAME=value of these lengths (execve(2)). */
int variable_check_size(const char *name, size_t name_len, size_t value_len, struct err *e);

/* A value of NULL unsets it.  -1: no name, or a bound was reached; nothing changed. */
int variables_set(struct variables *v, const char *name, const char *value, struct err *e);

/* "NAME=value" and names, all or none of them. */
int variables_change(struct variables *v, const struct list *set, const struct list *unset,
		     struct err *e);

/* Puts them on top of a list of "NAME=value". */
void variables_apply(const struct variables *v, struct list *env);

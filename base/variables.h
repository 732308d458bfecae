/* variables -- the changes to a sandbox's environment since the sandbox was made.
 *
 * The supervisor keeps the changes for a sandbox, and the executor has a copy
 * (MSG_ENV).  A process that starts later gets its own environment with these
 * changes on top; a shell that is running is told the changes that it does not know
 * yet.  A variable that was unset is kept as a change, too. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct list;

/* The bounds of one variable.  execve(2) accepts no NAME=value longer than this, its
 * NUL counted (MAX_ARG_STRLEN), and, with the usual stack limit of 8 MiB, 2 MiB of
 * arguments and environment in all. */
#define VARIABLE_MAX	  (128u << 10)
#define VARIABLE_NAME_MAX 255
#define VARIABLES_MAX	  1024
#define VARIABLES_BYTES	  (1u << 20) /* the bound of all names and values together */

struct variable {
	char *name, *value; /* owned; a value of NULL: the variable is unset */
	uint64_t number;    /* the number of the variable's last change */
};

/* All changes of an environment.  The zero object has no changes. */
struct variables {
	struct variable *all; /* owned: the changed variables */
	size_t count, bytes;
	uint64_t number; /* the number of the latest change to any variable */
};

void variables_done(struct variables *v);

/* The rule for names, as shells have it: letters, digits and _, no digit first.
 * Names that begin with __hutch are reserved for the session. */
#define VARIABLE_NAME_RULE \
	"letters, digits and _, no digit first, up to 255, without __hutch in front"
bool variable_is_name(const char *name);

/* Checks that a program can be started with NAME=value of these lengths
 * (execve(2)). */
int variable_check_size(const char *name, size_t name_len, size_t value_len,
			struct err *e);

/* Sets a variable or, with a NULL value, unsets it.  Returns -1 if the name is
 * invalid or a bound was reached; nothing has changed then. */
int variables_set(struct variables *v, const char *name, const char *value,
		  struct err *e);

/* Sets and unsets variables: `set` has "NAME=value", and `unset` has names.  Either
 * all changes are made or none. */
int variables_change(struct variables *v, const struct list *set,
		     const struct list *unset, struct err *e);

/* Applies the changes to a list of "NAME=value". */
void variables_apply(const struct variables *v, struct list *env);

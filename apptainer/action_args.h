/* action_args -- the flags of exec, run, shell and instance start become hutch's. */
#pragma once
#include <stdbool.h>

#include "docker/args.h"

struct err;

struct action {
	struct args args;	   /* first, so that action_of() finds the whole */
	struct list env, file_env; /* owned: KEY=VALUE of --env, and of --env-file */
	struct list targets;	   /* owned: where inside something is shown */
	char *home;		   /* owned: the home inside; NULL: no --home */
	char *home_source;	   /* owned: the folder of this host for it */
	const char *directory;	   /* borrowed, as are the others: --pwd; NULL: none */
	const char *network, *overlay, *shell;
	bool is_contained, is_writable, has_writable_memory, leaves_current_out;
	bool leaves_home_out;
};

struct action *action_of(struct args *a);
void action_done(struct action *a);

/* Whether --help stands behind the verb; it is printed then. */
bool action_args_help(char **argv, const char *verb, const char *operands);

/* Reads flags up to the first operand, to which *argv is moved. */
int action_args_read(char ***argv, const char *verb, struct action *a, struct err *e);

/* Returns all variables for the inside as KEY=VALUE, in *ret. */
void action_args_env(const struct action *a, struct list *ret);

/* Adds hutch's words for the network.  `policy`: the user's policy for these words, or
 * NULL. */
void action_args_add_network(const struct action *a, const char *policy,
			     struct list *ret);

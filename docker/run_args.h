/* run_args -- the words of `docker run` and `docker exec` become those of a verb of
 * hutch.
 *
 * Pure: nothing is started and nothing made; the caller sets `policy` and `opens_host`
 * of args.h before, and makes the volumes after. */
#pragma once
#include <stdbool.h>

#include "base/list.h"

struct args;
struct err;

/* Reads the words behind `docker run`.  *ret gets the words of `hutch run`, or with -d
 * those of `hutch create --main`; a->name is then the sandbox's name, and `made_name` is
 * used where none was given. */
int run_args_read(char **argv, const char *made_name, struct args *a, struct list *ret,
		  struct err *e);

/* Whether --help stands behind `docker run`, or `docker exec`; it is printed then. */
bool run_args_help(char **argv);
bool run_args_help_exec(char **argv);

/* Adds the words of hutch for a network that docker's words name. */
void run_args_add_network(const char *network, struct list *ret);

/* Takes the value of --platform, which has to be this machine's. */
int run_args_platform(struct args *a, const char *value, struct err *e);

/* Reads the words behind `docker exec`: *ret_box is the word for the container, and
 * a->words has hutch's flags.
 * Returns the words of the command, or NULL with an error. */
char **run_args_read_exec(char **argv, struct args *a, const char **ret_box,
			  struct err *e);

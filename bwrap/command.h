/* command -- the command's working directory, and its start. */
#pragma once

struct args;
struct err;

/* Changes to --chdir; or else to the caller's working directory `old`, which may be NULL,
 * or to $HOME, if they exist inside.  Sets $PWD. */
int command_chdir(const struct args *a, const char *old, struct err *e);

/* Executes the command, found in $PATH.  Returns only on failure. */
int command_exec(const struct args *a, struct err *e);

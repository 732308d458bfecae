/* identity -- makes this process the process that a configuration describes, as its last
 * steps before execve(2): limits, labels, ids, capabilities, no_new_privs and filter. */
#pragma once
#include <stdbool.h>

struct err;
struct filter;
struct process;

/* The steps that the verb does for the process `pid`, whose own /proc files the process may
 * not open: the score for the kernel's choice when memory is out. */
int identity_early(const struct process *p, int pid, struct err *e);

/* Does all other steps.  A filter with a listener sends that over `link`.  -1: this process
 * must end. */
int identity_take(const struct process *p, const struct filter *f, int link,
		  struct err *e);

/* Adds HOME to the environment if it has none: the home that passwd(5) of the container
 * has for the user, else "/". */
void identity_add_home(struct process *p);

/* Finds the command args[0] as execvp(3) does, with the PATH of the process's own
 * environment.  *ret is allocated.  ERR_NOT_FOUND, in words that engines look for:
 * "executable file 'x' not found in $PATH". */
int identity_find(const struct process *p, char **ret, struct err *e);

/* Executes the command, found at `path`.  Returns only if that failed. */
int identity_execute(const struct process *p, const char *path, struct err *e);

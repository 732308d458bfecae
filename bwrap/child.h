/* child -- the process that becomes the command, or the reaper above it.
 *
 * Runs in the new namespaces, stage by stage, until it executes the command.  Until then
 * it runs hutch's own code only.  A failure ends it with 1, after its sentence was
 * printed on stderr. */
#pragma once
#include <stdbool.h>

struct args;
struct namespaces;

struct child {
	struct args *args;		     /* borrowed */
	const struct namespaces *namespaces; /* borrowed */
	/* owned: ends of pipes to the launcher, close-on-exec; -1: none */
	int go;	    /* the child waits for a byte before the command is started; with
		     * --userns-block-fd before its ids are used */
	int report; /* a struct err of kind ERR_NONE is written here right before
		     * execve(2), and every other one when a stage fails */
	int ended;  /* the reaper writes the command's status of wait(2) here */
	int alive;  /* a pidfd of the launcher, for --die-with-parent */
};

__attribute__((noreturn)) void child_run(struct child *c);

/* Whether another process than the command is pid 1 inside, or holds locks for it. */
bool child_has_reaper(const struct args *a);

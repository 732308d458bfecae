/* reaper -- pid 1 of a sandbox whose command is another process.
 *
 * It waits for every process of the pid namespace, and holds the locks of --lock-file and
 * the descriptor of --sync-fd as long as one of them lives. */
#pragma once
#include <sys/types.h>

struct args;
struct err;

/* The command below the reaper, and the descriptors that it needs. */
struct reaper {
	pid_t command;
	int ended; /* the command's status of wait(2) is written here; -1: nowhere */
	int alive; /* a pidfd of the caller's process, for --die-with-parent */
};

/* Takes the locks and the filters, and gives up all capabilities and descriptors. */
int reaper_begin(const struct args *a, const struct reaper *r, struct err *e);

/* Waits for the end of all processes.  Returns the command's status of wait(2). */
int reaper_run(const struct reaper *r);

/* Has the kernel kill this process when its parent ends (--die-with-parent).  `alive`:
 * a pidfd of a process whose end is noticed if it came before. */
int reaper_die_with(int alive, struct err *e);

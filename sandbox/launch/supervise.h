/* supervise -- watches a sandbox that runs a single command, until both have ended.
 *
 * One process, one poll(2), no thread.  The process watches the child's failure socket,
 * the executor's channel, the sandbox's pidfd, signals to hutch, the deadline, and the
 * pumps. */
#pragma once
#include <stdint.h>

struct err;
struct exec;
struct launch;
struct ports;
struct result;
struct sandbox;
struct protect_watch;
struct stdio;

struct run {
	struct sandbox *sandbox; /* borrowed; freshly spawned */
	const struct exec *exec; /* the command; the request to start it is sent at
				  * once */
	struct stdio *stdio;
	uint64_t timeout_ms; /* the time-out of the command; 0: none */
	int signals;	     /* a signalfd of supervise_signals(), borrowed */
	uint64_t watched_memory; /* the memory limit that hutch itself enforces
				  * (watchdog.h), in bytes; 0: none */
	struct protect_watch *protect_watch;	 /* borrowed; NULL: no protected file is
						  * watched */
	struct ports *ports;	 /* borrowed; NULL: no port is published */
	struct launch *launch;	 /* borrowed; hears of connections (launch_hear());
				  * NULL: there are none */
};

/* Blocks the signals that hutch handles itself, and returns a signalfd for them.  To be
 * called before the sandbox is spawned, so that no signal is missed. */
int supervise_signals(struct err *e);

/* Runs the command to its end.  Returns when the kernel has ended all processes of the
 * sandbox and everything that the command wrote has been delivered.  *ret says how the
 * run ended, also after a failure; no process of the sandbox is left. */
void supervise_run(struct run *run, struct result *ret);

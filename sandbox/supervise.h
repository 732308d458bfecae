/* supervise -- watches one sandbox that runs one command, to its end.
 *
 * One process, one poll(2), no thread.  What it watches: the child's failure
 * socket, the executor's channel, the sandbox's pidfd, signals to us, the
 * deadline, and the pumps. */
#pragma once
#include <stdint.h>

struct err;
struct exec;
struct ports;
struct result;
struct sandbox;
struct sentry;
struct stdio;

struct run {
	struct sandbox *sandbox; /* freshly spawned */
	const struct exec *exec; /* the command; the request is sent at once */
	struct stdio *stdio;
	uint64_t timeout_ms; /* 0: none */
	int signals;	     /* a signalfd of supervise_signals(), borrowed */
	uint64_t watched_memory; /* bytes; 0: nobody looks (watchdog.h) */
	struct sentry *sentry;	 /* borrowed; NULL: none */
	struct ports *ports;	 /* borrowed; NULL: none */
};

/* Blocks the signals that are watched and returns a signalfd for them.  Before
 * the sandbox is spawned, so that none is missed. */
int supervise_signals(struct err *e);

/* Returns when the sandbox is over, the kernel has ended all its processes and
 * everything that the command wrote has been delivered.  Whatever happens is
 * in *ret; nothing of the sandbox is left. */
void supervise_run(struct run *run, struct result *ret);

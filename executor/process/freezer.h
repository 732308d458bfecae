/* freezer -- the executor's side of the process that stops all others inside by tracing
 * them (seize.h).
 *
 * A freezer is made for one pause: a copy of the executor that keeps CAP_SYS_PTRACE and
 * three descriptors.  It is a separate process because PTRACE_SEIZE can block for ever,
 * and the executor must not block.  The freezer may have the user id of the commands.
 * Until all commands are stopped, one of them can kill or stop the freezer, and then the
 * pause fails; it also fails if one command traces another.  Once all are stopped, none
 * can do that any more.
 *
 *	freezer_start	-> STARTED
 *	STARTED		the freezer reports that all have stopped, or why not, or
 *			its deadline has passed: freezer_serve()
 *	any		freezer_release(): the freezer lets all go on and exits; if a
 *			tracee stops the freezer meanwhile, the executor kills it,
 *			and the kernel detaches the other tracees
 *	any		the freezer has exited: freezer_reaped()
 *	any		the executor dies, so `hold` is at its end: all are killed
 *
 * A freezer_start() takes effect only after an earlier, released freezer was reaped. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/message.h"

struct caps;
struct pollfd;

struct freezer {
	pid_t pid;	 /* the freezer's pid; 0: there is none */
	int said, hold;	 /* owned; the pipe of the freezer's reports, and the pipe of
			  * orders to it, whose second byte lets all go on; -1: closed */
	int64_t due;	 /* in ms of clock.h, the deadline of the freezer's report or,
			  * after its release, of its exit; 0: none */
	uint32_t wanted; /* number of a pause that begins as soon as this freezer is
			  * reaped; 0: none */
	uint32_t number; /* number of the freezer's pause; 0: the freezer was released */
	bool is_lost;	 /* the freezer has died during the pause that it held */
	const struct caps *caps; /* borrowed */
	int proc;		 /* borrowed; a procfs as in tree.h; -1: there is none,
				  * and each pause fails */
};

void freezer_init(struct freezer *f, int proc, const struct caps *caps);
void freezer_done(struct freezer *f);

/* freezer_start() begins pause `number`, and freezer_release() ends it.  `now` is in ms
 * of clock.h, here and below.  freezer_serve() reports whether the pause has
 * succeeded. */
void freezer_start(struct freezer *f, uint32_t number, int64_t now);
void freezer_release(struct freezer *f);

/* Wait for the freezer's report: freezer_watch() fills in an entry for poll(2), and
 * freezer_serve() is called after poll(2), and at f->due.  freezer_serve() returns true
 * when the report is in *ret: once for each freezer_start(), unless freezer_release()
 * came first. */
void freezer_watch(const struct freezer *f, struct pollfd *w);
bool freezer_serve(struct freezer *f, int64_t now, struct frozen *ret);

/* Called for a child that was reaped.  Returns false if the child was not the freezer. */
bool freezer_reaped(struct freezer *f, pid_t pid, int64_t now);

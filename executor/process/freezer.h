/* freezer -- the executor's side of the process that seizes all others inside
 * (seize.h).
 *
 * A freezer is made for one pause: a copy of the executor that keeps CAP_SYS_PTRACE and
 * three descriptors.  It is a separate process because PTRACE_SEIZE can block for ever,
 * and the executor must not block.  Its user may be the commands': until all are
 * stopped, a command can end or stop the freezer, and the pause fails, as it does if
 * one of them traces another.  Once all are stopped, no process is left that could.
 *
 *	freezer_start	-> STARTED
 *	STARTED		it reports that all stand, or why not, or had its time: _serve()
 *	any		freezer_release(): it lets all go on, and exits; if a tracee
 *			stops it meanwhile, it is killed, and the kernel lets go the rest
 *	any		it has exited: freezer_reaped()
 *	any		the executor dies, and `hold` hangs up: all are killed
 *
 * While a released freezer has not been reaped, freezer_start() waits for that. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/message.h"

struct caps;
struct pollfd;

struct freezer {
	pid_t pid;	 /* of the freezer; 0: there is none */
	int said, hold;	 /* owned; the freezer's reports; and our end of its input, whose
			  * second byte lets all go on; -1: closed */
	int64_t due;	 /* in ms of clock.h, the deadline of its report or, after its
			  * release, of its exit; 0: none */
	uint32_t wanted; /* number of a pause that begins as soon as this freezer is
			  * reaped; 0: none */
	uint32_t number; /* number of the freezer's pause; 0: the freezer was released */
	bool is_lost;	 /* the freezer has died while all were stopped */
	const struct caps *caps; /* borrowed */
	int proc;		 /* borrowed; a procfs as in tree.h; -1: there is none,
				  * and each pause fails */
};

void freezer_init(struct freezer *f, int proc, const struct caps *caps);
void freezer_done(struct freezer *f);

/* Begins pause `number`, or ends a pause.  `now` is in ms of clock.h, here and below.
 * freezer_serve() tells whether the pause has succeeded. */
void freezer_start(struct freezer *f, uint32_t number, int64_t now);
void freezer_release(struct freezer *f);

/* Waits for the freezer's report: freezer_watch() fills in an entry for poll(2), and
 * freezer_serve() is called after poll(2), and at f->due.  freezer_serve() returns true
 * when *ret is the answer, once for each freezer_start() that no freezer_release()
 * followed. */
void freezer_watch(const struct freezer *f, struct pollfd *w);
bool freezer_serve(struct freezer *f, int64_t now, struct frozen *ret);

/* Called for a child that was reaped.  Returns false if the child was not the freezer. */
bool freezer_reaped(struct freezer *f, pid_t pid, int64_t now);

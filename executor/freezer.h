/* freezer -- the process that seizes all others inside (seize.h), as the executor has it.
 *
 * It is made for one pause: a copy of the executor that keeps CAP_SYS_PTRACE and three
 * descriptors.  It is a separate process because PTRACE_SEIZE can block for ever, and the
 * executor must not block.  Its user may be the commands': until all stand, one of
 * them can end or stop it, and the pause fails, as it does where one of them traces
 * another.  Once all stand, no process is left that could.
 *
 *	freezer_start		-> STARTED
 *	STARTED			it says that all stand, or why not, or had its time: _serve()
 *	any			freezer_release(): it lets all go on, and exits; if one of them stops
 *				it meanwhile, it is killed, and the kernel lets go the rest
 *	any			it has exited: freezer_reaped()
 *	any			the executor dies, and `hold` hangs up: all are killed
 *
 * While one that was released has not been reaped, freezer_start() waits for that. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/message.h"

struct caps;
struct pollfd;

struct freezer {
	pid_t pid;	 /* 0: there is none */
	int said, hold;	 /* owned: what it says; the second byte to `hold` lets all go on; -1 */
	int64_t due;	 /* no longer than this, in ms of clock.h, until it says its word or, when it
			  * was released, until it has gone; 0: there is no such bound */
	uint32_t wanted; /* the number of a pause that begins when there is none; 0: none */
	uint32_t number; /* of the pause that it is for; 0: it was released */
	bool is_lost;	 /* it has died, and all stood */
	const struct caps *caps; /* borrowed */
	int proc;		 /* borrowed; tree.h; -1: none, and all that is asked fails */
};

void freezer_init(struct freezer *f, int proc, const struct caps *caps);
void freezer_done(struct freezer *f);

/* `now` is in ms of clock.h in all of these.  The answer is that of freezer_serve(). */
void freezer_start(struct freezer *f, uint32_t number, int64_t now);
void freezer_release(struct freezer *f);

/* A place for poll(2).  freezer_serve() behind it, and at f->due: true when there is an
 * answer, once for each freezer_start() without a freezer_release(). */
void freezer_watch(const struct freezer *f, struct pollfd *w);
bool freezer_serve(struct freezer *f, int64_t now, struct frozen *ret);

/* False: it was not this child. */
bool freezer_reaped(struct freezer *f, pid_t pid, int64_t now);

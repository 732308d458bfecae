/* sessions -- shells that last, and what an agent does in them.
 *
 * A session is a shell (shell.h) and at most one action on it.  Its command may
 * outlive the action that started it: a time-out ends the waiting only.  What it
 * prints meanwhile is read and kept, within bounds (screen.h), so that it never
 * stands still for want of a reader; only where a supervisor wants to see it as it
 * comes and does not read does the terminal fill up.
 *
 * A shell that ended is started again by the next command, where it was: in the
 * last working directory, else the first, else the root.
 *
 * Sessions that do nothing are watched by one epoll(7), so that sixty of them cost no
 * more than one; when it tells of something, that one is looked at.
 *
 * One turn of the executor's loop: sessions_watch, poll(2) until sessions_due at
 * most, sessions_serve, sessions_reaped for each child that is no command,
 * sessions_expire.  `now` is that turn's, and in ms of everyone_now(), as all times
 * are.  What is to be said goes to `replies`.
 *
 * Output may cost a thousand times its bytes to draw.  So the sessions count work, not bytes
 * (display.h): each has its share of a turn, and all together have theirs, in which requests
 * that end with a report have a part, too.  Output beyond that waits at its terminal. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/action.h"
#include "base/message.h"
#include "base/variables.h"

struct replies;
struct err;
struct everyone;
struct exec;
struct frame;
struct leaders;
struct pollfd;
struct processes;
struct run_request;
struct session;
struct tapes;
struct user;

/* More than this get FAILED, stage FORK, EAGAIN. */
#define SESSIONS_MAX 64
/* All sessions together draw so much in one turn, in units of display.h.  That is a tenth of a
 * millisecond: the end of a process that is started is told three turns later.  A session that
 * had no part of a turn is first in the next one. */
#define SESSIONS_WORK (16u << 10)
/* How many pollfds a session fills in at most, and all of them one more. */
#define SESSION_POLLS 3

/* Zero but for what is borrowed. */
struct sessions {
	struct session **all; /* owned, each owned */
	size_t count;
	struct replies *replies; /* borrowed */
	struct processes *processes; /* borrowed; counts the descriptors */
	const struct user *user;     /* borrowed */
	const struct everyone *everyone; /* borrowed */
	int proc; /* borrowed; tree.h; -1: none */
	struct tapes *tapes; /* borrowed */
	struct variables variables; /* owned; what shells get beside their own */
	int epoll; /* owned; of those who do nothing; 0: none yet */
	bool has_parked; /* it took a place for poll(2) */
	uint64_t work;	 /* left in this turn */
};

void sessions_done(struct sessions *s);

/* MSG_ENV, MSG_OPEN, MSG_RUN, MSG_CANCEL.  -1: malformed, or not permitted. */
int sessions_env(struct sessions *s, const struct frame *f, struct err *e);
int sessions_open(struct sessions *s, const struct frame *f, int64_t now, struct err *e);
int sessions_run(struct sessions *s, const struct frame *f, int64_t now, struct err *e);
int sessions_cancel(struct sessions *s, const struct frame *f, int64_t now,
		    struct err *e);

/* What the action prints has no reader, or has one again. */
void sessions_hold(struct sessions *s, uint32_t id, bool is_held, int64_t now);

/* Ends the one of this id with its tree (MSG_END), and forgets it; nothing where there is
 * none.  -1: it is not started, or has an action. */
int sessions_end(struct sessions *s, uint32_t id, struct err *e);

/* Their shells. */
void sessions_add_leaders(const struct sessions *s, struct leaders *to);

/* True when a session or an action has this id. */
bool sessions_has(const struct sessions *s, uint32_t id);

/* Where, and as whom, files are meant of session `id`; what *place says stays for
 * 0, which is none.  False: there is no such session. */
bool sessions_place(const struct sessions *s, uint32_t id, struct file_place *place);

/* How commands of it are run; NULL for 0, and for none. */
const struct exec *sessions_exec(const struct sessions *s, uint32_t id);

/* `is_full`: nothing more is to be streamed now. */
size_t sessions_watch(struct sessions *s, struct pollfd *fds, bool is_full);
void sessions_serve(struct sessions *s, const struct pollfd *fds, int64_t now);
/* A child has ended, and is about to be reaped: its number is its own still. */
void sessions_dying(struct sessions *s, pid_t pid);
void sessions_reaped(struct sessions *s, pid_t pid, int status, int64_t now);

/* There is something to do without poll(2), in the next turn. */
bool sessions_have_more(const struct sessions *s);
/* The turn's work is done: what is asked for may wait until the next one. */
bool sessions_have_worked(const struct sessions *s);

/* When something is due; INT64_MAX: never.  Then sessions_expire(). */
int64_t sessions_due(const struct sessions *s);
void sessions_expire(struct sessions *s, int64_t now);

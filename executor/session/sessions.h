/* sessions -- shells that last, and an agent's actions in them.
 *
 * A session is a shell (shell.h) and at most one action on it.  Its command may outlive
 * the action that started it: a time-out ends the waiting only.  Output of the command
 * is read and kept meanwhile, within bounds (screen.h), so that the command never
 * stands still for want of a reader.  Only if the supervisor streams the output and
 * does not read it, the terminal fills up.
 *
 * A shell that ended is started again by the next command: in the last working
 * directory, else the first, else the root.
 *
 * Idle sessions are watched by one epoll(7), so that sixty of them cost no more than
 * one; a session for which it reports an event is served.
 *
 * One turn of the executor's loop: sessions_watch, poll(2) until sessions_due at most,
 * sessions_serve, sessions_reaped for each child that is no command, sessions_expire.
 * `now` is that turn's, in ms of all_processes_now(), as all times are.  Answers go to
 * `replies`.
 *
 * Output may cost a thousand times its bytes to draw.  Therefore the sessions count
 * work, not bytes (display.h): each has its share of a turn, and all together have
 * theirs, which also pays for requests that end with a report.  Output beyond that
 * waits at its terminal. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/variables.h"
#include "protocol/action.h"
#include "protocol/message.h"

struct send_queue;
struct err;
struct all_processes;
struct exec;
struct frame;
struct leaders;
struct pollfd;
struct processes;
struct run_request;
struct session;
struct output_logs;
struct user;

/* There may be so many sessions; a further one is refused with FAILED, stage FORK,
 * EAGAIN. */
#define SESSIONS_MAX 64
/* The work that all sessions together may draw in one turn, in units of display.h.
 * This is a tenth of a millisecond: the end of a process that is started is reported
 * three turns later.  A session that had no part of a turn is first in the next one. */
#define SESSIONS_WORK (16u << 10)
/* One session fills in at most so many pollfds; the idle sessions together use one
 * more. */
#define SESSION_POLLS 3

/* All sessions of the executor.  Begins as a zeroed struct, with the borrowed fields
 * set. */
struct sessions {
	struct session **all; /* owned; the array, and each session in it */
	size_t count;
	struct send_queue *replies; /* borrowed */
	struct processes *processes; /* borrowed; counts the descriptors */
	const struct user *user;     /* borrowed */
	const struct all_processes *all_processes; /* borrowed */
	int proc; /* borrowed; the procfs, as in tree.h; -1: none */
	struct output_logs *output_logs; /* borrowed */
	struct variables variables; /* owned; variables that shells get in addition to
				     * their own environment */
	int epoll; /* owned; watches idle sessions; 0: not made yet; -1: it could not be
		    * made */
	bool has_parked; /* `epoll` took an entry for poll(2) */
	uint64_t work;	 /* how much all sessions may still draw in this turn, in units of
			  * display.h */
};

void sessions_done(struct sessions *s);

/* These functions answer the requests MSG_ENV, MSG_OPEN, MSG_RUN and MSG_CANCEL.  Each
 * returns -1 if the request is malformed, or not permitted. */
int sessions_env(struct sessions *s, const struct frame *f, struct err *e);
int sessions_open(struct sessions *s, const struct frame *f, int64_t now, struct err *e);
int sessions_run(struct sessions *s, const struct frame *f, int64_t now, struct err *e);
int sessions_cancel(struct sessions *s, const struct frame *f, int64_t now,
		    struct err *e);

/* Called when the stream of the action `id` has no reader (`is_held`), or has one
 * again. */
void sessions_hold(struct sessions *s, uint32_t id, bool is_held, int64_t now);

/* Ends the session of this id with its process tree (MSG_END), and forgets it; does
 * nothing if there is none.  -1: the session has not started, or has an action. */
int sessions_end(struct sessions *s, uint32_t id, struct err *e);

/* Adds the sessions' shells to the leaders, which a pause stops first. */
void sessions_add_leaders(const struct sessions *s, struct leaders *to);

/* Returns true if a session or an action has this id. */
bool sessions_has(const struct sessions *s, uint32_t id);

/* Sets *place to the user and working directory for files of session `id`; for 0, which
 * means no session, *place stays as it is.  Returns false if there is no such session. */
bool sessions_place(const struct sessions *s, uint32_t id, struct file_place *place);

/* Returns how commands of the session are run; NULL for 0, and for a session that does
 * not exist. */
const struct exec *sessions_exec(const struct sessions *s, uint32_t id);

/* Fills in the sessions' entries for poll(2), and returns how many entries it filled in.
 * `is_full`: no more output is to be streamed now. */
size_t sessions_watch(struct sessions *s, struct pollfd *fds, bool is_full);
void sessions_serve(struct sessions *s, const struct pollfd *fds, int64_t now);
/* Called when a child has ended and is about to be reaped: its pid is still its own. */
void sessions_dying(struct sessions *s, pid_t pid);
void sessions_reaped(struct sessions *s, pid_t pid, int status, int64_t now);

/* Returns true if a session has work to do in the next turn without waiting in
 * poll(2). */
bool sessions_have_more(const struct sessions *s);
/* Returns true if the turn's work is spent: requests wait until the next turn. */
bool sessions_have_worked(const struct sessions *s);

/* Returns the time at which sessions_expire() is due; INT64_MAX: never. */
int64_t sessions_due(const struct sessions *s);
void sessions_expire(struct sessions *s, int64_t now);

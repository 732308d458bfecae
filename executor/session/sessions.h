/* sessions -- long-lived shells, and an agent's actions in them.
 *
 * A session is a shell (shell.h) and at most one action on it.  Its command may outlive
 * the action that started it: a time-out ends the waiting only.  Output of the command is
 * read and kept meanwhile, within bounds (screen.h), so that the command is never blocked
 * for lack of a reader.  There is one exception: if the supervisor asks for a stream and
 * does not read it, the terminal fills up.
 *
 * A shell that ended is started again by the next command: in its last working directory,
 * else in the one of the request that opened the session, else in the root.
 *
 * All idle sessions are watched by one epoll(7), so that sixty of them cost no more than
 * one.
 *
 * One turn of the executor's loop: sessions_watch, poll(2) until sessions_due at most,
 * sessions_serve, sessions_reaped for each child that is no command, sessions_expire.
 * `now` is the time of that turn; all times are in ms of all_processes_now().  Answers go
 * to `replies`.
 *
 * Some bytes of output cost a thousand times as much to draw as others.  Therefore what a
 * turn of the loop may do is limited by drawing work (display.h), not by bytes: there is
 * a limit for each session, and one for all sessions together, from which the reports of
 * that turn are also paid.  Further output stays in its terminal until the next turn. */
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

/* The largest number of sessions; a further one is answered with MSG_FAILED, with stage
 * EXEC_STAGE_FORK and EAGAIN. */
#define SESSIONS_MAX 64
/* How much drawing work all sessions together may do in one turn, in units of display.h.
 * This is a tenth of a millisecond, since other commands wait meanwhile: the end of a
 * process is reported only three turns after its start.  A session that got no share in
 * one turn is first in the next one. */
#define SESSIONS_WORK (16u << 10)
/* One session has at most this many entries for poll(2); all idle sessions together have
 * one. */
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
	struct variables variables; /* owned; variables that shells get in addition to the
				     * environment in their request */
	int epoll; /* owned; the epoll(7) of idle sessions; 0: not made yet; -1: it could
		    * not be made */
	bool has_parked; /* the first entry for poll(2) is that of `epoll` */
	uint64_t work;	 /* how much drawing work is left for all sessions in this turn,
			  * in units of display.h */
};

void sessions_done(struct sessions *s);

/* These functions answer the requests MSG_ENV, MSG_OPEN, MSG_RUN and MSG_CANCEL.  Each
 * returns -1 if the request is malformed, or not permitted. */
int sessions_env(struct sessions *s, const struct frame *f, struct err *e);
int sessions_open(struct sessions *s, const struct frame *f, int64_t now, struct err *e);
int sessions_run(struct sessions *s, const struct frame *f, int64_t now, struct err *e);
int sessions_cancel(struct sessions *s, const struct frame *f, int64_t now,
		    struct err *e);

/* Called when the reader of action `id`'s streamed output has stopped reading
 * (`is_held`), or reads again. */
void sessions_hold(struct sessions *s, uint32_t id, bool is_held, int64_t now);

/* Ends a session: kills its shell's process tree and forgets it (MSG_END).  Does nothing
 * if there is no session of this id.  Returns -1 if the session has not started yet, or
 * has an action. */
int sessions_end(struct sessions *s, uint32_t id, struct err *e);

/* Adds the sessions' shells to the leaders, which a pause stops first
 * (all_processes.h). */
void sessions_add_leaders(const struct sessions *s, struct leaders *to);

/* Returns true if a session or an action has this id. */
bool sessions_has(const struct sessions *s, uint32_t id);

/* Sets *place to the user and the working directory of session `id`, for access to files.
 * An `id` of 0 means no session, and *place stays as it is.  Returns false if there is no
 * such session. */
bool sessions_place(const struct sessions *s, uint32_t id, struct file_place *place);

/* Returns how commands of session `id` are run (user, limits, environment); NULL if `id`
 * is 0, or if there is no such session. */
const struct exec *sessions_exec(const struct sessions *s, uint32_t id);

/* Fills in the sessions' entries for poll(2), and returns how many.  With `is_full` no
 * terminal is read whose output is streamed. */
size_t sessions_watch(struct sessions *s, struct pollfd *fds, bool is_full);
void sessions_serve(struct sessions *s, const struct pollfd *fds, int64_t now);
/* Called when a child has ended and is not reaped yet, so that its pid cannot have been
 * reused. */
void sessions_dying(struct sessions *s, pid_t pid);
void sessions_reaped(struct sessions *s, pid_t pid, int status, int64_t now);

/* Returns true if a session has work for the next turn that needs no event from
 * poll(2). */
bool sessions_have_more(const struct sessions *s);
/* Returns true if the sessions' work of this turn is used up; further requests then wait
 * until the next turn. */
bool sessions_have_worked(const struct sessions *s);

/* Returns the time at which sessions_expire() is due; INT64_MAX: never. */
int64_t sessions_due(const struct sessions *s);
void sessions_expire(struct sessions *s, int64_t now);

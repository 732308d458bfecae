/* session_action -- what somebody waits for in a session, and for how long.
 *
 * An action is a command, a line or a key for the one that runs, or only waiting.
 * Two time-outs end the waiting and nothing else: the soft one, counted from the
 * last output, and the hard one.
 *
 * A cancellation escalates: SIGINT as from the terminal; a second later SIGKILL for
 * the foreground process group; soon after that SIGKILL for the shell, of which the
 * group may be a part.  Whatever of this ends the command answers the action.
 *
 * A SIGINT, typed or of a cancellation, is held back while bash reads and parses. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct run_request;
struct session;
struct session_action;

/* A request about it, when it has no action. */
void session_run(struct session *s, uint32_t id, const struct run_request *r,
		 int64_t now);
/* Ends its action. */
void session_cancel(struct session *s, int64_t now);

/* Whoever streams it does not read, or does again: it waits with what it prints. */
void session_hold(struct session *s, bool is_held, int64_t now);
/* Its terminal has printed something. */
void session_heard(struct session *s, int64_t now);

/* When something is due; INT64_MAX: never. */
int64_t session_due(const struct session *s);
/* Does what is due at `now`. */
void session_expire(struct session *s, int64_t now);

/* --- what is to be done: these tell it, and do nothing --------------------------- */

/* session_overdue() tells all that is due at `now`, as a set of these. */
enum session_overdue {
	OVERDUE_START = 1, /* a shell that begins, or takes its variables, is ended */
	OVERDUE_KEY = 2,   /* a key that is a signal is typed */
	OVERDUE_KILL = 4,  /* a cancellation has its next step */
	OVERDUE_SOFT = 8,  /* the action ends for want of output */
	OVERDUE_HARD = 16, /* the action has had its time */
	OVERDUE_INNER = 32, /* a shell that comes is looked at again */
	OVERDUE_HIT = 64, /* a ^C that a dying program had is typed again */
};
unsigned session_overdue(const struct session *s, int64_t now);

/* A cancellation's next step, after which the one behind it is due some time later.
 * KILL_WAITS: it is not due yet, or there is no cancellation. */
enum kill_step { KILL_WAITS, KILL_INTERRUPTS, KILL_ENDS_FOREGROUND, KILL_ENDS_SHELL };
enum kill_step session_kill_step(struct session_action *a, int64_t now);

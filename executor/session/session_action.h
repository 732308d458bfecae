/* session_action -- the action that a client waits for in a session, and for how long.
 *
 * An action is a command, a line or a key for the running command, or only waiting.
 * Two time-outs end the waiting and nothing else: the soft one, counted from the last
 * output, and the hard one.
 *
 * A cancellation escalates: SIGINT as from the terminal; a second later SIGKILL for the
 * foreground process group; soon after that SIGKILL for the shell, which may belong to
 * that group.  The action is answered as soon as one of these ends the command.
 *
 * A SIGINT, typed or of a cancellation, is held back while bash reads and parses. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct run_request;
struct session;
struct session_action;

/* Does one request (a command, input, or only waiting) on a session that has no
 * action. */
void session_run(struct session *s, uint32_t id, const struct run_request *r,
		 int64_t now);
/* Begins to cancel the session's action. */
void session_cancel(struct session *s, int64_t now);

/* Called when the reader of the action's stream has stopped reading (`is_held`), or reads
 * again: the soft time-out does not run meanwhile. */
void session_hold(struct session *s, bool is_held, int64_t now);
/* Called when the session's terminal has printed something: the soft time-out begins
 * anew. */
void session_heard(struct session *s, int64_t now);

/* Returns the time at which session_expire() is due; INT64_MAX: never. */
int64_t session_due(const struct session *s);
/* Does the session's steps that are due at `now`, such as ending an action whose time-out
 * has passed. */
void session_expire(struct session *s, int64_t now);

/* --- due steps: these two functions tell them, and do nothing --------------------- */

/* session_overdue() returns all that is due at `now`, as a set of these. */
enum session_overdue {
	OVERDUE_START = 1, /* a shell that starts, or sets its variables, is killed */
	OVERDUE_KEY = 2,   /* a key that sends a signal is typed */
	OVERDUE_KILL = 4,  /* a cancellation takes its next step */
	OVERDUE_SOFT = 8,  /* the action ends for want of output */
	OVERDUE_HARD = 16, /* the action ends at its hard time-out */
	OVERDUE_INNER = 32, /* an inner shell that is to be driven is checked again */
	OVERDUE_HIT = 64, /* a ^C that only a dying program got is typed again */
};
unsigned session_overdue(const struct session *s, int64_t now);

/* The next step of a cancellation; the step after that becomes due some time later.
 * KILL_WAITS: no step is due yet, or there is no cancellation. */
enum kill_step { KILL_WAITS, KILL_INTERRUPTS, KILL_ENDS_FOREGROUND, KILL_ENDS_SHELL };
enum kill_step session_kill_step(struct session_action *a, int64_t now);

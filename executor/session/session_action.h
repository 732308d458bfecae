/* session_action -- the action in a session whose answer a client waits for, and its
 * time-outs.
 *
 * An action is a command, a line or a key for the running command, or only waiting.  Two
 * time-outs end the waiting, but not the command: the soft one, counted from the last
 * output, and the hard one, counted from the action's begin.
 *
 * A cancellation escalates: SIGINT to the foreground process group; a second later SIGINT
 * again; 100 ms later SIGKILL to that group; 200 ms later SIGKILL to the shell.  The
 * action is answered as soon as one of these ends the command.
 *
 * A SIGINT, from a typed ^C or from a cancellation, is held back while bash still reads
 * and parses the command. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct run_request;
struct session;
struct session_action;

/* Begins an action (a command, input, or only waiting) in a session that has none. */
void session_run(struct session *s, uint32_t id, const struct run_request *r,
		 int64_t now);
/* Begins to cancel the session's action. */
void session_cancel(struct session *s, int64_t now);

/* Called when the reader of the action's streamed output has stopped reading (`is_held`),
 * or reads again.  The soft time-out does not run in between. */
void session_hold(struct session *s, bool is_held, int64_t now);
/* Called when the session's terminal has printed something: the soft time-out starts
 * again. */
void session_heard(struct session *s, int64_t now);

/* Returns the time at which session_expire() is due; INT64_MAX: never. */
int64_t session_due(const struct session *s);
/* Does the session's steps that are due at `now`, such as ending an action whose time-out
 * has passed. */
void session_expire(struct session *s, int64_t now);

/* --- due steps: these two functions tell them, and do nothing --------------------- */

/* The steps of a session that can be due; session_overdue() returns the set of those that
 * are due at `now`. */
enum session_overdue {
	OVERDUE_START = 1, /* a shell takes too long to start or to set its variables, and
			    * is killed; or a start that was put off is due */
	OVERDUE_KEY = 2,   /* a key that sends a signal, and that was held back, is
			    * typed */
	OVERDUE_KILL = 4,  /* a cancellation takes its next step */
	OVERDUE_SOFT = 8,  /* the soft time-out ends the action */
	OVERDUE_HARD = 16, /* the hard time-out ends the action */
	OVERDUE_INNER = 32, /* the executor looks for an inner shell, or drives the one
			     * that it has found */
	OVERDUE_HIT = 64, /* a ^C that may have been lost is checked */
};
unsigned session_overdue(const struct session *s, int64_t now);

/* session_kill_step() returns the step of the cancellation that is due at `now`, and sets
 * when the next one is due.  KILL_WAITS: no step is due, or the action is not
 * cancelled. */
enum kill_step { KILL_WAITS, KILL_INTERRUPTS, KILL_ENDS_FOREGROUND, KILL_ENDS_SHELL };
enum kill_step session_kill_step(struct session_action *a, int64_t now);

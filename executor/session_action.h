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

/* A request about it, when it has no action. */
void session_run(struct session *s, uint32_t id, const struct run_request *r, int64_t now);
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

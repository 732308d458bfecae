/* session_output -- the output of a session's terminal, and the answers to actions.
 *
 * The output is drawn on a screen (screen.h), and a report contains the text that is new
 * on it.  If the action asks for a stream, the output is also sent as it comes.  A report
 * ends one action; several actions, and so several reports, may be about the same
 * command. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct failed;
struct session;

/* Answer MSG_OPEN: the session's shell has started, or has failed to start. */
void session_say_started(struct session *s);
void session_say_failed(struct session *s, const struct failed *why);

/* session_show() adds output to the screen and to the output log; session_forget() clears
 * the screen and ends the log. */
void session_show(struct session *s, const void *data, size_t len);
void session_forget(struct session *s);

/* Reads and draws output: about *max bytes at most, and no more than the session's share
 * of work allows.  Subtracts the bytes from *max.  Output starts the soft time-out again.
 * Returns true if there is no more to read. */
bool session_read(struct session *s, size_t *max, int64_t now);
/* Drops output that was read but is not drawn yet. */
void session_drop_ahead(struct session *s);
bool session_is_streaming(const struct session *s);

/* Answers the action with a report, and so ends the action.  `state` is an enum
 * report_state, and `more_flags` are of enum report_flag. */
void session_answer(struct session *s, uint32_t state, uint32_t more_flags);
/* Answers an action that cannot be done.  The report contains no output of the running
 * command. */
void session_refuse(struct session *s, uint32_t state);
/* Called before a new command.  If the last command ended while no action was there to
 * report it to, this reports that end, provided that the new action asks for it
 * (RUN_PREVIOUS), and clears the old output. */
void session_tell_previous(struct session *s);

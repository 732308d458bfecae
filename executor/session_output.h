/* session_output -- what a session's terminal printed, and what is said of it.
 *
 * A screen (screen.h) reads the terminal, and a report has what is new on it; where
 * the action streams, the bytes are said as they come, too.  A report ends the waiting
 * of one action, and a command may have several. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct failed;
struct session;

/* MSG_OPEN has its answer. */
void session_say_started(struct session *s);
void session_say_failed(struct session *s, const struct failed *why);

/* It was printed: the screen has it, and what is recorded.  And nothing was. */
void session_show(struct session *s, const void *data, size_t len);
void session_forget(struct session *s);

/* Reads the terminal: about *max bytes of it at most, which it takes from there, and no more than
 * can be drawn by the work that the session has left.  These bytes are new at `now`.  True: there
 * is no more to read. */
bool session_read(struct session *s, size_t *max, int64_t now);
/* Drops bytes that were read and are not drawn yet. */
void session_drop_ahead(struct session *s);
bool session_is_streaming(const struct session *s);

/* Answers the action with a report (enum report_state, enum report_flag), and there
 * is none any more. */
void session_answer(struct session *s, uint32_t state, uint32_t more_flags);
/* The same where nothing was done: nothing is told of what runs. */
void session_refuse(struct session *s, uint32_t state);
/* A new command comes: the end of the last, where nobody heard of it, is said if the
 * action asks for that, and forgotten. */
void session_tell_previous(struct session *s);

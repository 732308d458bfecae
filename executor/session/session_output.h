/* session_output -- the output of a session's terminal, and the answers about it.
 *
 * A screen (screen.h) reads the terminal, and a report holds what is new on the screen;
 * if the action streams, the bytes are also sent as they come.  A report ends the
 * waiting of one action; a command may have several reports. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct failed;
struct session;

/* Answers MSG_OPEN: the session's shell has started. */
void session_say_started(struct session *s);
void session_say_failed(struct session *s, const struct failed *why);

/* Adds output to the screen and to the output log; session_forget() empties both. */
void session_show(struct session *s, const void *data, size_t len);
void session_forget(struct session *s);

/* Reads the terminal: about *max bytes at most, which are subtracted from *max, and no
 * more than the session's remaining work can draw.  The soft time-out counts from these
 * bytes, which are new at `now`.  True: there is no more to read. */
bool session_read(struct session *s, size_t *max, int64_t now);
/* Drops output that was read and is not drawn yet. */
void session_drop_ahead(struct session *s);
bool session_is_streaming(const struct session *s);

/* Answers the action with a report (enum report_state, enum report_flag), which ends
 * the action. */
void session_answer(struct session *s, uint32_t state, uint32_t more_flags);
/* Answers an action that did nothing; the report tells nothing of the running
 * command. */
void session_refuse(struct session *s, uint32_t state);
/* Called before a new command: reports the end of the last command if no action heard
 * of it and this one asks for that, and forgets it. */
void session_tell_previous(struct session *s);

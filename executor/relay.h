/* relay -- carries bytes between a terminal and the supervisor's descriptors.
 *
 * Two queues of RELAY_MAX bytes, one each way.  A full queue stops the reading
 * at its other end, so nothing is dropped and nothing grows; nothing blocks.
 *
 * The end of the supervisor's input becomes what a person would type: the
 * terminal's end-of-file character (VEOF, ^D), twice where a line was left
 * unfinished, since the first one only hands that line out (termios(3)).
 *
 * If nobody reads the output any more, the terminal hangs up: the kernel sends
 * SIGHUP to what runs on it, as it does when a person's window closes.
 *
 * The relay keeps the terminal's slave side open too.  Else the master would
 * report a hang-up in the moments when no process has the terminal open, and
 * report it for ever, while a process could still open /dev/tty again. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "executor/terminal.h"

#define RELAY_MAX (64u << 10)
/* How many pollfds a relay fills in at most. */
#define RELAY_FDS 3

struct relay {
	struct terminal terminal; /* owned; closed after a hang-up */
	int in, out;		  /* owned; the supervisor's; -1 when at an end */
	struct buffer typed;	  /* from `in`, for the terminal */
	struct buffer shown;	  /* from the terminal, for `out` */
	size_t drain_left;	  /* after the command's end: how much to expect */
	bool is_line_open;	  /* the last byte typed did not end a line */
	bool is_draining;
};

/* Takes over all of `terminal` and the two descriptors.  They are made
 * non-blocking: but for sockets, which are asked each time, `in` and `out` must
 * be open file descriptions of the sandbox's own, which nobody else shares. */
void relay_init(struct relay *r, const struct terminal *terminal, int in, int out);
/* Closes all of it; a command that still runs on the terminal gets SIGHUP. */
void relay_done(struct relay *r);

/* Fills in what to wait for, and returns how many these are. */
size_t relay_watch(const struct relay *r, struct pollfd fds[RELAY_FDS]);

/* After poll(2), with these same `count` places: moves what can be moved. */
void relay_serve(struct relay *r, const struct pollfd *fds, size_t count);

/* To be called once the command was reaped: from now on input is not carried
 * any more, and what the terminal still holds is. */
void relay_drain(struct relay *r);

/* True when, after relay_drain(), everything was handed over or has nowhere to
 * go. */
bool relay_is_drained(const struct relay *r);

/* relay -- carries bytes between a terminal and the supervisor's descriptors.
 *
 * Two queues of RELAY_MAX bytes, one each way.  While a queue is full, the relay does not
 * read more into it, so no byte is lost and no queue grows.  The relay never blocks.
 *
 * The end of the supervisor's input is typed as a person would type it: the terminal's
 * end-of-file character (VEOF, ^D), twice if the last line is incomplete, since the first
 * one only makes that line readable (termios(3)).
 *
 * When the output has no reader any more, the relay closes the terminal: the kernel sends
 * SIGHUP to the processes on it, as it does when a person's window closes.
 *
 * The relay keeps the terminal's slave side open too.  Otherwise poll(2) would report
 * POLLHUP on the master whenever no process has the terminal open, although a process
 * could still open /dev/tty again. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "executor/process/terminal.h"

#define RELAY_MAX (64u << 10)
/* A relay uses at most this many entries for poll(2). */
#define RELAY_FDS 3

struct relay {
	struct terminal terminal; /* owned; both sides are closed after a hang-up */
	int in, out;		  /* owned; the supervisor's descriptors for input and
				   * output; each is -1 after its end of file */
	struct buffer typed;	  /* input that was read from `in` and is not written to
				   * the terminal yet */
	struct buffer shown;	  /* output that was read from the terminal and is not
				   * written to `out` yet */
	size_t drain_left;	  /* how many more bytes may be read from the terminal
				   * after the command's end */
	bool is_line_open;	  /* the last byte of the input so far is not a newline */
	bool is_draining;
};

/* Takes over all of `terminal` and the two descriptors, and makes the descriptors
 * non-blocking.  That affects their open file descriptions, so unless `in` and `out` are
 * sockets, no other process may share these.  For sockets each call gets MSG_DONTWAIT as
 * well. */
void relay_init(struct relay *r, const struct terminal *terminal, int in, int out);
/* Closes the terminal and the descriptors, and frees the queues; a command that still
 * runs on the terminal gets SIGHUP. */
void relay_done(struct relay *r);

/* Fills in the entries for poll(2), and returns how many entries it filled in. */
size_t relay_watch(const struct relay *r, struct pollfd fds[RELAY_FDS]);

/* Called after poll(2) with the `count` entries that relay_watch() filled in: moves the
 * bytes that can be moved without blocking. */
void relay_serve(struct relay *r, const struct pollfd *fds, size_t count);

/* Called after the command was reaped: stops its input, and reads only the output that
 * the terminal still holds. */
void relay_drain(struct relay *r);

/* Returns true once, after relay_drain(), all output was written to `out`, or `out` has
 * no reader any more. */
bool relay_is_drained(const struct relay *r);

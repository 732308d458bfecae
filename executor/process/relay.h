/* relay -- carries bytes between a terminal and the supervisor's descriptors.
 *
 * Two queues of RELAY_MAX bytes, one each way.  A full queue stops the reading at its
 * other end, so nothing is dropped and nothing grows; nothing blocks.
 *
 * The end of the supervisor's input is typed as a person would type it: the terminal's
 * end-of-file character (VEOF, ^D), twice if a line was left unfinished, since the
 * first one only hands that line out (termios(3)).
 *
 * When the output has no reader any more, the terminal hangs up: the kernel sends
 * SIGHUP to the processes on it, as it does when a person's window closes.
 *
 * The relay keeps the terminal's slave side open too.  Else the master would report a
 * hang-up in the moments when no process has the terminal open, and report it for ever,
 * while a process could still open /dev/tty again. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "executor/process/terminal.h"

#define RELAY_MAX (64u << 10)
/* A relay fills in at most so many pollfds. */
#define RELAY_FDS 3

struct relay {
	struct terminal terminal; /* owned; both sides are closed after a hang-up */
	int in, out;		  /* owned; the supervisor's descriptors for input and
				   * output; -1 after the end of each */
	struct buffer typed;	  /* bytes from `in` that the terminal has not taken
				   * yet */
	struct buffer shown;	  /* bytes from the terminal that `out` has not taken
				   * yet */
	size_t drain_left;	  /* how many bytes to read from the terminal at most
				   * after the command's end */
	bool is_line_open;	  /* the last byte typed did not end a line */
	bool is_draining;
};

/* Takes over all of `terminal` and the two descriptors, and makes them non-blocking.
 * Unless they are sockets, which get a flag with each call, `in` and `out` must be open
 * file descriptions of the sandbox's own that no other process shares. */
void relay_init(struct relay *r, const struct terminal *terminal, int in, int out);
/* Closes the terminal and the descriptors, and frees the queues; a command that still
 * runs on the terminal gets SIGHUP. */
void relay_done(struct relay *r);

/* Fills in the entries for poll(2), and returns how many entries it filled in. */
size_t relay_watch(const struct relay *r, struct pollfd fds[RELAY_FDS]);

/* Called after poll(2) with the `count` entries that relay_watch() filled in: moves the
 * bytes that can be moved without blocking. */
void relay_serve(struct relay *r, const struct pollfd *fds, size_t count);

/* Called once the command was reaped: input is not carried any more, and only the output
 * that the terminal still holds is. */
void relay_drain(struct relay *r);

/* Returns true after relay_drain() once all output was handed over or has no reader. */
bool relay_is_drained(const struct relay *r);

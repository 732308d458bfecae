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
/* How many pollfds a relay fills in at most. */
#define RELAY_FDS 3

struct relay {
	struct terminal terminal; /* owned; closed after a hang-up */
	int in, out;		  /* owned; the supervisor's; -1 after its end */
	struct buffer typed;	  /* from `in`, for the terminal */
	struct buffer shown;	  /* from the terminal, for `out` */
	size_t drain_left;	  /* after the command's end: how many bytes to expect at
				   * most */
	bool is_line_open;	  /* the last byte typed did not end a line */
	bool is_draining;
};

/* Takes over all of `terminal` and the two descriptors, and makes them non-blocking.
 * Unless they are sockets, which get a flag with each call, `in` and `out` must be open
 * file descriptions of the sandbox's own that no other process shares. */
void relay_init(struct relay *r, const struct terminal *terminal, int in, int out);
/* Closes all of it; a command that still runs on the terminal gets SIGHUP. */
void relay_done(struct relay *r);

/* Fills in the entries for poll(2), and returns how many these are. */
size_t relay_watch(const struct relay *r, struct pollfd fds[RELAY_FDS]);

/* Called after poll(2), with these same `count` entries: moves what can be moved. */
void relay_serve(struct relay *r, const struct pollfd *fds, size_t count);

/* Called once the command was reaped: input is not carried any more, and output that
 * the terminal still holds is. */
void relay_drain(struct relay *r);

/* True after relay_drain() when all output was handed over or has no reader. */
bool relay_is_drained(const struct relay *r);

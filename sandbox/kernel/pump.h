/* pump -- carries bytes between the caller's descriptors and hutch's pipes.
 *
 * The caller's stdin, stdout and stderr do not go into the sandbox.  Through a pipe of
 * the caller's, a process inside could write to its own stdin or read from its own
 * stdout; it could truncate a file that the shell has opened by ">>"; a directory would
 * give it access to the host's files; a terminal is the caller's keyboard.  So the
 * command gets pipes of hutch's, and a pump carries the bytes between these and the
 * caller's descriptors.
 *
 * A pump never blocks and never spins: pump_poll() returns the event to wait for, and
 * pump_run() does one step.  A pump holds about 64 KiB at most, and 256 KiB of a pipe that
 * it may widen. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

enum pump_mode {
	PUMP_SPLICE,  /* to a pipe: splice(2) moves the bytes within the kernel */
	PUMP_COPY,    /* copies bytes through a buffer */
	PUMP_FILE,    /* copies bytes through a buffer to a file: write(2) locks the
		       * file's offset, which other processes share, and splice(2) does
		       * not */
	PUMP_VISIBLE, /* to a terminal that is not the command's own: control
		       * characters are shown instead of obeyed */
};

struct pump {
	int from, to; /* owned; -1 when the pump has ended */
	enum pump_mode mode;
	bool is_blocked; /* waits until `to` has room */
	bool is_last;	 /* pump_finish() was called */
	/* `from` is a pipe of hutch's: once the pump has found it full, it makes the pipe
	 * larger, so that its writer, the pump and the reader wait for each other less
	 * often */
	bool may_widen;
	size_t step; /* how many bytes a splice(2) may move; 0: 64 KiB */
	size_t left;	 /* after pump_finish(): bytes that are still to be read */
	uint8_t held; /* PUMP_VISIBLE: half a character, held until its rest comes; 0:
		       * none */
	struct buffer pending;
	/* errno of the write that ended the pump; 0: no write failed, or the reader had
	 * closed its end */
	int failed;
};

/* Takes both descriptors over.  `from` and `to` may be blocking: pump_run() is called
 * only after poll(2) has reported the event, and writes to a blocking descriptor are
 * small. */
void pump_init(struct pump *p, int from, int to, enum pump_mode mode);
void pump_done(struct pump *p);

bool pump_is_open(const struct pump *p);

/* Returns the event to wait for; fd is -1 when the pump has ended. */
struct pollfd pump_poll(const struct pump *p);

/* Tells the pump that the writers are dead: only the bytes that are in the pipe now are
 * carried.  Otherwise the pump could wait for ever: a descriptor of the pipe's write end
 * may have been passed on to another process, or be in a socket that the kernel has not
 * garbage-collected yet. */
void pump_finish(struct pump *p);

/* Does one step.  The pump ends, closing both descriptors, when `from` has ended and
 * all bytes are written, or when `to` has no reader any more. */
void pump_run(struct pump *p);

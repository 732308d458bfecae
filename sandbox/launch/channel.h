/* channel -- the supervisor's end of the socket to the executor (docs/protocol.md).
 *
 * Every byte that is read here comes from inside the sandbox.  The bytes are held in
 * a buffer of bounded size and parsed by base/frame and protocol/message only, and
 * no read has room for descriptors. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/frame.h"
#include "protocol/message.h"

struct err;
struct exec;

struct channel {
	int fd; /* borrowed; the socket to the executor */
	struct buffer in, out;
	int passing[3]; /* borrowed until sent: descriptors to send with the next bytes */
	unsigned passing_count;
};

void channel_init(struct channel *c, int fd);
void channel_done(struct channel *c);

/* Returns the events to poll(2) for. */
short channel_events(const struct channel *c);

/* Requests to the executor.  Each function sends as much as the socket takes;
 * channel_flush() sends the rest when poll(2) says POLLOUT.  The three descriptors
 * of an exec must stay open until channel_has_passed(). */
int channel_send_exec(struct channel *c, uint32_t id, const struct exec *x,
		      const int fds[3], struct err *e);
/* Asks the executor to connect to a port inside.  The executor reads from the first
 * of `fds` and writes to the second; both stay open until channel_has_passed(). */
int channel_send_dial(struct channel *c, uint32_t id, uint16_t port, const int fds[2],
		      struct err *e);
/* Sends a request that is one word about a connection; `word`: MSG_FINISH or
 * MSG_HANGUP. */
int channel_send_word(struct channel *c, enum message_type word, uint32_t id,
		      struct err *e);
/* Tells whether a request with descriptors could be sent now: the queue is empty. */
bool channel_is_free(const struct channel *c);
/* Hands the executor the cgroup that the sandbox's commands enter; to be sent before
 * the first exec.  `procs` is the cgroup's cgroup.procs, opened for writing, and may
 * be closed afterwards. */
int channel_send_cgroup(struct channel *c, int procs, struct err *e);
/* Sends a signal to the command `id`.  Id 0 stands for every process inside; SIGSTOP
 * and SIGCONT then are a pause and its end. */
int channel_send_signal(struct channel *c, uint32_t id, uint32_t signo, struct err *e);
/* Asks the executor to end a command and its descendants. */
int channel_send_end(struct channel *c, uint32_t id, struct err *e);
/* Tells the executor whether its commands are about to be stopped, or have been
 * continued. */
int channel_send_hold(struct channel *c, bool is_held, struct err *e);
int channel_send_freeze(struct channel *c, uint32_t number, struct err *e);
int channel_send_resize(struct channel *c, uint32_t id, uint32_t rows, uint32_t cols,
			struct err *e);
/* Asks the executor to end: the executor asks every process to end, and exits when
 * they have ended, or after the grace; 0: at once.  A second stop may shorten the
 * grace.  Nothing can be started after a stop. */
int channel_send_stop(struct channel *c, uint32_t grace_ms, struct err *e);
int channel_flush(struct channel *c, struct err *e);
bool channel_has_passed(const struct channel *c);

/* The result of channel_fill(), which reads once.  Bytes that were sent with
 * descriptors beside them may come one at a time, since the kernel keeps such bytes
 * apart. */
enum channel_state { CHANNEL_CLOSED, CHANNEL_READ, CHANNEL_DRY };

/* Reads bytes that have come.  Returns an enum channel_state, or -1 on failure. */
int channel_fill(struct channel *c, struct err *e);

/* Looks for a frame in the bytes that were read.  1: *ret is a whole frame, good
 * until channel_took().  0: there is none yet.  -1: the bytes are no frame. */
int channel_next(struct channel *c, struct frame *ret, struct err *e);
void channel_took(struct channel *c, const struct frame *f);

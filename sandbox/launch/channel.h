/* channel -- the supervisor's end of the socket to the executor (docs/protocol.md).
 *
 * Every byte that is read here comes from inside the sandbox, and is not trusted.  The
 * bytes are held in a buffer of bounded size and parsed by base/frame and
 * protocol/message only.  No read accepts descriptors. */
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
	bool is_held;	/* requests wait in `out`, but for channel_send_cgroup() */
	int passing[3]; /* borrowed until sent: descriptors to send with the next bytes */
	unsigned passing_count;
};

void channel_init(struct channel *c, int fd);
void channel_done(struct channel *c);

/* Returns the events to poll(2) for. */
short channel_events(const struct channel *c);

/* The functions below send requests to the executor.  Each sends as much as the socket
 * takes; channel_flush() sends the rest when poll(2) says POLLOUT.  The three
 * descriptors of channel_send_exec() must stay open until channel_has_passed(). */
int channel_send_exec(struct channel *c, uint32_t id, const struct exec *x,
		      const int fds[3], struct err *e);
/* Asks the executor to connect to a port inside the sandbox.  The executor reads the
 * bytes to send from the pipe `fds[0]`, and writes those it receives to `fds[1]`.  Both
 * descriptors must stay open until channel_has_passed(). */
int channel_send_dial(struct channel *c, uint32_t id, uint16_t port, const int fds[2],
		      struct err *e);
/* Sends a message without content about the connection `id`; the message's type is
 * `word`, MSG_FINISH or MSG_HANGUP. */
int channel_send_word(struct channel *c, enum message_type word, uint32_t id,
		      struct err *e);
/* Tells whether a request with descriptors can be sent now: no bytes are queued. */
bool channel_is_free(const struct channel *c);
/* Passes the executor the cgroup that the sandbox's commands enter; to be sent before
 * the first exec.  `procs` is the file cgroup.procs of that cgroup, opened for writing;
 * it may be closed afterwards. */
int channel_send_cgroup(struct channel *c, int procs, struct err *e);
/* Sends a signal to the command `id`.  Id 0 stands for every process inside; with id 0,
 * SIGSTOP pauses the sandbox and SIGCONT resumes it. */
int channel_send_signal(struct channel *c, uint32_t id, uint32_t signo, struct err *e);
/* Asks the executor to end a command and its descendants. */
int channel_send_end(struct channel *c, uint32_t id, struct err *e);
/* Tells the executor that its commands are about to be stopped (`is_held`), or that they
 * have been continued. */
int channel_send_hold(struct channel *c, bool is_held, struct err *e);
int channel_send_freeze(struct channel *c, uint32_t number, struct err *e);
int channel_send_resize(struct channel *c, uint32_t id, uint32_t rows, uint32_t cols,
			struct err *e);
/* Asks the executor to end.  The executor then asks every process inside to end, and
 * exits when they have ended or when `grace_ms` is over; 0: at once.  A second stop may
 * shorten that time.  No command can be started after a stop. */
int channel_send_stop(struct channel *c, uint32_t grace_ms, struct err *e);
int channel_flush(struct channel *c, struct err *e);
bool channel_has_passed(const struct channel *c);

/* The result of channel_fill(), which calls read once: the executor has closed the
 * socket, bytes were read, or there were none.  A read may return a single byte, since
 * the kernel does not merge bytes that were sent with descriptors with others. */
enum channel_state { CHANNEL_CLOSED, CHANNEL_READ, CHANNEL_DRY };

/* Reads bytes that the executor has sent.  Returns an enum channel_state, or -1 on
 * failure. */
int channel_fill(struct channel *c, struct err *e);

/* Looks for a frame in the bytes that were read.  1: *ret is a whole frame, valid until
 * channel_took().  0: no frame is complete yet.  -1: the bytes are no valid frame. */
int channel_next(struct channel *c, struct frame *ret, struct err *e);
void channel_took(struct channel *c, const struct frame *f);

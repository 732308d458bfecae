/* desk -- what is asked for, and what is answered, for the actions of a sandbox.
 *
 * No descriptor is read or written here: lines go in, frames for the executor go
 * into one buffer and observations into another, frames come in, and the stream
 * (stream.h) moves the bytes.
 *
 *	desk.c		lines: decoded, done once, put into the queue, answered
 *	desk_start.c	what of the queue can start, as frames for the executor
 *	desk_frame.c	the executor's frames, and what is observed of them
 *
 * A session's shell is started when it is first needed, so that a stream that only
 * reads and writes files has none. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/action.h"
#include "sandbox/act/observe.h"
#include "sandbox/act/outbox.h"
#include "sandbox/act/queue.h"

struct cgroup;
struct err;
struct exec;
struct frame;

/* No more lines are taken when this much is waiting. */
#define DESK_TASKS 1024
#define DESK_BYTES (64u << 20)
/* So many files are read and written at a time: their content is held here. */
#define DESK_FILES 4

/* Content: base64 of the largest file, and then some; 30,000 characters and a
 * notice. */
#define DESK_FILE_MAX (16u << 20)
#define DESK_RUN_MAX  (256u << 10)

/* Room for one observation: every byte can become six, and a command stands in it
 * up to three times. */
#define DESK_LINE_MAX (6 * DESK_FILE_MAX + 18 * ACTION_TEXT_MAX + (1u << 20))

/* The desk is given neither lines nor frames while more than DESK_OUT_HIGH waits in
 * `out`.  What one of them makes fits on top of it: a line, or some of what is
 * short. */
#define DESK_OUT_HIGH (4u << 20)
#define DESK_OUT_MAX  (DESK_OUT_HIGH + DESK_LINE_MAX + (8u << 20))

struct desk {
	struct buffer *wire, *out; /* borrowed; `out` holds DESK_OUT_MAX */
	const struct exec *shell;  /* borrowed; how a session is opened */
	struct setting setting;
	bool streams; /* --stream */
	const struct cgroup *cgroup; /* borrowed; tells of an OOM.  NULL: none */
	uint64_t memory_limit, oom_kills; /* bytes; as last seen */

	struct answers *answers; /* owned */
	struct queue queue;
	struct outbox outbox;
	unsigned files; /* under way */
};

void desk_init(struct desk *d);
void desk_done(struct desk *d);

/* One line of input, without its newline. */
void desk_line(struct desk *d, const char *line, size_t len);
/* A line that was too long to be kept. */
void desk_long_line(struct desk *d);

/* What the executor said.  -1: it broke the protocol. */
int desk_frame(struct desk *d, const struct frame *f, struct err *e);

/* Puts on the wire what can start now and fits; false when nothing did.  To be
 * called after the others, and again when the wire has been written. */
bool desk_start(struct desk *d);

/* Moves observations that are done into `out`, as far as it has room. */
void desk_deliver(struct desk *d);

/* When the next answer of the executor is due, in ms of clock.h; 0: none is.  It keeps
 * its own time-outs, and these are a good deal longer. */
int64_t desk_deadline(const struct desk *d);

/* The sandbox is gone: every action outstanding is told so. */
void desk_end(struct desk *d, const char *why);

/* Nothing is outstanding; `out` may still hold something. */
bool desk_is_idle(const struct desk *d);
/* Too much is outstanding for another line. */
bool desk_is_full(const struct desk *d);
/* Too much has not been taken away for another line or frame. */
bool desk_is_behind(const struct desk *d);

/* --- between the parts of the desk ----------------------------------------- */

/* How much longer than it may take anything is waited for, in ms. */
#define DESK_GRACE_MS 10000

/* What is known of the task, for its observation. */
struct observed desk_observed(const struct task *t);

/* The end of a task: its one observation, whose bytes are taken over, to everybody
 * who asked for it.  The task is gone. */
void desk_finish(struct desk *d, struct task *t, struct buffer *line);
void desk_finish_error(struct desk *d, struct task *t, const char *error_id,
		       const char *text);

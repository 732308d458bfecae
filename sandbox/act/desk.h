/* desk -- actions that were asked for, those under way, and their sessions.
 *
 * No descriptor is read or written here: lines go in, frames for the executor go
 * into one buffer and observations into another, frames come in, and the stream
 * (stream.h) moves the bytes.
 *
 * Each session does its actions one after the other, in the order in which they
 * came; sessions go side by side.  A session's shell is started when it is first
 * needed, so that a stream that only reads and writes files has none. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/act/observe.h"

struct buffer;
struct cgroup;
struct err;
struct exec;
struct frame;
struct task;

#define DESK_SESSIONS 64
/* No more lines are taken when this much is waiting. */
#define DESK_TASKS 1024
#define DESK_BYTES (64u << 20)

struct session {
	char *name; /* owned */
	uint32_t id;
	bool is_open, is_opening;
	int64_t deadline; /* ms, while it is opening */
	struct task *first, *last; /* owned; the first may be under way */
};

struct desk {
	struct buffer *wire, *out; /* borrowed */
	const struct exec *shell;  /* borrowed; how a session is opened */
	struct setting setting;
	bool streams; /* --stream */
	const struct cgroup *cgroup; /* borrowed; tells of an OOM.  NULL: none */
	uint64_t memory_limit, oom_kills; /* bytes; as last seen */

	struct answers *answers; /* owned */
	struct session sessions[DESK_SESSIONS];
	size_t session_count, task_count, task_bytes;
	uint32_t next_id;
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

/* When an answer is due, in milliseconds of the monotonic clock; 0: none is.  -1 when
 * one has not come in time: the executor keeps its own time-outs, and this one is a
 * good deal longer. */
int64_t desk_deadline(const struct desk *d);
int desk_check(const struct desk *d, struct err *e);

/* The sandbox is gone: every action outstanding is told so. */
void desk_end(struct desk *d, const char *why);

bool desk_is_idle(const struct desk *d);
bool desk_is_full(const struct desk *d);

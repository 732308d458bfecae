/* outputs -- what the processes print that were started without descriptors: from
 * their pipes into what is kept and into the log, and from there to clients.
 *
 *	outputs.c	the pipes: reads and writes, and how many there may be
 *	outputs_tell.c	clients: who is told, and how far each has got
 *
 * Nothing is copied for a client before it has room for it: it has a number in the
 * stream (kept.h), and what it is too late for is counted and told as `dropped`.  One
 * thing is waited for: the client that started a process, as long as it reads at all
 * (client.stuck_ms), so that it loses nothing by being slower than its own process. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"
#include "sandbox/control/capture.h"
#include "sandbox/control/jobs.h"
#include "sandbox/control/log.h"

struct client;
struct err;
struct pollfd;
struct supervisor;

/* Of all streams of a sandbox together.  Beyond that, what was kept of processes that
 * have ended goes first, and no stream grows further than this least, which holds what
 * is read of it in a turn and then at its process's end: who keeps up loses none. */
#define OUTPUTS_KEPT  (64u << 20)
#define OUTPUTS_LEAST (128u << 10)
/* How long a client that takes nothing is waited for by its own processes. */
#define OUTPUTS_STUCK_MS 1000
/* Places for poll(2): three pipes each. */
#define OUTPUTS_POLLS (3 * (JOBS_MAX + JOBS_REMEMBERED))

/* Somebody who is told what a process prints. */
struct viewer {
	struct job *job; /* borrowed */
	uint64_t at[CAPTURE_STREAMS];
	struct viewer *next;
};

/* Somebody who is told the log. */
struct log_reader {
	const struct log *of; /* borrowed: the output's, or the supervisor's */
	const char *method;   /* of the notifications */
	char *request;	      /* owned */
	uint64_t at, until;
	bool follows; /* there is no `until` */
	struct log_reader *next;
};

/* One of the pipes that poll(2) looked at. */
struct place {
	struct job *job;
	int stream; /* -1: its input */
};

struct outputs {
	struct log log;
	struct place *places; /* owned */
	size_t place_count, place_room, first;
	size_t fds_max;	  /* that all processes and visits together may take */
	int64_t look_ms;  /* clock.h: when somebody is no longer waited for; 0: never */
};

void outputs_init(struct supervisor *s);
void outputs_done(struct supervisor *s);

/* Whether there are descriptors for one more process.  Those of processes that have
 * ended are closed for it.  ERR_LIMIT: there are none. */
int outputs_reserve(struct supervisor *s, struct err *e);

/* The descriptors that the processes leave, for visits. */
size_t outputs_left(const struct supervisor *s);

/* Fills in what to wait for, at most OUTPUTS_POLLS, and returns how many these are. */
size_t outputs_watch(struct supervisor *s, struct pollfd *w);
/* After poll(2), with these same places, before anything else is done. */
void outputs_serve(struct supervisor *s, const struct pollfd *w);

/* The process has ended: what it wrote before is read now. */
void outputs_exited(struct supervisor *s, struct job *j);
/* The job will be forgotten: nobody refers to it any more. */
void outputs_forget(struct supervisor *s, struct job *j);
/* The sandbox has ended: what is left is read. */
void outputs_end(struct supervisor *s);
/* Behind all that is told of that: who follows a log is answered. */
void outputs_end_logs(struct supervisor *s);

/* --- clients -------------------------------------------------------------- */

/* The client is told from what is kept on. */
void outputs_view(struct client *c, struct job *j);
/* The same, as exec.attach; *ret is its answer, allocated. */
int outputs_attach(struct client *c, struct job *j, char **ret, struct err *e);

/* 1: taken.  0: taken, and `request`, an id that is taken over then, is answered when
 * there is room.  -1: neither. */
int outputs_write(struct job *j, struct client *c, struct bytes bytes, bool has_eof,
		  char **request, struct err *e);

/* The reader's request, which is taken over, is answered when all was told.  `tail`: how
 * many entries; UINT64_MAX: all. */
void outputs_logs(struct client *c, const struct log_reader *reader, uint64_t tail);

/* Tells what fits.  True: there was something. */
bool outputs_tell(struct client *c);

/* Whether the client has still to be told what the process printed in its life. */
bool outputs_is_behind(const struct client *c, const struct job *j);

/* The client has gone. */
void outputs_leave(struct supervisor *s, struct client *c);

/* --- between the two ------------------------------------------------------ */

struct viewer *outputs_viewer(const struct client *c, const struct job *j);
/* Answers the write that waits, if it need not any more. */
void outputs_answer_writer(struct job *j);
/* The rest of a piece of JSON: "data":"..." or "base64":"...". */
struct buffer;
void outputs_put_piece(struct buffer *out, const struct job *j, int stream,
		       const struct piece *p);

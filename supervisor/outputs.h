/* outputs -- carries the output of processes that were started without
 * descriptors from their pipes to the kept bytes and the log, and from there to
 * clients.
 *
 *	outputs.c	the pipes: reads and writes, and how many there may be
 *	outputs_tell.c	clients: which ones get output, and how far each has got
 *
 * No byte is copied for a client before the client has room for it: each client
 * has a number in the stream (output_ring.h), and bytes that it is too late for are
 * counted and reported as `dropped`.  A process waits only for the client that
 * started it, as long as that reads at all (client.stuck_ms), so that a client
 * loses nothing by being slower than its own process. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"
#include "supervisor/capture.h"
#include "supervisor/jobs.h"
#include "supervisor/log.h"

struct client;
struct err;
struct pollfd;
struct supervisor;

/* The memory of all streams of a sandbox together.  Beyond that, output of
 * ended processes is dropped first, and no stream grows further than
 * OUTPUTS_LEAST, which holds the bytes that are read in a turn and then at the
 * process's end: a client that keeps up loses none. */
#define OUTPUTS_KEPT  (64u << 20)
#define OUTPUTS_LEAST (128u << 10)
/* How long in ms a process waits for its client if the client takes nothing. */
#define OUTPUTS_STUCK_MS 1000
/* The number of places for poll(2): three pipes for each process. */
#define OUTPUTS_POLLS (3 * (JOBS_MAX + JOBS_REMEMBERED))

/* A client that gets a process's output. */
struct viewer {
	struct job *job; /* borrowed; the process whose output the client gets */
	uint64_t at[CAPTURE_STREAMS];
	struct viewer *next;
};

/* A client's request for a log. */
struct log_reader {
	const struct log *of; /* borrowed: the output's, or the supervisor's */
	const char *method;   /* the method of the notifications to the client */
	char *request;	      /* owned; the id of the client's request */
	uint64_t at, until;
	bool follows; /* the log is followed without end: `until` is not used */
	struct log_reader *next;
};

/* A pipe that poll(2) looked at. */
struct place {
	struct job *job;
	int stream; /* the number of the output stream; -1: the process's input */
};

struct outputs {
	struct log log;
	struct place *places; /* owned; the pipes that poll(2) looked at */
	size_t place_count, place_room, first;
	size_t fds_max;	  /* descriptors that all processes and visits together may
			   * have */
	int64_t look_ms;  /* clock.h: when a client is no longer waited for; 0: never */
};

void outputs_init(struct supervisor *s);
void outputs_done(struct supervisor *s);

/* Makes sure that there are descriptors for one more process, and closes those
 * of ended processes for it.  ERR_LIMIT: there are none. */
int outputs_reserve(struct supervisor *s, struct err *e);

/* Returns the number of descriptors that the processes leave for visits. */
size_t outputs_left(const struct supervisor *s);

/* Fills in the descriptors to wait for, at most OUTPUTS_POLLS, and returns
 * their number. */
size_t outputs_watch(struct supervisor *s, struct pollfd *w);
/* To be called after poll(2) with the same places, before anything else is
 * done. */
void outputs_serve(struct supervisor *s, const struct pollfd *w);

/* Called when the process has ended: reads the output that it wrote before. */
void outputs_exited(struct supervisor *s, struct job *j);
/* Called when the job is about to be freed: drops every reference to the job. */
void outputs_forget(struct supervisor *s, struct job *j);
/* Called when the sandbox has ended: reads the output that is left. */
void outputs_end(struct supervisor *s);
/* Answers the clients that follow a log.  To be called after all else about the
 * sandbox's end was sent. */
void outputs_end_logs(struct supervisor *s);

/* --- clients -------------------------------------------------------------- */

/* Sends the client the output, from the oldest kept byte on. */
void outputs_view(struct client *c, struct job *j);
/* Answers exec.attach, which sends the client a process's output from the oldest kept
 * byte on; *ret is the answer, allocated. */
int outputs_attach(struct client *c, struct job *j, char **ret, struct err *e);

/* Writes a client's bytes to a process's input.  1: the bytes were taken.  0: they
 * were taken, and `request`, an id that is taken over, is answered when there is room.
 * -1: neither. */
int outputs_write(struct job *j, struct client *c, struct bytes bytes, bool has_eof,
		  char **request, struct err *e);

/* Takes over the reader's request, which is answered when the log was sent.
 * `tail`: the number of entries; UINT64_MAX: all. */
void outputs_logs(struct client *c, const struct log_reader *reader, uint64_t tail);

/* Sends the client as much output as fits.  True: there was something. */
bool outputs_tell(struct client *c);

/* Returns whether the client has still to get output that the process printed before
 * its end. */
bool outputs_is_behind(const struct client *c, const struct job *j);

/* Called when the client has gone: drops its views and its waiting write. */
void outputs_leave(struct supervisor *s, struct client *c);

/* --- between the two ------------------------------------------------------ */

struct viewer *outputs_viewer(const struct client *c, const struct job *j);
/* Answers the waiting write of a process's input if it need not wait any more. */
void outputs_answer_writer(struct job *j);
/* Writes the last members of a piece as JSON: "data":"..." or
 * "base64":"...". */
struct buffer;
void outputs_put_piece(struct buffer *out, const struct job *j, int stream,
		       const struct piece *p);

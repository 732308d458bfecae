/* outputs -- carries the output of processes for which clients passed no descriptors:
 * from their pipes into memory (output_ring.h) and the log, and from there to clients.
 *
 * 	outputs.c	reads and writes the pipes, and limits their number
 * 	outputs_tell.c	sends output to clients, and remembers how far each has got it
 *
 * Output is copied for a client only when the client has room for it.  Until then the
 * client has only a position in the stream (output_ring.h); bytes that are lost before
 * it gets them are counted and reported as `dropped`.  A process is delayed only by the
 * client that started it, as long as that client reads anything at all
 * (client.stuck_ms).  So a client loses no output of its own processes by being slow.
 * The main process, which no client has started, is delayed by each client that follows the
 * log with `hold`, however long that client reads nothing. */
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

/* The memory in bytes for all streams of a sandbox together.  When it is used up, first
 * the output of ended processes is dropped; then no stream grows beyond OUTPUTS_LEAST.
 * That is enough for the bytes that are read in one turn and at a process's end, so a
 * client that reads at once loses none. */
#define OUTPUTS_KEPT  (64u << 20)
#define OUTPUTS_LEAST (128u << 10)
/* The main process is held while a client that holds it has so many bytes of the log to
 * get.  Those that are read in one turn, and at the process's end, come on top of it, and
 * the log's newer file has room for all. */
#define OUTPUTS_HELD (1u << 20)
/* How long in ms a process waits for its client while the client reads nothing. */
#define OUTPUTS_STUCK_MS 1000
/* The number of pollfd entries for poll(2): three pipes for each process. */
#define OUTPUTS_POLLS (3 * (JOBS_MAX + JOBS_REMEMBERED))

/* A process whose output a client gets; an element of the client's list. */
struct viewer {
	struct job *job; /* borrowed; the process whose output the client gets */
	uint64_t at[CAPTURE_STREAMS];
	struct viewer *next;
};

/* A client's request `logs` that is in progress. */
struct log_reader {
	const struct log *of; /* borrowed: the output's log or the supervisor's */
	const char *method;   /* the name of the notifications that carry the entries */
	char *request;	      /* owned; the id of the client's request */
	uint64_t at, until;
	bool follows; /* new entries are sent too, without end; `until` is not used */
	bool holds;   /* with `follows`, of the output's log: the main process waits for
		       * this client */
	struct log_reader *next;
};

/* A pipe that is polled. */
struct place {
	struct job *job;
	int stream; /* the number of the output stream; -1: the process's stdin */
};

struct outputs {
	struct log log;
	struct place *places; /* owned; the pipes that are polled, one for each pollfd */
	size_t place_count, place_room, first;
	size_t fds_max;	  /* the most descriptors for processes and for connections to
			   * ports */
	int64_t look_ms;  /* clock.h: when the wait for a slow client is over; 0: there
			   * is none */
};

void outputs_init(struct supervisor *s);
void outputs_done(struct supervisor *s);

/* Checks that there are enough free descriptors for one more process; if necessary,
 * closes pipes of processes that have ended.  ERR_LIMIT: there are too few. */
int outputs_reserve(struct supervisor *s, struct err *e);

/* Returns the number of descriptors that are left for connections to published ports. */
size_t outputs_left(const struct supervisor *s);

/* Fills in the pollfd entries for the pipes, at most OUTPUTS_POLLS, and returns their
 * number. */
size_t outputs_watch(struct supervisor *s, struct pollfd *w);
/* To be called with the same entries after poll(2), before anything else is done. */
void outputs_serve(struct supervisor *s, const struct pollfd *w);

/* To be called when a process has ended: reads the output that it wrote before. */
void outputs_exited(struct supervisor *s, struct job *j);
/* To be called before a job is freed: removes all references to it. */
void outputs_forget(struct supervisor *s, struct job *j);
/* To be called when the sandbox has ended: reads the rest of all output. */
void outputs_end(struct supervisor *s);
/* Answers the clients that follow a log.  To be called last, after everything else
 * about the sandbox's end was sent. */
void outputs_end_logs(struct supervisor *s);

/* --- clients -------------------------------------------------------------- */

/* Makes the client a viewer of the job: its output is sent from the oldest kept byte
 * on. */
void outputs_view(struct client *c, struct job *j);
/* The method exec.attach: begins to send a process's output to the client, from the
 * oldest kept byte on.  *ret is the answer, allocated. */
int outputs_attach(struct client *c, struct job *j, char **ret, struct err *e);

/* Writes a client's bytes to a process's stdin.  1: the bytes were accepted.  0: they
 * were accepted, but the answer waits until there is room; the id in `request` is taken
 * over for it.  -1: an error. */
int outputs_write(struct job *j, struct client *c, struct bytes bytes, bool has_eof,
		  char **request, struct err *e);

/* Begins to send a log; the reader's request, which is taken over, is answered after
 * that. `tail`: how many of the last entries to send; UINT64_MAX: all. */
void outputs_logs(struct client *c, const struct log_reader *reader, uint64_t tail);

/* Sends the client as much output as its buffer has room for.  True: some was sent. */
bool outputs_tell(struct client *c);

/* Returns whether the client has not got all output yet that the process wrote before
 * its end. */
bool outputs_is_behind(const struct client *c, const struct job *j);

/* To be called when a client has disconnected: removes its viewers, log readers and
 * waiting write. */
void outputs_leave(struct supervisor *s, struct client *c);

/* --- between the two ------------------------------------------------------ */

struct viewer *outputs_viewer(const struct client *c, const struct job *j);
/* Answers the write that waits for a process's stdin, unless it must wait on. */
void outputs_answer_writer(struct job *j);
/* Writes the members of a JSON object that describe a piece of output: "process",
 * "stream", and "data" or "base64". */
struct buffer;
void outputs_put_piece(struct buffer *out, const struct job *j, int stream,
		       const struct piece *p);

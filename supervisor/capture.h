/* capture -- the pipes of one process that was started without descriptors.
 *
 * Its output is read without waiting, and kept (output_ring.h); its input waits here,
 * bounded.  With a terminal the executor carries both between these pipes and
 * the terminal, and there is one stream. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/redact.h"
#include "supervisor/output_ring.h"

struct client;
struct err;
struct connection_fds;

enum { CAPTURE_STDOUT, CAPTURE_STDERR, CAPTURE_STREAMS };

/* The most input in bytes that may wait for the process, and on top of it one write,
 * which is no longer than that: that write is answered when there is room again. */
#define CAPTURE_INPUT (1u << 20)
/* The most output in bytes that is sent to a client at once. */
#define CAPTURE_PIECE (16u << 10)

struct capture {
	int in;			  /* owned; the process's stdin; -1: closed, or the
				   * process has none */
	int out[CAPTURE_STREAMS]; /* owned; the process's output; -1: the stream is at
				   * its end */
	struct output_ring ring[CAPTURE_STREAMS];
	struct redact_stream
		shown[CAPTURE_STREAMS];	   /* owned; holds back bytes that may be
						    * the start of a secret */
	int64_t shown_ms[CAPTURE_STREAMS]; /* clock.h: when the bytes that are held back
					    * are kept anyway */
	uint64_t logged[CAPTURE_STREAMS]; /* output is written to the log up to this
					   * byte */
	uint64_t last[CAPTURE_STREAMS];	  /* with has_exited: the end of the stream
					   * when the process ended */
	bool has_exited, has_stdin, has_eof;
	bool is_broken; /* the process reads no more, and some input was lost */
	struct buffer input;
	/* The write that waits for room; NULL: none, or its client has gone. */
	struct client *writer; /* borrowed; the client whose write waits */
	char *request;	       /* owned: the id of the client's request */
};

/* A part of a stream as clients get it: UTF-8 without a NUL, or else any
 * bytes. */
struct piece {
	uint8_t bytes[CAPTURE_PIECE];
	size_t len;
	bool is_text;
};

const char *capture_stream_name(int stream);

/* Makes the pipes; the process's ends go to *ret.  NULL and *e on failure. */
struct capture *capture_new(bool has_stdin, bool has_terminal, struct connection_fds *ret,
			    struct err *e);
void capture_free(struct capture *c);

/* Returns the number of descriptors that are open. */
size_t capture_fds(const struct capture *c);
/* Closes all descriptors; kept output stays. */
void capture_close(struct capture *c);

/* Returns whether no more output will ever come. */
bool capture_is_over(const struct capture *c);

/* Gives the next piece of a stream, from byte `at` on.  An incomplete character is
 * held back while its rest may still come; bytes from before the process's end are not
 * mixed with later ones.  False: there is nothing now. */
bool capture_piece(const struct capture *c, int stream, uint64_t at, struct piece *ret);

/* Writes waiting input as far as the process takes it.  When the process will
 * take no more, `in` is closed and the waiting input is dropped. */
void capture_flush(struct capture *c);

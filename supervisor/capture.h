/* capture -- the pipes between the supervisor and a process for which the client passed
 * no descriptors.
 *
 * The supervisor reads the process's output without blocking and keeps it
 * (output_ring.h).  Input that the process has not read yet waits here, up to a limit.
 * With a terminal, the executor copies between these pipes and the terminal, and there
 * is only one output stream. */
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

/* The number of bytes of input that may wait for the process.  One more write of at
 * most this size is accepted beyond it, but answered only when there is room again. */
#define CAPTURE_INPUT (1u << 20)
/* The most output in bytes that one notification to a client carries. */
#define CAPTURE_PIECE (16u << 10)

struct capture {
	int in;			  /* owned; a pipe to the process's stdin; -1: closed,
				   * or there is none */
	int out[CAPTURE_STREAMS]; /* owned; pipes from the process's output; -1: the
				   * stream has ended */
	struct output_ring ring[CAPTURE_STREAMS];
	struct redact_stream
		shown[CAPTURE_STREAMS];	   /* owned; hides secrets; holds back bytes
					    * that may be the start of one */
	int64_t shown_ms[CAPTURE_STREAMS]; /* clock.h: when bytes that are held back are
					    * released as no secret */
	uint64_t logged[CAPTURE_STREAMS]; /* number of bytes of the stream that are in
					   * the log */
	uint64_t last[CAPTURE_STREAMS];	  /* with has_exited: length of the stream when
					   * the process ended */
	bool has_exited, has_stdin, has_eof;
	bool is_broken; /* the process has closed its stdin, and some input was lost */
	struct buffer input;
	/* The write request that waits for room; NULL: none, or its client has
	 * disconnected. */
	struct client *writer; /* borrowed; the client whose write waits */
	char *request;	       /* owned: the id of the client's request */
};

/* A piece of output in the form in which clients get it: valid UTF-8 without a NUL
 * (is_text), or else arbitrary bytes. */
struct piece {
	uint8_t bytes[CAPTURE_PIECE];
	size_t len;
	bool is_text;
};

const char *capture_stream_name(int stream);

/* Makes the pipes and puts the process's ends into *ret.  On failure returns NULL and
 * fills in *e. */
struct capture *capture_new(bool has_stdin, bool has_terminal, struct connection_fds *ret,
			    struct err *e);
void capture_free(struct capture *c);

/* Returns the number of descriptors that are open. */
size_t capture_fds(const struct capture *c);
/* Closes all descriptors; output that was read remains available. */
void capture_close(struct capture *c);

/* Returns whether all streams have ended. */
bool capture_is_over(const struct capture *c);

/* Gives the next piece of a stream, from byte `at` on.  An incomplete character at the
 * end waits until the rest has come or cannot come any more.  Output from before the
 * process's end is not put into one piece with later output.  False: there is nothing
 * now. */
bool capture_piece(const struct capture *c, int stream, uint64_t at, struct piece *ret);

/* Writes waiting input to the process without blocking.  If the process has closed its
 * stdin, closes `in` and drops the waiting input. */
void capture_flush(struct capture *c);

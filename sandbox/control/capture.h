/* capture -- the pipes of one process that was started without descriptors.
 *
 * What it prints is read without waiting for it, and kept (kept.h); what it is to
 * read waits here, bounded.  With a terminal the executor carries both between these
 * pipes and the terminal, and there is one stream. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/mask.h"
#include "sandbox/control/kept.h"

struct client;
struct err;
struct wire_fds;

enum { CAPTURE_STDOUT, CAPTURE_STDERR, CAPTURE_STREAMS };

/* Of its input so much may wait, and one write, which is no longer than that, on top
 * of it: that one is answered when there is room again. */
#define CAPTURE_INPUT (1u << 20)
/* So much is told at once. */
#define CAPTURE_PIECE (16u << 10)

struct capture {
	int in;			  /* owned; -1: closed, or it has none */
	int out[CAPTURE_STREAMS]; /* owned; -1: at its end */
	struct kept kept[CAPTURE_STREAMS];
	struct mask_stream shown[CAPTURE_STREAMS]; /* owned; what of it is not kept yet */
	int64_t shown_ms[CAPTURE_STREAMS]; /* clock.h: when nobody waits for its rest */
	uint64_t logged[CAPTURE_STREAMS]; /* up to which byte */
	uint64_t last[CAPTURE_STREAMS];	  /* has_exited: where the stream was then */
	bool has_exited, has_stdin, has_eof;
	bool is_broken; /* it reads no more of its input, and some of it was for it */
	struct buffer input;
	/* The write that waits for room; NULL: none, or its client has gone. */
	struct client *writer; /* borrowed */
	char *request;	       /* owned: its id */
};

/* A part of a stream as it is told: UTF-8 without a NUL, or else any bytes. */
struct piece {
	uint8_t bytes[CAPTURE_PIECE];
	size_t len;
	bool is_text;
};

const char *capture_stream_name(int stream);

/* Makes the pipes; the process's ends go to *ret.  NULL and *e: it cannot be done. */
struct capture *capture_new(bool has_stdin, bool has_terminal, struct wire_fds *ret,
			    struct err *e);
void capture_free(struct capture *c);

/* How many descriptors it has open. */
size_t capture_fds(const struct capture *c);
/* Lets go of all of them; what is kept is kept. */
void capture_close(struct capture *c);

/* Whether all is here that will ever come. */
bool capture_is_over(const struct capture *c);

/* What can be told of a stream from byte `at` on.  A character of which the rest may
 * still come waits for it; what came before the process's end is not mixed with what
 * came after it.  False: nothing now. */
bool capture_piece(const struct capture *c, int stream, uint64_t at, struct piece *ret);

/* Writes what waits for the process as far as it takes it.  When it will take no
 * more, `in` is closed and what waited is gone. */
void capture_flush(struct capture *c);

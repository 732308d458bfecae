/* belt -- hands a tar on from one pipe to another, so that whoever waits for both sides of
 * a copy knows which of them keeps the other waiting, and since when.
 *
 *	belt_init		with the reading end of one pipe, the writing end of the other
 *	in a loop: belt_watch, poll(2), belt_serve
 *	belt_done
 *
 * Bytes stay in the kernel (splice(2)).  When the writer has closed its end and all has
 * been handed on, or the reader has closed its own, the belt closes both, and the other
 * side sees that as it would see it of one pipe.
 *
 * `now` is in ms of clock.h.  The caller ignores SIGPIPE. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct pollfd;

/* Of an array for poll(2). */
#define BELT_FDS 2

struct belt {
	int in, out;	  /* owned; -1 both: it has come to its end */
	bool is_full;	  /* the reader is waited for, else the writer */
	int64_t moved_ms; /* when something last moved, or it began, or ended */
};

/* The belt of nothing. */
void belt_init(struct belt *b);
/* Takes over both, which from here on do not block. */
void belt_begin(struct belt *b, int in, int out, int64_t now);
void belt_watch(const struct belt *b, struct pollfd *fds);
/* Hands on what is there, and not for long. */
void belt_serve(struct belt *b, const struct pollfd *fds, int64_t now);
bool belt_has_ended(const struct belt *b);
void belt_done(struct belt *b);

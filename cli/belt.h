/* belt -- moves a tar from one pipe to another, and knows which of the two sides keeps
 * the other one waiting, and since when.
 *
 *	belt_begin		with one pipe's reading end, the other's writing end
 *	in a loop: belt_watch, poll(2), belt_serve
 *	belt_done
 *
 * Bytes stay in the kernel (splice(2)).  When the writer has closed its end and all bytes
 * have been moved, or when the reader has closed its end, the belt closes both pipes; the
 * other side then sees what it would see with a single pipe.
 *
 * `now` is in ms of clock.h.  The caller ignores SIGPIPE. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct pollfd;

/* The length of the pollfd array that belt_watch() fills in. */
#define BELT_FDS 2

struct belt {
	int in, out;	  /* owned: the pipes' ends that bytes come from and go to;
			   * both -1: the belt has ended */
	bool is_full;	  /* the belt waits for the reader; false: for the writer */
	uint64_t moved;	  /* bytes that were moved */
	int64_t moved_ms; /* the time (clock.h) when bytes were last moved, or the belt
			   * began or ended */
};

/* Makes `b` a belt that has no pipes and has already ended, so that belt_done() may
 * be called in any case. */
void belt_init(struct belt *b);
/* Begins to move bytes from `in` to `out`.  Takes over both descriptors, and sets
 * O_NONBLOCK on them. */
void belt_begin(struct belt *b, int in, int out, int64_t now);
void belt_watch(const struct belt *b, struct pollfd *fds);
/* Moves the bytes that are ready, for a bounded time, so that the caller's loop can
 * do other work. */
void belt_serve(struct belt *b, const struct pollfd *fds, int64_t now);
bool belt_has_ended(const struct belt *b);
void belt_done(struct belt *b);

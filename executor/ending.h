/* ending -- the deadlines of a sandbox's end.
 *
 * An ending sandbox waits until its processes have exited or their grace period is over,
 * and until clients have got the last output of the servers inside.
 *
 * `now` and every `…due` are in ms of clock.h; a `…due` of 0 means that there is no such
 * deadline.  This module only computes times; it never blocks. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* How long, in ms, an ending sandbox waits at most for clients to get the last output of
 * servers inside. */
#define ENDING_WORDS_MS 1000

/* The deadlines of the sandbox's end.  A zeroed struct means that the sandbox was not
 * asked to end. */
struct ending {
	int64_t due;	   /* when the grace period of the processes ends */
	int64_t words_due; /* when the wait for the servers' last output ends; 0: the wait
			    * has not begun */
};

/* Begins the end.  The processes get `grace_ms` ms from `now` on to exit, or the rest of
 * an earlier grace period if that ends sooner. */
void ending_ask(struct ending *n, uint32_t grace_ms, int64_t now);
/* Returns true when the grace period is over. */
bool ending_is_due(const struct ending *n, int64_t now);

/* Called when clients may still have output of servers inside to read.  The first call
 * starts the wait for that output, which lasts at most ENDING_WORDS_MS. */
void ending_expect_words(struct ending *n, int64_t now);
/* Returns true until the wait for last output has timed out; also true before that wait
 * has begun. */
bool ending_waits_for_words(const struct ending *n, int64_t now);

/* Returns the time of the next deadline: the end of the grace period, or the end of the
 * wait for last output. */
int64_t ending_next(const struct ending *n, int64_t now);

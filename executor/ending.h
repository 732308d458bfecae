/* ending -- how long the sandbox's end is put off: until its processes have gone or the
 * grace has passed, and until the supervisor has been told what a server said last.
 *
 * `now`, and all that is due, is in ms of clock.h; 0 is never.  Nothing here waits. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* How long the end is put off for what a server has said last. */
#define ENDING_WORDS_MS 1000

/* Zero: the sandbox was not asked to end. */
struct ending {
	int64_t due;	   /* the grace is over */
	int64_t words_due; /* last words are waited for no longer; 0: they were not yet */
};

/* Everyone gets `grace_ms` from now on, or what is left of an earlier grace if that is
 * less. */
void ending_ask(struct ending *n, uint32_t grace_ms, int64_t now);
/* True when the grace has passed. */
bool ending_is_due(const struct ending *n, int64_t now);

/* There are last words: the end waits for them from the first of these calls on. */
void ending_expect_words(struct ending *n, int64_t now);
/* True as long as the end waits for last words, and before it does. */
bool ending_waits_for_words(const struct ending *n, int64_t now);

/* When the next of the two is due. */
int64_t ending_next(const struct ending *n, int64_t now);

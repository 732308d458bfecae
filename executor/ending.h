/* ending -- how long the sandbox's end is put off: until its processes have gone or the
 * grace has passed, and until the last output of its servers was delivered.
 *
 * `now`, and every `…due`, is in ms of clock.h; 0 is never.  Nothing here waits. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* How long the end is put off for the last output of servers. */
#define ENDING_WORDS_MS 1000

/* The deadlines of the sandbox's end; a zeroed struct: the sandbox was not asked to
 * end. */
struct ending {
	int64_t due;	   /* when the grace for the processes is over */
	int64_t words_due; /* when the wait for the servers' last output ends; 0: the wait
			    * has not begun */
};

/* Begins the end: all processes get `grace_ms` from `now` on, or the rest of an earlier
 * grace if that is less. */
void ending_ask(struct ending *n, uint32_t grace_ms, int64_t now);
/* True when the grace has passed. */
bool ending_is_due(const struct ending *n, int64_t now);

/* Called when clients of servers inside have last output to read: the end waits for that
 * output, for ENDING_WORDS_MS from the first of these calls on. */
void ending_expect_words(struct ending *n, int64_t now);
/* Returns true as long as the end waits for last output, and before that wait begins. */
bool ending_waits_for_words(const struct ending *n, int64_t now);

/* Returns the time of the next deadline: that of the grace, or that of the wait for last
 * output. */
int64_t ending_next(const struct ending *n, int64_t now);

/* patience -- the one constant that bounds deadlocks in tests.
 *
 * A test that waits this long has hung, and fails.  No test passes or fails by how long
 * something took: order comes from a line read, a descriptor closed or an event, and a
 * busy machine only makes a test slower.  tests/patience.py and tests/patience.bash read
 * the number from this file. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PATIENCE_S 120
#define PATIENCE_MS (PATIENCE_S * 1000)

/* Waits for a state that no descriptor reports, such as one in /proc: checks
 * once a millisecond whether is_true(context) holds.  A claim that does not come
 * true ends the test program by abort(3), and stderr names the claim. */
#define patience_wait(is_true, context) patience_wait_for(is_true, context, #is_true)

static inline void patience_wait_for(bool (*is_true)(void *), void *context,
				     const char *claim)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	/* Naps are counted and no clock is read: a suspended machine uses up none. */
	for (int naps = 0; !is_true(context); naps++) {
		if (naps == PATIENCE_MS) {
			(void)fprintf(stderr, "%s: not true after %d s\n", claim,
				      PATIENCE_S);
			abort();
		}
		(void)nanosleep(&moment, NULL);
	}
}

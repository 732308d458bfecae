/* pace -- when a pool makes its next sandbox.
 *
 *	one can't be made	nothing is made for 100 ms, and after each further failure
 *				for twice as long, 51.2 s at most
 *	one dies as it waits	the same, if it had waited for less than PACE_STEADY_MS
 *	one is made		failures count from the beginning again, unless a waiting
 *				sandbox died within the last PACE_STEADY_MS
 *	one is taken		nothing is made for PACE_REST_MS, while half of the pool
 *				waits: a burst of takes is served first
 *
 * All times are in ms of clock.h.  The zero object has no reason to wait. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define PACE_RETRY_MS  100
#define PACE_DOUBLINGS 9
#define PACE_STEADY_MS 10000
#define PACE_REST_MS   5

struct pace {
	int64_t rest_ms;   /* the end of the rest after a take; 0: none */
	int64_t retry_ms; /* the end of the pause after a failure; 0: no failure counts */
	int64_t shaken_ms; /* when a sandbox died that had not waited for long; 0: none
			    * did */
	unsigned strikes;  /* failures in a row */
};

void pace_failed(struct pace *p, int64_t now);
/* Notes that a sandbox that waited since `since` has died.  True: that counts as a
 * failure. */
bool pace_lost(struct pace *p, int64_t since, int64_t now);
void pace_made(struct pace *p, int64_t now);
/* Notes that a sandbox was taken.  `has_enough`: half of the pool still waits. */
void pace_taken(struct pace *p, bool has_enough, int64_t now);

/* Returns when the next sandbox may be made; 0: at once. */
int64_t pace_due(const struct pace *p);
bool pace_is_due(const struct pace *p, int64_t now);

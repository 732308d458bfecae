/* pace -- decides when a pool may make its next sandbox.
 *
 * 	making one fails	none is made for 100 ms; after each further failure the
 * 				time is doubled, up to 51.2 s
 * 	a waiting one dies	the same, if it had waited for less than PACE_STEADY_MS
 * 	one is made		the time begins at 100 ms again, unless a waiting sandbox
 * 				died within the last PACE_STEADY_MS
 * 	one is taken		none is made for PACE_REST_MS if at least half of the
 * 				pool still waits, to serve a burst of takes first
 *
 * All times are in ms of clock.h.  With the zero object a sandbox may be made at once. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define PACE_RETRY_MS  100
#define PACE_DOUBLINGS 9
#define PACE_STEADY_MS 10000
#define PACE_REST_MS   5

struct pace {
	int64_t rest_ms;   /* none is made before this time because one was taken; 0: no
			    * such reason */
	int64_t retry_ms; /* none is made before this time because of a failure; 0: no
			   * such reason */
	int64_t shaken_ms; /* when a sandbox died that had waited only a short time; 0:
			    * none did */
	unsigned strikes;  /* failures in a row */
};

void pace_failed(struct pace *p, int64_t now);
/* Notes that a sandbox has died which had waited since `since`.  True: this counts as a
 * failure. */
bool pace_lost(struct pace *p, int64_t since, int64_t now);
void pace_made(struct pace *p, int64_t now);
/* Notes that a sandbox was taken.  `has_enough`: at least half of the pool still
 * waits. */
void pace_taken(struct pace *p, bool has_enough, int64_t now);

/* Returns when the next sandbox may be made; 0: at once. */
int64_t pace_due(const struct pace *p);
bool pace_is_due(const struct pace *p, int64_t now);

/* samples -- what a sandbox uses, told at an interval (`--sample`; docs/control.md,
 * event `sample`).
 *
 * Only while something that somebody has started runs in it, it does not stand still, and
 * somebody listens: else nobody looks at the cgroup, or at the processes where there is
 * none.  Samples have no number and none is kept, so that they do not take the place of
 * what has happened; a client that reads too slowly misses some. */
#pragma once
#include <stdint.h>

struct supervisor;

struct samples {
	int64_t every_ms; /* 0: never */
	int64_t last_ms;  /* clock.h; 0: there was none */
};

/* When the next one is, in ms of clock.h; 0: none is. */
int64_t samples_due(const struct supervisor *s);
/* Tells one, if it is time for it. */
void samples_tell(struct supervisor *s);

/* samples -- reports what a sandbox uses, at an interval (`--sample`;
 * docs/control.md, event `sample`).
 *
 * A sample is taken only while a client's process or action runs, the sandbox
 * is not paused, and a client has subscribed: else neither the cgroup nor,
 * where there is none, the processes are looked at.  Samples have no number and
 * none is kept, so that they do not displace other events; a client that reads
 * too slowly misses some. */
#pragma once
#include <stdint.h>

struct supervisor;

struct samples {
	int64_t every_ms; /* the interval of samples; 0: no samples are taken */
	int64_t last_ms;  /* when the last sample was taken, clock.h; 0: there was none */
};

/* Returns when the next sample is due, in ms of clock.h; 0: never. */
int64_t samples_due(const struct supervisor *s);
/* Sends a sample if one is due. */
void samples_tell(struct supervisor *s);

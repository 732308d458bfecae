/* samples -- regularly reports the sandbox's consumption of resources (`--sample`;
 * docs/control.md, event `sample`).
 *
 * A sample is taken only while a client's process or action runs, the sandbox is not
 * paused, and a client has subscribed to events; otherwise nothing is measured.  Unlike
 * other events, samples have no number and are not kept, so that they do not displace
 * those.  A client that reads too slowly misses samples. */
#pragma once
#include <stdint.h>

struct supervisor;

struct samples {
	int64_t every_ms; /* the interval between samples; 0: no samples are taken */
	int64_t last_ms;  /* when the last sample was taken, clock.h; 0: never */
};

/* Returns when the next sample is due, in ms of clock.h; 0: never. */
int64_t samples_due(const struct supervisor *s);
/* Sends a sample if one is due. */
void samples_tell(struct supervisor *s);

/* phase -- how far a client's request has come, and how long that may take.
 *
 * Nothing here reads a clock: `now` is in ms of base/clock.h. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum phase {
	PHASE_HEAD,   /* its head is read */
	PHASE_BODY,   /* its small body is read, which decides */
	PHASE_ASK,    /* the pods are asked */
	PHASE_SEARCH, /* the same, and those that do not answer are asked again */
	PHASE_TURN,   /* another request starts the same session */
	PHASE_DIAL,   /* the pod is connected to; one that is down is tried again */
	PHASE_PASS,   /* bytes go both ways: the pod and the client decide how long */
	PHASE_FLUSH,  /* the last bytes of the answer go to the client */
	PHASE_LINGER, /* the client is to close, so that it can read the answer first */
	PHASES
};

/* Returns for how many ms a phase may last; 0: without an end.  `wait_ms` is --wait. */
int64_t phase_limit(enum phase p, int64_t wait_ms);

bool phase_is_over(enum phase p, int64_t began, int64_t wait_ms, int64_t now);

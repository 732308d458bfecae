/* restarts -- decides whether a main process that has ended is started again, and after
 * what delay.
 *
 * The delays are those of docker: the first one is RESTARTS_DELAY_MS, and each one after
 * it twice as long, up to RESTARTS_DELAY_MAX_MS, so that a command that fails at once
 * does not load the machine.  A process that has lived for RESTARTS_LIFE_MS makes the
 * next delay the first one again. */
#pragma once
#include <stdint.h>

#include "policy/restart_rule.h"

#define RESTARTS_DELAY_MS     100
#define RESTARTS_DELAY_MAX_MS 60000
#define RESTARTS_LIFE_MS      10000

struct restarts {
	struct restart_rule rule;
	uint32_t count;	    /* how many restarts there were, or are due */
	int64_t started_ms; /* when the process was started last, clock.h */
	int64_t delay_ms;   /* the last delay; 0: there was none */
};

/* Notes that the process has started. */
void restarts_begin(struct restarts *r, int64_t now);
/* To be called at the process's end.  Returns after how many ms it is started again; 0:
 * not at all. */
int64_t restarts_next(struct restarts *r, int exit_code, int64_t now);

#include "sandbox/kernel/countdown.h"

#include <signal.h>

#include "base/clock.h"

void countdown_start(struct countdown *c, uint64_t timeout_ms, int64_t now)
{
	*c = (struct countdown){ .deadline_ms = timeout_ms ? now + (int64_t)timeout_ms
							   : 0 };
}

bool countdown_signal(struct countdown *c, int signo, int64_t now)
{
	c->interrupts += signo == SIGINT;
	if ((signo == SIGTERM || signo == SIGHUP) && c->grace_ms == 0)
		c->grace_ms = now + COUNTDOWN_GRACE_MS;
	return c->interrupts < COUNTDOWN_INTERRUPTS;
}

int64_t countdown_due(const struct countdown *c)
{
	return clock_sooner(c->deadline_ms, c->grace_ms);
}

enum countdown_end countdown_expire(struct countdown *c, int64_t now)
{
	if (clock_is_due(c->deadline_ms, now)) {
		c->deadline_ms = 0;
		return COUNTDOWN_TIMED_OUT;
	}
	if (clock_is_due(c->grace_ms, now)) {
		c->grace_ms = 0;
		return COUNTDOWN_GRACE_OVER;
	}
	return COUNTDOWN_RUNS;
}

#include "supervisor/clocks.h"

#include "base/clock.h"

/* The time in ms after the grace within which the executor must end. */
#define STOP_MS 2000

void clocks_begin(struct clocks *c, int64_t now)
{
	c->start_due = now + CLOCKS_START_MS;
}

void clocks_run(struct clocks *c, int64_t now)
{
	c->timeout_due = c->timeout_ms ? now + c->timeout_ms : 0;
	c->ttl_due = c->ttl_ms ? now + c->ttl_ms : 0;
	c->idle_since = now;
}

void clocks_ready(struct clocks *c, int64_t now)
{
	c->start_due = 0;
	c->idle_since = now;
}

void clocks_stop(struct clocks *c, uint64_t grace_ms, int64_t now)
{
	c->stop_due = now + (int64_t)grace_ms + STOP_MS;
}

void clocks_end(struct clocks *c, uint64_t grace_ms, int64_t now)
{
	c->stop_due = now + (int64_t)grace_ms;
}

void clocks_restart(struct clocks *c, int64_t delay_ms, int64_t now)
{
	c->restart_due = delay_ms ? now + delay_ms : 0;
}

void clocks_use(struct clocks *c, int64_t now)
{
	c->idle_since = now;
}

static int64_t idle_due(const struct clocks *c, bool is_idle)
{
	return c->idle_ms && is_idle ? c->idle_since + c->idle_ms : 0;
}

int64_t clocks_due(const struct clocks *c, bool is_idle)
{
	const int64_t end = clock_sooner(c->timeout_due, c->ttl_due);
	const int64_t idle_end = clock_sooner(end, idle_due(c, is_idle));

	return clock_sooner(clock_sooner(c->start_due, c->stop_due),
			    clock_sooner(idle_end, c->restart_due));
}

enum clocks_end clocks_look(const struct clocks *c, bool is_idle, int64_t now)
{
	const int64_t end = clock_sooner(c->timeout_due, c->ttl_due);

	if (clock_is_due(c->start_due, now))
		return CLOCKS_START;
	if (clock_is_due(c->stop_due, now))
		return CLOCKS_STOP;
	if (clock_is_due(end, now))
		return end == c->timeout_due ? CLOCKS_TIMEOUT : CLOCKS_TTL;
	if (clock_is_due(idle_due(c, is_idle), now))
		return CLOCKS_IDLE;
	return clock_is_due(c->restart_due, now) ? CLOCKS_RESTART : CLOCKS_GO_ON;
}

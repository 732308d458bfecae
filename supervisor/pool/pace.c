#include "supervisor/pool/pace.h"

#include "base/clock.h"

/* Counts a failure to make a sandbox.  Sandboxes that were begun before the previous
 * failure was known probably fail for the same reason, so they are not counted: sixteen
 * of them count as one failure, and do not stop the pool for 51 s. */
void pace_failed(struct pace *p, int64_t now)
{
	const unsigned times = p->strikes < PACE_DOUBLINGS ? p->strikes : PACE_DOUBLINGS;

	if (p->retry_ms && !clock_is_due(p->retry_ms, now))
		return;
	p->strikes++;
	p->retry_ms = now + ((int64_t)PACE_RETRY_MS << times);
}

/* Counts the death of a waiting sandbox.  If it had waited for less than
 * PACE_STEADY_MS, this counts as a failure: the next one may die of the same cause. */
bool pace_lost(struct pace *p, int64_t since, int64_t now)
{
	if (now - since >= PACE_STEADY_MS)
		return false;
	p->shaken_ms = now;
	pace_failed(p, now);
	return true;
}

void pace_made(struct pace *p, int64_t now)
{
	if (p->shaken_ms && now - p->shaken_ms <= PACE_STEADY_MS)
		return;
	p->strikes = 0;
	p->retry_ms = p->shaken_ms = 0;
}

void pace_taken(struct pace *p, bool has_enough, int64_t now)
{
	p->rest_ms = has_enough ? now + PACE_REST_MS : 0;
}

int64_t pace_due(const struct pace *p)
{
	return p->retry_ms > p->rest_ms ? p->retry_ms : p->rest_ms;
}

bool pace_is_due(const struct pace *p, int64_t now)
{
	return !pace_due(p) || clock_is_due(pace_due(p), now);
}

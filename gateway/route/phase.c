#include "gateway/route/phase.h"

#include <assert.h>

#include "base/own.h"

#define IS_WAIT (-1)

static const int64_t limits[] = {
	[PHASE_HEAD] = 15000,	  [PHASE_BODY] = 30000,	  [PHASE_ASK] = 5000,
	[PHASE_SEARCH] = IS_WAIT, [PHASE_TURN] = IS_WAIT, [PHASE_DIAL] = IS_WAIT,
	[PHASE_PASS] = 0,	  [PHASE_FLUSH] = 30000,  [PHASE_LINGER] = 3000,
};
static_assert(ARRAY_LEN(limits) == PHASES, "a phase has no limit");

int64_t phase_limit(enum phase p, int64_t wait_ms)
{
	return limits[p] != IS_WAIT ? limits[p] : wait_ms > 0 ? wait_ms : 1;
}

bool phase_is_over(enum phase p, int64_t began, int64_t wait_ms, int64_t now)
{
	const int64_t limit = phase_limit(p, wait_ms);

	return limit > 0 && now - began >= limit;
}

#include "egress/name_rate.h"

bool name_rate_take(struct name_rate *r, int64_t now)
{
	if (r->count == NAME_RATE_MAX && now - r->taken[r->next] < NAME_RATE_MS)
		return false;
	r->taken[r->next] = now;
	r->next = (r->next + 1) % NAME_RATE_MAX;
	if (r->count < NAME_RATE_MAX)
		r->count++;
	return true;
}

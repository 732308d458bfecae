#include "supervisor/restarts.h"

#include <stdbool.h>

void restarts_begin(struct restarts *r, int64_t now)
{
	r->started_ms = now;
}

static bool is_wanted(const struct restarts *r, int exit_code)
{
	const struct restart_rule *rule = &r->rule;

	if (rule->when == RESTART_ON_FAILURE)
		return exit_code != 0 && (!rule->most || r->count < rule->most);
	return rule->when != RESTART_NO;
}

int64_t restarts_next(struct restarts *r, int exit_code, int64_t now)
{
	if (!is_wanted(r, exit_code))
		return 0;
	if (!r->delay_ms || now - r->started_ms >= RESTARTS_LIFE_MS)
		r->delay_ms = RESTARTS_DELAY_MS;
	else if (r->delay_ms < RESTARTS_DELAY_MAX_MS / 2)
		r->delay_ms *= 2;
	else
		r->delay_ms = RESTARTS_DELAY_MAX_MS;
	r->count++;
	return r->delay_ms;
}

#include "egress/dialer.h"

#include "base/clock.h"

/* Returns the next address of the family from *at on, and moves *at behind it. */
static const struct address *take(const struct address *addresses, size_t count,
				  uint8_t family, size_t *at)
{
	while (*at < count) {
		const struct address *a = &addresses[(*at)++];
		if (a->family == family)
			return a;
	}
	return NULL;
}

void dialer_init(struct dialer *d, const struct address *addresses, size_t count,
		 int64_t now)
{
	size_t at[2] = { 0, 0 }; /* of IPv6, of IPv4 */
	bool is_over[2] = { false, false };

	*d = (struct dialer){ .next_at = now, .due = now + DIALER_MS };
	for (size_t turn = 0; !is_over[0] || !is_over[1]; turn = !turn) {
		const struct address *a = take(addresses, count, turn ? 4 : 6, &at[turn]);

		is_over[turn] = !a;
		if (a && d->count < DIALER_ADDRESSES_MAX)
			d->addresses[d->count++] = *a;
	}
}

static int find(const struct dialer *d, enum dialer_attempt attempt)
{
	for (int i = 0; i < d->count; i++)
		if (d->attempts[i] == attempt)
			return i;
	return -1;
}

enum dialer_step dialer_next(struct dialer *d, int64_t now)
{
	int untried = find(d, DIALER_UNTRIED);

	if (clock_is_due(d->due, now))
		return DIALER_FAILED;
	if (untried < 0)
		return find(d, DIALER_TRYING) < 0 ? DIALER_FAILED : DIALER_WAIT;
	if (now < d->next_at)
		return DIALER_WAIT;
	d->at = (uint8_t)untried;
	d->attempts[d->at] = DIALER_TRYING;
	d->next_at = now + DIALER_NEXT_MS;
	return DIALER_TRY;
}

void dialer_failed(struct dialer *d, size_t at, int64_t now)
{
	d->attempts[at] = DIALER_HAS_FAILED;
	d->next_at = now;
}

void dialer_hold(struct dialer *d, int64_t now)
{
	d->attempts[d->at] = DIALER_UNTRIED;
	d->next_at = now + DIALER_NEXT_MS;
}

int64_t dialer_due(const struct dialer *d)
{
	return find(d, DIALER_UNTRIED) < 0 ? d->due : clock_sooner(d->next_at, d->due);
}

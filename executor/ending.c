#include "executor/ending.h"

#include "base/clock.h"

void ending_ask(struct ending *n, uint32_t grace_ms, int64_t now)
{
	n->due = clock_sooner(n->due, now + grace_ms);
}

bool ending_is_due(const struct ending *n, int64_t now)
{
	return clock_is_due(n->due, now);
}

void ending_expect_words(struct ending *n, int64_t now)
{
	if (!n->words_due)
		n->words_due = now + ENDING_WORDS_MS;
}

bool ending_waits_for_words(const struct ending *n, int64_t now)
{
	return !clock_is_due(n->words_due, now);
}

int64_t ending_next(const struct ending *n, int64_t now)
{
	if (clock_is_due(n->words_due, now))
		return n->due;
	return clock_sooner(n->due, n->words_due);
}

#include "supervisor/samples.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/cgroup/watchdog.h"
#include "supervisor/supervisor.h"

static bool has_listener(const struct supervisor *s)
{
	for (size_t i = 0; i < s->client_count; i++)
		if (s->clients[i]->has_events)
			return true;
	return false;
}

/* Returns when the next sample is due.  If the last sample was long ago, because none
 * was needed, the next one is due at once. */
int64_t samples_due(const struct supervisor *s)
{
	const struct samples *p = &s->samples;
	bool runs = s->jobs.alive > 0 || s->dispatcher.queue.count > 0;

	if (!p->every_ms || s->status != REGISTRY_READY || !runs || !has_listener(s))
		return 0;
	return p->last_ms + p->every_ms;
}

void samples_tell(struct supervisor *s)
{
	struct consumption used;

	if (!clock_is_due(samples_due(s), s->now_ms))
		return;
	supervisor_consumption(s, &used);
	s->samples.last_ms = s->now_ms;
	AUTO_FREE char *time = events_time(events_now());
	AUTO_FREE char *text = text_format(
		"{\"time\":\"%s\",\"event\":\"sample\",\"memory_bytes\":%llu,\"cpu_s\":%.6f,"
		"\"pids\":%llu}",
		time, (unsigned long long)used.memory, (double)used.cpu_us / 1e6,
		(unsigned long long)used.pids);
	clients_tell(s, text);
}

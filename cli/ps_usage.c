#include "cli/ps_usage.h"

#include <limits.h>

#include "base/mem.h"
#include "base/own.h"
#include "cli/ps_row.h"
#include "cli/stats_poll.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/cgroup/watchdog.h"
#include "sandbox/state/registry.h"

/* The time limit for the answers of all supervisors together. */
#define ASKED_MS 200

static bool look(const struct row *r, bool has_cpu, struct consumption *ret)
{
	struct json_view cgroup = json_view_get(r->info, "cgroup");
	AUTO_FREE char *path = json_view_string(cgroup);
	int64_t pid = 0;

	/* An info without the key is of an older hutch, whose sandbox may have a cgroup. */
	if (path || !cgroup.text)
		return path && cgroup_look(path, has_cpu, ret);
	return json_view_integer(json_view_get(r->info, "pid"), &pid) && pid > 0 &&
	       pid <= INT_MAX && watchdog_look((pid_t)pid, ret);
}

static struct sample measure(const struct row *r, bool has_cpu)
{
	struct consumption used = { 0 };
	struct sample s = { .name = r->item->name, .memory = -1, .memory_limit = -1,
			    .pids = -1, .pids_limit = -1 };

	if (look(r, has_cpu, &used)) {
		s.is_known = true;
		s.cpu_s = (double)used.cpu_us / 1e6;
		s.memory = (int64_t)used.memory;
		s.pids = (int64_t)used.pids;
	}
	return s;
}

/* Asks the supervisors of the sandboxes that were not found. */
static void ask_others(struct sample *samples, size_t count)
{
	AUTO_FREE struct sample *asked = mem_zeroed(count, sizeof(*asked));
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (samples[i].name && !samples[i].is_known)
			asked[left++].name = samples[i].name;
	gather(asked, left, ASKED_MS);
	for (size_t i = count; i-- > 0;)
		if (samples[i].name && !samples[i].is_known)
			samples[i] = asked[--left];
}

void ps_usage(struct row *rows, struct sample *samples, size_t count, bool has_cpu)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].item->status == REGISTRY_ENDED)
			continue;
		samples[i] = measure(&rows[i], has_cpu);
		rows[i].used = &samples[i];
	}
	ask_others(samples, count);
}

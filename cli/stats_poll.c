#include "cli/stats_poll.h"

#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/common/client.h"

/* connections that are open at a time: the usual RLIMIT_NOFILE is 1024 */
#define BATCH 256

struct batch {
	struct client clients[BATCH];
	int requests[BATCH]; /* the number of each sandbox's request; -1: not asked, or
			      * answered */
	struct sample *samples;
	size_t count, left;
};

static int64_t count_of(struct json_view result, const char *key)
{
	int64_t value = -1;

	(void)json_view_integer(json_view_get(result, key), &value);
	return value;
}

static void take(struct sample *s, struct json_view result, int64_t now_us)
{
	s->is_known = json_view_number(json_view_get(result, "cpu_s"), &s->cpu_s);
	s->memory = count_of(result, "memory_bytes");
	s->memory_limit = count_of(result, "memory_limit");
	s->pids = count_of(result, "pids");
	s->pids_limit = count_of(result, "pids_limit");
	s->is_summed = json_view_is(json_view_get(result, "by"), "processes");
	s->when_us = now_us;
}

static void ask(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		struct sample *s = &b->samples[i];
		*s = (struct sample){ .name = s->name, .memory = -1, .memory_limit = -1,
				      .pids = -1, .pids_limit = -1 };
		b->clients[i] = (struct client){ .fd = -1 };
		b->requests[i] = -1;
		if (client_open(&b->clients[i], s->name, NULL) == 0)
			b->requests[i] = client_send(&b->clients[i], "stats", NULL, NULL);
		b->left += b->requests[i] >= 0;
	}
}

static void finish(struct batch *b, size_t i)
{
	b->requests[i] = -1;
	b->left--;
}

static void serve(struct batch *b, size_t i, int64_t now_us)
{
	struct message m;
	int got;

	if (client_fill(&b->clients[i], NULL) < 0)
		return finish(b, i);
	while ((got = client_next(&b->clients[i], &m, NULL)) > 0)
		if (m.id == (unsigned)b->requests[i]) {
			take(&b->samples[i], m.result, now_us);
			return finish(b, i);
		}
	if (got < 0 || b->clients[i].is_closed)
		finish(b, i);
}

static void collect(struct batch *b, int64_t due)
{
	struct pollfd w[BATCH];
	int64_t now_us = clock_us();

	while (b->left && !clock_is_due(due, now_us / 1000)) {
		for (size_t i = 0; i < b->count; i++)
			w[i] = (struct pollfd){ .fd = b->requests[i] < 0
							      ? -1
							      : b->clients[i].fd,
						.events = POLLIN };
		const int ready = poll(w, b->count, clock_wait(due, now_us / 1000));
		now_us = clock_us();
		if (ready < 0 && errno != EINTR)
			return;
		for (size_t i = 0; i < b->count; i++)
			if (ready > 0 && w[i].revents)
				serve(b, i, now_us);
	}
}

void gather(struct sample *samples, size_t count, int ms)
{
	static struct batch b; /* static, since the array is too large for the stack */
	const int64_t due = clock_ms() + ms;

	for (size_t at = 0; at < count; at += BATCH) {
		b.samples = samples + at;
		b.count = count - at < BATCH ? count - at : BATCH;
		b.left = 0;
		ask(&b);
		collect(&b, due);
		for (size_t i = 0; i < b.count; i++)
			client_done(&b.clients[i]);
	}
}

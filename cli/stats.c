/* hutch stats: shows what sandboxes use; a live table on a terminal. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/common/client.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/common/table.h"
#include "cli/stats_poll.h"
#include "cli/verbs.h"
#include "sandbox/launch/result.h"

#define ANSWER_MS 2000
#define CLEAR	  "\33[H\33[J"

/* --- for programs ---------------------------------------------------------- */

static void print_count(const char *key, int64_t count)
{
	if (count >= 0)
		(void)printf(",\"%s\":%lld", key, (long long)count);
	else
		(void)printf(",\"%s\":null", key);
}

static void print_object(const struct sample *s)
{
	AUTO_FREE char *name = json_write_quoted(s->name);

	(void)printf("{\"name\":%s", name);
	if (s->is_known)
		(void)printf(",\"cpu_s\":%.3f", s->cpu_s);
	else
		(void)printf(",\"cpu_s\":null");
	print_count("memory_bytes", s->memory);
	print_count("memory_limit", s->memory_limit);
	print_count("pids", s->pids);
	print_count("pids_limit", s->pids_limit);
	(void)printf(",\"by\":%s}", !s->is_known    ? "null"
				    : s->is_summed ? "\"processes\""
						   : "\"cgroup\"");
}

static void print_json(const struct sample *samples, size_t count)
{
	(void)printf("[");
	for (size_t i = 0; i < count; i++) {
		if (i)
			(void)printf(",");
		print_object(&samples[i]);
	}
	(void)printf("]\n");
}

/* --- for people ------------------------------------------------------------ */

/* Returns how much CPU a sandbox has used since the sample before, in percent of one
 * CPU; NULL if that is unknown. */
static char *share(const struct sample *now, const struct sample *before)
{
	const double seconds = (double)(now->when_us - before->when_us) / 1e6;

	if (!now->is_known || !before->is_known || seconds <= 0)
		return NULL;
	return text_format("%.1f%%", 100 * (now->cpu_s - before->cpu_s) / seconds);
}

/* Joins a value and its limit, such as "12 / 512"; without a limit there is only the
 * value. */
static char *with_limit(char *value, char *limit)
{
	AUTO_FREE char *mine = value, *bound = limit;

	return bound ? text_format("%s / %s", mine, bound) : text_copy(mine);
}

static char *number(int64_t n)
{
	return n >= 0 ? text_format("%lld", (long long)n) : NULL;
}

static char *bytes(int64_t n)
{
	return n >= 0 ? table_bytes((uint64_t)n) : NULL;
}

static void add_row(struct table *t, const struct sample *s, const struct sample *before)
{
	table_add(t, text_copy(s->name));
	table_add(t, before ? share(s, before) : NULL);
	table_add(t, s->is_known ? text_format("%.2fs", s->cpu_s) : NULL);
	table_add(t, s->memory >= 0 ? with_limit(bytes(s->memory), bytes(s->memory_limit))
				    : NULL);
	table_add(t, s->pids >= 0 ? with_limit(number(s->pids), number(s->pids_limit))
				  : NULL);
}

static void print_table(const struct sample *now, const struct sample *before,
			size_t count)
{
	static const char *const heads[] = { "NAME", "CPU", "CPU TIME", "MEMORY",
					     "PIDS" };
	struct table t = { .columns = ARRAY_LEN(heads) };

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&t, text_copy(heads[i]));
	for (size_t i = 0; i < count; i++) {
		const struct sample *last = NULL;
		/* The sample before is found by the name, since sandboxes may have
		 * come or gone meanwhile. */
		for (size_t k = 0; before && before[k].name; k++)
			if (!strcmp(before[k].name, now[i].name))
				last = &before[k];
		add_row(&t, &now[i], last);
	}
	table_print(&t, stdout);
	table_done(&t);
}

/* --- looking --------------------------------------------------------------- */

/* One round of samples; the names are owned, and a sample without a name is the
 * last. */
struct look {
	struct sample *samples;
	size_t count;
};

static void look_done(struct look *l)
{
	for (size_t i = 0; i < l->count; i++)
		free((void *)(uintptr_t)l->samples[i].name);
	free(l->samples);
	*l = (struct look){ 0 };
}

static void look_at(struct look *l, char *const *names, size_t count)
{
	l->samples = mem_zeroed(count + 1, sizeof(*l->samples));
	l->count = count;
	for (size_t i = 0; i < count; i++)
		l->samples[i].name = text_copy(names[i]);
	gather(l->samples, count, ANSWER_MS);
}

/* Takes samples of the named sandboxes, or of all. */
static int look(struct look *l, char *const *names, struct err *e)
{
	struct registry_list list;
	struct list all = { 0 };
	size_t count = 0;

	while (names[count])
		count++;
	if (count) {
		look_at(l, names, count);
		return 0;
	}
	if (registry_list(false, &list, e) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		list_add(&all, list.items[i].name);
	look_at(l, all.items, all.count);
	list_done(&all);
	registry_list_done(&list);
	return 0;
}

static int watch(char *const *names, struct err *e)
{
	const struct timespec second = { .tv_sec = 1 };
	struct look before = { 0 }, now;

	for (;;) {
		if (look(&now, names, e) < 0)
			return -1;
		(void)printf(CLEAR);
		print_table(now.samples, before.samples, now.count);
		if (report_flush() < 0)
			return report_unwritten(e);
		look_done(&before);
		before = now;
		(void)nanosleep(&second, NULL);
	}
}

/* A name that no live sandbox has is an error before anything is printed. */
static int check_names(char *const *names, struct err *e)
{
	for (; *names; names++) {
		struct client c = { 0 };
		if (client_open(&c, *names, e) < 0)
			return -1;
		int rc = client_greet(&c, e);
		client_done(&c);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int show(char *const *names, bool is_json, bool is_once, struct err *e)
{
	struct look now;

	if (check_names(names, e) < 0)
		return -1;
	if (!is_once && !is_json && isatty(1))
		return watch(names, e);
	if (look(&now, names, e) < 0)
		return -1;
	if (is_json)
		print_json(now.samples, now.count);
	else
		print_table(now.samples, NULL, now.count);
	look_done(&now);
	return 0;
}

int stats_main(char **argv)
{
	bool is_json = false, is_once = false;
	const struct flag flags[] = {
		{ 0, "json", NULL, "one array on one line", &is_json, NULL },
		{ 0, "no-stream", NULL, "once, on a terminal too", &is_once, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch stats [OPTIONS] [NAME...]",
		.about = "Prints what the named sandboxes use, or all.  On a terminal "
			 "once a second.",
		.flags = flags, .count = ARRAY_LEN(flags), .operands_max = SIZE_MAX,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(show(argv, is_json, is_once, &e), &e);
}

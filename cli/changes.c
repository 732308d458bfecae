/* hutch changes: lists the changes that are kept of folders shown copy-on-write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/common/table.h"
#include "cli/verbs.h"
#include "rootfs-tools/changes/kept_changes.h"
#include "sandbox/launch/result.h"

/* --- for programs ----------------------------------------------------------------- */

static void print_folder(const struct cow_folder *f)
{
	AUTO_FREE char *source = json_write_quoted(f->source);
	AUTO_FREE char *target = json_write_quoted(f->target);

	(void)printf("{\"source\":%s,\"target\":%s}", source, target);
}

static void print_object(const struct cow *c)
{
	AUTO_FREE char *name = json_write_quoted(c->name);
	AUTO_FREE char *started = kept_changes_started(c);

	(void)printf("{\"name\":%s,\"id\":\"%s\",\"state\":\"%s\",\"started\":\"%s\"",
		     name, c->id, c->is_live ? "live" : "ended", started);
	if (c->has_sum)
		(void)printf(",\"changes\":%llu,\"bytes\":%llu",
			     (unsigned long long)c->changes,
			     (unsigned long long)c->bytes);
	else
		(void)printf(",\"changes\":null,\"bytes\":null");
	(void)printf(",\"folders\":[");
	for (size_t i = 0; i < c->count; i++) {
		(void)printf("%s", i ? "," : "");
		print_folder(&c->folders[i]);
	}
	(void)printf("]}");
}

static void print_json(const struct cow_list *kept)
{
	(void)printf("[");
	for (size_t i = 0; i < kept->count; i++) {
		(void)printf("%s", i ? "," : "");
		print_object(&kept->items[i]);
	}
	(void)printf("]\n");
}

/* --- for people ------------------------------------------------------------------- */

static char *folders_of(const struct cow *c, bool is_whole)
{
	const char *path = c->folders[0].source;
	AUTO_FREE char *first = is_whole ? text_copy(path) : table_path(path);

	return c->count == 1 ? text_copy(first)
			     : text_format("%s and %zu more", first, c->count - 1);
}

static void add_row(struct table *t, const struct cow *c, bool is_whole, int64_t now)
{
	AUTO_FREE char *started = kept_changes_started(c);

	table_add(t, text_copy(c->name));
	table_add(t, folders_of(c, is_whole));
	table_add(t, table_age(started, now));
	table_add(t, c->is_live	  ? text_copy("sandbox lives")
		     : c->has_sum ? text_format("%llu", (unsigned long long)c->changes)
				  : NULL);
	table_add(t, c->has_sum ? table_bytes(c->bytes) : NULL);
}

static void print_table(const struct cow_list *kept, bool is_whole, int64_t now)
{
	static const char *const spare[] = { NULL };
	static const char *const heads[] = { "NAME", "FOLDER", "STARTED", "CHANGES",
					     "SIZE" };
	struct table t = { .columns = ARRAY_LEN(heads) };

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&t, text_copy(heads[i]));
	for (size_t i = 0; i < kept->count; i++)
		add_row(&t, &kept->items[i], is_whole, now);
	if (!is_whole)
		table_fit(&t, table_screen(), spare, "FOLDER");
	table_print(&t, stdout);
	table_done(&t);
}

int changes_main(char **argv)
{
	bool is_json = false, is_quiet = false, is_whole = false;
	const struct flag flags[] = {
		{ 0, "json", NULL, "one array on one line", &is_json, NULL },
		{ 'q', "quiet", NULL, "names alone", &is_quiet, NULL },
		{ 0, "no-trunc", NULL, "do not shorten folders", &is_whole, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch changes [OPTIONS]",
		.about =
			"Lists the changes that are kept of folders shown with :cow, until "
			"they are all\napplied, or discarded.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
	};
	struct cow_list kept = { 0 };
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	int result = kept_changes_list(&kept, &e);
	if (result == 0 && is_json)
		print_json(&kept);
	else if (result == 0 && !is_quiet)
		print_table(&kept, is_whole, (int64_t)time(NULL));
	for (size_t i = 0; result == 0 && is_quiet && i < kept.count; i++)
		(void)puts(kept.items[i].name);
	cow_list_done(&kept);
	return report_end(result, &e);
}

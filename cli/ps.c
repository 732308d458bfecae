/* hutch ps: lists sandboxes.
 *
 * Names and states are read from the registry's files, and what sandboxes use from the
 * kernel's (ps_usage.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/json_view.h"
#include "cli/common/report.h"
#include "cli/common/table.h"
#include "cli/ps_row.h"
#include "cli/ps_usage.h"
#include "cli/stats_poll.h"
#include "cli/verbs.h"
#include "rootfs-tools/changes/kept_changes.h"
#include "sandbox/launch/result.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/saved_spec.h"

static struct json_view scan(const char *text)
{
	struct json_view r = { 0 };

	if (text)
		(void)json_view_scan(&r, text, strlen(text),
				     NULL); /* if the text is no JSON, `r` stays empty */
	return r;
}

/* Removes the unused sandboxes of pools from the list: there may be so many that the
 * user would not find the others. */
static void leave_out_waiting(struct registry_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].is_waiting)
			registry_item_done(&list->items[i]);
		else
			list->items[kept++] = list->items[i];
	list->count = kept;
}

/* --- what is kept of changes ------------------------------------------------- */

static bool is_listed(const struct registry_list *list, const char *id)
{
	bool is = false;

	for (size_t i = 0; i < list->count && !is; i++)
		is = !strcmp(list->items[i].id, id);
	return is;
}

static char *info_of(const struct cow *c)
{
	AUTO_FREE char *source = json_write_quoted(c->folders[0].source);
	AUTO_FREE char *started = kept_changes_started(c);

	return text_format("{\"created\":\"%s\",\"workspace\":%s}", started, source);
}

static void add_item(struct registry_list *list, const char *name, const char *id,
		     char *info)
{
	list->items = mem_resize(list->items, list->count + 1, sizeof(*list->items));
	struct registry_item *item = &list->items[list->count++];
	*item = (struct registry_item){ .status = REGISTRY_ENDED, .info = info };
	(void)snprintf(item->name, sizeof(item->name), "%s", name);
	(void)snprintf(item->id, sizeof(item->id), "%s", id);
}

/* Adds ended sandboxes of which only their changes are kept. */
static void add_kept(struct registry_list *list, const struct cow_list *kept)
{
	for (size_t i = 0; i < kept->count; i++) {
		const struct cow *c = &kept->items[i];
		if (!c->is_live && !is_listed(list, c->id))
			add_item(list, c->name, c->id, info_of(c));
	}
}

/* Adds kept sandboxes without a record of their end, such as those from before
 * a reboot. */
static void add_saved_specs(struct registry_list *list, struct saved_spec_list *kept)
{
	for (size_t i = 0; i < kept->count; i++) {
		struct saved_spec *d = &kept->items[i];
		if (is_listed(list, d->id))
			continue;
		AUTO_FREE char *image = json_write_quoted(d->image);
		AUTO_FREE char *created = json_write_quoted(d->created);
		AUTO_FREE char *labels = saved_spec_labels(d);
		add_item(list, d->name, d->id,
			 text_format("{\"image\":%s,\"created\":%s,\"labels\":%s}", image,
				     created, labels ? labels : "null"));
	}
}

static bool is_saved_spec(const struct saved_spec_list *kept, const char *id)
{
	bool is = false;

	for (size_t i = 0; i < kept->count && !is; i++)
		is = !strcmp(kept->items[i].id, id);
	return is;
}

static int64_t changes_kept(const struct cow_list *kept, const char *id)
{
	for (size_t i = 0; i < kept->count; i++)
		if (!strcmp(kept->items[i].id, id) && kept->items[i].has_sum)
			return (int64_t)kept->items[i].bytes;
	return -1;
}

/* --- all ------------------------------------------------------------------- */

/* The state that is kept of ended sandboxes: changes in copy-on-write folders, and
 * specifications to start a sandbox again. */
struct remains {
	struct cow_list changes;
	struct saved_spec_list saved_specs;
};

static void print(const struct registry_list *list, const struct remains *kept,
		  const struct ps_options *o, int64_t now)
{
	AUTO_FREE struct sample *samples = mem_zeroed(list->count, sizeof(*samples));
	AUTO_FREE struct row *rows = mem_zeroed(list->count, sizeof(*rows));

	size_t count = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct row row = {
			.item = &list->items[i],
			.info = scan(list->items[i].info),
			.record = scan(list->items[i].record),
			.is_kept = is_saved_spec(&kept->saved_specs, list->items[i].id),
			.changes = changes_kept(&kept->changes, list->items[i].id)
		};
		if (ps_row_fits(&row, &o->filters))
			rows[count++] = row;
	}
	if (!o->is_quiet)
		ps_usage(rows, samples, count, o->is_json || o->format);
	ps_print(rows, count, o, now);
}

static void find_remains(struct registry_list *list, struct remains *kept)
{
	saved_spec_list(&kept->saved_specs);
	add_saved_specs(list, &kept->saved_specs);
	if (kept_changes_list(&kept->changes, NULL) < 0)
		return; /* on failure no kept changes are listed */
	add_kept(list, &kept->changes);
}

int ps_main(char **argv)
{
	struct ps_options o = { 0 };
	const struct flag flags[] = {
		{ 'a', "all", NULL, "also those that ended, or wait in a pool",
		  &o.has_all, NULL },
		{ 0, "json", NULL, "one array on one line", &o.is_json, NULL },
		{ 'q', "quiet", NULL, "names alone", &o.is_quiet, NULL },
		{ 0, "no-trunc", NULL, "do not shorten anything", &o.is_whole, NULL },
		{ 0, "format", "FORMAT", "such as '{{.Name}} {{.State}}', or json", NULL,
		  &o.format },
		{ 0, "filter", "KEY=VALUE...", "those alone that fit", NULL, &o.filters },
	};
	const struct usage usage = {
		.synopsis = "hutch ps [OPTIONS]",
		.about = "Lists the sandboxes that have a name.",
		.hint = "hutch inspect NAME tells about one",
		.flags = flags,
		.count = ARRAY_LEN(flags),
	};
	struct registry_list list;
	struct remains kept = { 0 };
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (ps_check(&o, &e) < 0 || registry_list(o.has_all, &list, &e) < 0) {
		list_done(&o.filters);
		return report_end(-1, &e);
	}
	if (o.has_all)
		find_remains(&list, &kept);
	else
		leave_out_waiting(&list);
	print(&list, &kept, &o, (int64_t)time(NULL));
	list_done(&o.filters);
	saved_spec_list_done(&kept.saved_specs);
	cow_list_done(&kept.changes);
	registry_list_done(&list);
	return 0;
}

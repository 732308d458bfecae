/* hutch diff: shows a sandbox's changes in folders shown copy-on-write. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/change_line.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/consent.h"
#include "cli/verbs.h"
#include "rootfs-tools/changes/kept_changes.h"
#include "rootfs-tools/changes/patch.h"
#include "rootfs-tools/changes/root_changes.h"
#include "sandbox/launch/result.h"
#include "sandbox/state/registry.h"

struct diff {
	struct kept_changes changes;
	struct root_changes root;
	struct list of_root; /* the wanted paths in the sandbox's root */
	bool is_json, is_patch;
	const char *target; /* the folder whose changes are being printed */
	uint64_t count, left_out;
	char *first; /* owned: the first change that was not printed, for a note */
};

/* --- one change ---------------------------------------------------------- */

static void print_object(struct diff *d, const struct meeting *m)
{
	bool is_link = m->item && m->item->kind == CHANGES_STREAM_LINK,
	     is_there = m->kind != 'D';
	AUTO_FREE char *whole = change_line_path(d->target, m);
	AUTO_FREE char *path = json_write_quoted(whole);
	AUTO_FREE char *link = json_write_quoted(is_link ? m->item->link : NULL);
	uint64_t size;

	(void)printf("%s{\"kind\":\"%c\",\"type\":\"%s\",\"path\":%s",
		     d->count ? "," : "", m->kind, change_line_type(m), path);
	if (change_line_size(m, &size))
		(void)printf(",\"size\":%llu", (unsigned long long)size);
	else
		(void)printf(",\"size\":null");
	if (is_there && !is_link)
		(void)printf(",\"mode\":\"%04o\"", m->item->mode);
	else
		(void)printf(",\"mode\":null");
	(void)printf(",\"link\":%s}", link);
}

static int on_meeting(void *context, const struct meeting *m, struct err *e)
{
	struct diff *d = context;

	if (m->is_on_way)
		return 0;
	if (d->is_patch)
		return patch_print(m, stdout, e);
	int is_same = m->may_be_same ? changes_walk_is_same(m, e) : 0;
	if (is_same != 0)
		return is_same < 0 ? -1 : 0;
	if (d->is_json)
		print_object(d, m);
	else
		change_line_print(d->target, m, stdout);
	d->count++;
	if (!ferror(stdout))
		return 0;
	return report_unwritten(e);
}

static void on_left_out(void *context, const char *path, const char *why)
{
	struct diff *d = context;

	if (!d->left_out++)
		d->first = text_format("%s: %s", path, why);
}

/* --- all ------------------------------------------------------------ */

static int diff_folder(struct diff *d, size_t number, struct err *e)
{
	const struct cow_folder *f = &d->changes.cow.folders[number];
	const struct list *wanted = &d->changes.wanted[number];

	if (d->changes.is_partial && !wanted->count)
		return 0;
	AUTO_CLOSE int dir = kept_changes_source(f, e);
	if (dir < 0)
		return -1;
	const struct changes_walk g = { .dir = dir,
					.wanted = wanted,
					.context = d,
					.on_meeting = on_meeting,
					.on_left_out = on_left_out };
	d->target = f->target;
	return kept_changes_walk(&d->changes, number, &g, e);
}

static int diff_root(struct diff *d, struct err *e)
{
	struct list wanted = { 0 };

	if (d->root.upper < 0 || (d->changes.is_partial && !d->of_root.count))
		return 0;
	for (size_t i = 0; i < d->of_root.count; i++)
		list_add(&wanted, d->of_root.items[i] + 1);
	const struct changes_walk g = { .dir = d->root.below,
					.wanted = &wanted,
					.context = d,
					.on_meeting = on_meeting,
					.on_left_out = on_left_out };
	d->target = "/";
	const struct idmaps *ranges = d->root.has_ranges ? &d->root.ids : NULL;
	int result = kept_changes_walk_upper(d->root.upper, ranges, &g, e);
	list_done(&wanted);
	return result;
}

static int diff_all(struct diff *d, struct err *e)
{
	int result = 0;

	if (d->is_json)
		(void)printf("[");
	for (size_t i = 0; i < d->changes.cow.count && result == 0; i++)
		result = diff_folder(d, i, e);
	if (result == 0)
		result = diff_root(d, e);
	if (d->is_json && result == 0)
		(void)printf("]\n");
	if (result == 0 && report_flush() < 0)
		result = report_unwritten(e);
	return result;
}

/* A path without changes is more often one that was mistyped. */
static void tell_none(const struct diff *d, const char *name)
{
	if (d->changes.is_partial && !d->count && !d->left_out && !d->is_patch &&
	    !d->is_json)
		note_print("note: nothing is changed there; hutch diff %s lists all "
			   "changes", name);
}

static void tell_left_out(const struct diff *d)
{
	if (!d->left_out)
		return;
	AUTO_FREE char *first = term_escape_line(d->first);
	note_print("note: %llu %s not shown, such as %s", (unsigned long long)d->left_out,
		   d->left_out == 1 ? "is" : "are", first);
}

/* Opens the sandbox's root, by its name or id. */
static int open_root(struct diff *d, const char *name, struct err *e)
{
	char live[REGISTRY_NAME_MAX + 1];

	if (root_changes_open(&d->root, name, e) == 0)
		return 0;
	if (e->kind != ERR_NOT_FOUND || registry_name_of(name, live) < 0)
		return -1;
	return root_changes_open(&d->root, live, e);
}

/* Finds the kept changes of folders and, if the sandbox is live, opens its root.  NULL as
 * the name: those of the current folder. */
static int find(struct diff *d, const char *name, char *const *words, struct err *e)
{
	struct err of_root;

	if (kept_changes_open(&d->changes, name, words, &d->of_root, e) < 0)
		return -1;
	if (!name) {
		name = d->changes.cow.id;
		consent_note(&d->changes.cow);
	}
	if (open_root(d, name, &of_root) == 0)
		return 0;
	if (of_root.kind == ERR_NOT_FOUND && !d->changes.cow.count) {
		(void)err_set(e, ERR_NOT_FOUND,
			      "no sandbox '%.63s' runs, and no changes are kept "
			      "of one",
			      name);
		return err_remedy(e, "hutch ps -a lists what runs and what is kept");
	}
	bool has_none = of_root.kind == ERR_NOT_FOUND || of_root.kind == ERR_UNSUPPORTED;
	if (has_none && d->changes.cow.count && !d->of_root.count)
		return 0;
	if (!has_none || of_root.kind == ERR_UNSUPPORTED || d->changes.cow.count)
		*e = of_root;
	return -1;
}

int diff_main(char **argv)
{
	struct diff d = { 0 };
	const struct flag flags[] = {
		{ 0, "json", NULL, "one array on one line", &d.is_json, NULL },
		{ 'p', "patch", NULL, "the changes in text files", &d.is_patch, NULL },
		FLAG_QUIET,
	};
	const struct usage usage = {
		.synopsis = "hutch diff [OPTIONS] [NAME [PATH...]]",
		.about =
			"Lists what a sandbox has changed in folders shown with :cow, and, while "
			"it\nlives, in the image that its root is written over.\nWithout NAME: "
			"what one has changed in the current folder.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_max = SIZE_MAX,
	};
	enum flags_result got = flags_begin(argv, &usage);
	struct err e;

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	root_changes_init(&d.root);
	char *const *words = argv[0] ? argv + 1 : argv;
	bool is_done = find(&d, argv[0], words, &e) == 0 && diff_all(&d, &e) == 0;
	tell_left_out(&d);
	if (is_done)
		tell_none(&d, argv[0]);
	else
		report_error(&e);
	kept_changes_done(&d.changes);
	root_changes_done(&d.root);
	list_done(&d.of_root);
	own_free(&d.first);
	return is_done ? 0 : EXIT_HUTCH;
}

/* hutch discard: throws away a sandbox's changes in folders shown copy-on-write. */
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/changes_record.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/consent.h"
#include "cli/verbs.h"
#include "rootfs-tools/changes/apply_kept.h"
#include "sandbox/launch/result.h"

static int discard_one(const char *name, struct err *e)
{
	struct apply_kept k;
	struct changes_record record;
	struct cow *c = &k.changes.cow;
	char *none[] = { NULL };
	struct err swept;

	apply_kept_init(&k);
	changes_record_init(&record, &k);
	int result = kept_changes_open(&k.changes, name, none, NULL, e);
	if (result == 0 && (result = cow_lock(c, e)) < 0)
		(void)err_remedy(e, "hutch stop %s first", name);
	/* The sweep removes temporary files that a killed `hutch apply` left.  Only
	 * ERR_BUSY matters: if the host's folder no longer exists, no temporary file
	 * is left in it. */
	if (result == 0 && apply_kept_sweep(&k, &swept) < 0 && swept.kind == ERR_BUSY) {
		*e = swept;
		result = -1;
	}
	if (result == 0)
		result = changes_record_begin(&record, "discard", e);
	if (result == 0)
		cow_remove(c);
	changes_record_done(&record);
	apply_kept_done(&k);
	return result;
}

/* Discards the changes, which `name` finds, and prints the name to show.  Returns the
 * exit code. */
static int discard(const char *name, const char *shown)
{
	struct err e;

	if (discard_one(name, &e) < 0) {
		report_error(&e);
		return EXIT_HUTCH;
	}
	(void)printf("%s\n", shown);
	return 0;
}

/* Leaves the changes of ended sandboxes in the list.  A live one goes on from its
 * changes. */
static void drop_live(struct cow_list *l)
{
	size_t ended = 0;

	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].is_live)
			cow_done(&l->items[i]);
		else
			l->items[ended++] = l->items[i];
	l->count = ended;
}

/* Adds the changes that the name finds. */
static int find(const char *name, struct cow_list *ret, struct err *e)
{
	struct cow found;

	if (cow_find(name, &found, e) < 0)
		return -1;
	ret->items = mem_resize(ret->items, ret->count + 1, sizeof(*ret->items));
	ret->items[ret->count++] = found;
	return 0;
}

/* Finds all names before the first changes are thrown away: a path behind the name, as
 * hutch apply takes it, must not cost all changes. */
static int find_named(char **names, struct cow_list *ret, struct err *e)
{
	for (char **name = names; *name; name++) {
		if (find(*name, ret, e) == 0)
			continue;
		(void)err_in(e, "nothing was discarded");
		if (name != names)
			(void)err_remedy(e, "hutch discard takes names of sandboxes, and "
					    "throws away all changes of each");
		return -1;
	}
	return 0;
}

static int find_here(struct cow_list *ret, struct err *e)
{
	char id[COW_ID_LEN + 1];

	return kept_changes_here(id, e) < 0 ? -1 : find(id, ret, e);
}

static int find_all(struct cow_list *ret, struct err *e)
{
	if (kept_changes_list(ret, e) < 0)
		return -1;
	drop_live(ret);
	return 0;
}

static int discard_wanted(char **names, bool has_all, bool is_sure)
{
	struct cow_list l = { 0 };
	struct err e;
	int code = 0;
	int result = has_all	? find_all(&l, &e)
		     : names[0] ? find_named(names, &l, &e)
				: find_here(&l, &e);

	if (result == 0 && !is_sure)
		result = consent_to_discard(&l, names[0] != NULL, &e);
	for (size_t i = 0; result == 0 && i < l.count; i++)
		if (discard(names[0] ? names[i] : l.items[i].id,
			    names[0] ? names[i] : l.items[i].name))
			code = EXIT_HUTCH;
	cow_list_done(&l);
	return result < 0 ? report_end(result, &e) : code;
}

int discard_main(char **argv)
{
	bool has_all = false, is_sure = false;
	const struct flag flags[] = {
		{ 0, "all", NULL, "of all sandboxes that have ended", &has_all, NULL },
		{ 'y', "yes", NULL, "do not ask", &is_sure, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch discard [OPTIONS] [NAME...]",
		.about =
			"Throws away what sandboxes have changed in folders shown with "
			":cow.\nWithout NAME: what one has changed in the current folder.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_max = SIZE_MAX,
	};
	enum flags_result got = flags_begin(argv, &usage);
	struct err e;

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (!has_all || !argv[0])
		return discard_wanted(argv, has_all, is_sure);
	(void)err_set(&e, ERR_USAGE, "--all takes no name");
	(void)err_remedy(&e, "hutch discard NAME... or hutch discard --all");
	return report_end(-1, &e);
}

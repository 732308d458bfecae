/* hutch apply: makes a sandbox's changes in folders shown copy-on-write. */
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/changes_record.h"
#include "cli/choose.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/consent.h"
#include "cli/verbs.h"
#include "rootfs-tools/changes/apply_kept.h"
#include "rootfs-tools/changes/chosen.h"
#include "sandbox/launch/result.h"

struct job {
	struct apply_kept apply;
	struct chosen *chosen; /* owned; for each folder what the user has chosen; NULL
				* without --interactive */
	struct changes_record record;
};

/* --- one change ---------------------------------------------------------- */

static void print_done(char kind, const char *path)
{
	AUTO_FREE char *shown = term_escape_line(path);

	(void)printf("%c %s\n", kind, shown);
}

static void print_refused(const char *path, const char *why)
{
	AUTO_FREE char *shown = term_escape_line(path), *because = term_escape_line(why);

	(void)fprintf(stderr, "hutch: not applied: %s: %s\n", shown, because);
}

static void job_init(struct job *j)
{
	*j = (struct job){ 0 };
	apply_kept_init(&j->apply);
	j->apply.on_done = print_done;
	j->apply.on_refused = print_refused;
	changes_record_init(&j->record, &j->apply);
}

static void job_done(struct job *j)
{
	for (size_t i = 0; j->chosen && i < j->apply.changes.cow.count; i++)
		chosen_done(&j->chosen[i]);
	own_free(&j->chosen);
	changes_record_done(&j->record);
	apply_kept_done(&j->apply);
}

/* --- what came of it ------------------------------------------------------ */

static void note_left_out(const struct apply_kept *k)
{
	if (!k->first)
		return;
	AUTO_FREE char *first = term_escape_line(k->first);
	note_print("note: %llu cannot be applied, such as %s",
		   (unsigned long long)k->left_out, first);
}

static void say_counts(const struct apply_kept *k, struct err *e)
{
	const unsigned long long done = k->done, refused = k->refused;
	const char *name = k->changes.cow.name;

	if (k->is_judging)
		(void)err_set(e, ERR_REFUSED,
			      "nothing %s applied: %llu of the changes of '%s' "
			      "cannot be, and all files are as they were",
			      k->is_dry ? "would be" : "was", refused, name);
	else if (k->is_dry)
		(void)err_set(e, ERR_REFUSED,
			      "%llu of the changes of '%s' would be applied, and "
			      "%llu would not",
			      done, name, refused);
	else
		(void)err_set(e, ERR_REFUSED,
			      "%llu of the changes of '%s' %s applied, and %llu "
			      "%s not: those files are as they were",
			      done, name, done == 1 ? "was" : "were", refused,
			      refused == 1 ? "was" : "were");
}

/* Returns whether a refusal came while changes were being applied: without --partial,
 * hutch applies nothing unless a first walk has found that all changes are
 * possible. */
static bool failed_amid(const struct apply_kept *k)
{
	return !k->takes_parts && !k->is_judging;
}

static int refused(const struct apply_kept *k, struct err *e)
{
	const char *parts = k->takes_parts ? "" : "--partial applies the others; ";
	const char *both = k->protected && k->changed ? " and " : "";
	const char *force = k->changed ? "--force" : "";
	const char *protected = k->protected ? "--include-protected" : "";
	const char *name = k->changes.cow.name;

	if (!k->refused)
		return 0;
	say_counts(k, e);
	if (failed_amid(k))
		return err_remedy(
			e,
			"what was applied is listed, and what was not; hutch apply "
			"%s goes on with that",
			name);
	if (!k->protected && !k->changed)
		return err_remedy(e, "%shutch diff -p %s PATH shows what it would be",
				  parts, name);
	return err_remedy(
		e,
		"%shutch diff -p %s PATH shows what it would be; with %s%s%s it is "
		"done all the same",
		parts, name, force, both, protected);
}

/* Returns -1, and says in the error which changes stay applied: an error in the
 * middle of a walk does not undo the changes before it. */
static int failed(const struct apply_kept *k, struct err *e)
{
	if (k->done && !apply_kept_does_nothing(k))
		(void)err_remedy(
			e,
			"%llu of the changes of '%s' were applied and are listed; "
			"hutch apply %s goes on behind them",
			(unsigned long long)k->done, k->changes.cow.name,
			k->changes.cow.name);
	return -1;
}

static int apply(struct apply_kept *k, struct err *e)
{
	const int result = apply_kept_make(k, e);

	if (report_flush() < 0)
		return report_unwritten(e);
	if (result < 0)
		return failed(k, e);
	note_left_out(k);
	if (k->changes.is_partial && !k->done && !k->refused && !k->left_out)
		note_print("note: nothing of '%s' is to be applied there; hutch diff %s "
			   "lists all changes", k->changes.cow.name, k->changes.cow.name);
	return apply_kept_settle(k, e) < 0 ? -1 : refused(k, e);
}

static int apply_recorded(struct job *j, struct err *e)
{
	struct err unrecorded;

	if (j->apply.is_dry)
		return apply(&j->apply, e);
	if (changes_record_begin(&j->record, "apply", e) < 0)
		return -1;
	int result = apply(&j->apply, e);
	if (changes_record_applied(&j->record, result < 0 ? e : NULL, &unrecorded) == 0)
		return result;
	*e = unrecorded;
	return -1;
}

/* --- what the user wants ---------------------------------------------------- */

struct wish {
	const char *name;    /* NULL: the changes are found by the current folder */
	char *const *words;  /* the wanted paths, up to a NULL */
	bool is_interactive; /* the user chooses from the changes */
	bool is_sure;	     /* the user is not asked */
};

static size_t count_chosen(const struct job *j)
{
	size_t count = 0;

	for (size_t i = 0; i < j->apply.changes.cow.count; i++)
		count += j->chosen[i].paths.count;
	return count;
}

static int apply_chosen(struct job *j, struct err *e)
{
	struct apply_kept *k = &j->apply;

	j->chosen = mem_zeroed(k->changes.cow.count, sizeof(*j->chosen));
	k->chosen = j->chosen;
	if (choose(&k->changes, j->chosen, e) < 0)
		return -1;
	if (count_chosen(j))
		return apply_recorded(j, e);
	note_print("note: no change was chosen, and none is applied");
	return 0;
}

static int apply_wish(struct job *j, const struct wish *w, struct err *e)
{
	struct kept_changes *kept = &j->apply.changes;
	const bool is_asked = !w->is_sure && !j->apply.is_dry;

	j->record.words = w->words;
	if (w->is_interactive && w->is_sure) {
		(void)err_set(e, ERR_USAGE,
			      "--interactive asks, and --yes does not; choose one");
		return err_remedy(e, "leave out --yes to be asked about each file, or "
				     "--interactive to apply all of them");
	}
	if (kept_changes_open(kept, w->name, w->words, NULL, e) < 0)
		return -1;
	if (w->is_interactive) {
		if (!w->name || kept->cow.is_generated)
			consent_note(&kept->cow);
		return apply_chosen(j, e);
	}
	if (is_asked && consent_to_apply(kept, w->name != NULL, e) < 0)
		return -1;
	return apply_recorded(j, e);
}

int apply_main(char **argv)
{
	struct job j;
	struct apply_kept *k = &j.apply;
	struct wish w = { 0 };
	struct err e;
	const struct flag flags[] = {
		{ 'f', "force", NULL, "over what this host has changed meanwhile",
		  &k->is_forced, NULL },
		{ 0, "include-protected", NULL, "also paths that --protect named",
		  &k->takes_protected, NULL },
		{ 0, "partial", NULL, "the possible changes, even if others fail",
		  &k->takes_parts, NULL },
		{ 'i', "interactive", NULL, "ask about one change after the other",
		  &w.is_interactive, NULL },
		{ 'y', "yes", NULL, "do not ask", &w.is_sure, NULL },
		{ 0, "dry-run", NULL, "say what would be done, and do nothing",
		  &k->is_dry, NULL },
		FLAG_QUIET,
	};
	const struct usage usage = {
		.synopsis = "hutch apply [OPTIONS] [NAME [PATH...]]",
		.about =
			"Does on this host what a sandbox has changed in folders shown "
			"with :cow.\nWithout NAME: what one has changed in the current "
			"folder.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_max = SIZE_MAX,
	};

	job_init(&j);
	const enum flags_result got = flags_begin(argv, &usage);
	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	w.name = argv[0];
	w.words = argv[0] ? argv + 1 : argv;
	int result = apply_wish(&j, &w, &e);
	job_done(&j);
	return report_end(result, &e);
}

/* hutch apply and hutch discard: make or throw away a sandbox's changes in
 * folders shown copy-on-write. */
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/choose.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/consent.h"
#include "cli/verbs.h"
#include "rootfs-tools/changes/apply_kept.h"
#include "rootfs-tools/changes/chosen.h"
#include "sandbox/launch/audit.h"
#include "sandbox/launch/result.h"

struct job {
	struct apply_kept apply;
	char *const *words; /* borrowed: the wanted paths, up to a NULL; none: all */
	struct chosen *chosen; /* owned; for each folder what the user has chosen; NULL
				* without --interactive */
	struct audit audit; /* opened if the sandbox was made with an audit log */
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
	audit_init(&j->audit);
}

static void job_done(struct job *j)
{
	for (size_t i = 0; j->chosen && i < j->apply.changes.cow.count; i++)
		chosen_done(&j->chosen[i]);
	own_free(&j->chosen);
	audit_done(&j->audit);
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

/* --- on record ------------------------------------------------------------ */

static int open_log(struct job *j, struct err *e)
{
	const struct cow *c = &j->apply.changes.cow;

	return audit_resume(&j->audit, c->audit, c->id, c->name, e);
}

static void note_folders(struct audit_json *n, const struct cow *c)
{
	struct list sources = { 0 };

	for (size_t i = 0; i < c->count; i++)
		list_add(&sources, c->folders[i].source);
	audit_json_words(n, "folders", sources.items, sources.count);
	list_done(&sources);
}

static size_t count_words(char *const *words)
{
	size_t count = 0;

	while (words && words[count])
		count++;
	return count;
}

/* Notes the paths that the user has named or, with --interactive, chosen. */
static void note_paths(struct audit_json *n, const struct job *j)
{
	const struct cow *c = &j->apply.changes.cow;
	struct list chosen = { 0 };

	for (size_t i = 0; j->chosen && i < c->count; i++)
		for (size_t p = 0; p < j->chosen[i].paths.count; p++)
			list_addf(&chosen, "%s/%s", c->folders[i].target,
				  j->chosen[i].paths.items[p]);
	if (j->chosen)
		audit_json_words(n, "paths", chosen.items, chosen.count);
	else
		audit_json_words(n, "paths", j->words, count_words(j->words));
	list_done(&chosen);
}

/* Writes the audit entry before any file is changed. */
static int put_on_record(struct job *j, const char *event, struct err *e)
{
	struct audit_json n;

	if (open_log(j, e) < 0)
		return -1;
	audit_note(&j->audit, &n);
	note_folders(&n, &j->apply.changes.cow);
	note_paths(&n, j);
	audit_json_yes(&n, "forced", j->apply.is_forced);
	audit_json_yes(&n, "include_protected", j->apply.takes_protected);
	return audit_add(&j->audit, event, &n, AUDIT_LASTING, e);
}

/* Writes the result's audit entry; `why` is the error, or NULL. */
static int record_applied(struct job *j, const struct err *why, struct err *e)
{
	struct audit_json n;

	audit_note(&j->audit, &n);
	audit_json_number(&n, "done", j->apply.done);
	audit_json_number(&n, "refused", j->apply.refused);
	audit_json_number(&n, "left_out", j->apply.left_out);
	audit_json_text(&n, "error", why ? why->text : NULL);
	return audit_add(&j->audit, "applied", &n, AUDIT_LASTING, e);
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
	if (put_on_record(j, "apply", e) < 0)
		return -1;
	int result = apply(&j->apply, e);
	if (record_applied(j, result < 0 ? e : NULL, &unrecorded) == 0)
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

	j->words = w->words;
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

/* --- discard ------------------------------------------------------------ */

static int discard_one(const char *name, struct err *e)
{
	struct job j;
	struct cow *c = &j.apply.changes.cow;
	char *none[] = { NULL };
	struct err swept;

	job_init(&j);
	int result = kept_changes_open(&j.apply.changes, name, none, NULL, e);
	if (result == 0 && (result = cow_lock(c, e)) < 0)
		(void)err_remedy(e, "hutch stop %s first", name);
	/* The sweep removes temporary files that a killed `hutch apply` left.  Only
	 * ERR_BUSY matters: if the host's folder no longer exists, no temporary file
	 * is left in it. */
	if (result == 0 && apply_kept_sweep(&j.apply, &swept) < 0 &&
	    swept.kind == ERR_BUSY) {
		*e = swept;
		result = -1;
	}
	if (result == 0)
		result = put_on_record(&j, "discard", e);
	if (result == 0)
		cow_remove(c);
	job_done(&j);
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

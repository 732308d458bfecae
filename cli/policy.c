/* hutch policy: shows, compares and checks policies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/common/flags.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "cli/common/subcommands.h"
#include "cli/common/table.h"
#include "cli/verbs.h"
#include "policy/policy.h"
#include "policy/policy_file.h"
#include "sandbox/launch/result.h"

/* --- what all do ------------------------------------------------------------------ */

/* A named policy: its settings, and their effect. */
struct named {
	struct policy_file settings;
	struct policy policy;
};

/* Checks each value as its flag would be checked, and then all of them together. */
static int judge(struct named *n, struct err *e)
{
	struct run_options options = { .verb = VERB_CREATE,
				       .policy = &n->policy,
				       .json_fd = -1 };

	n->policy.takes_actions = true; /* a policy needs no command */
	return options_apply(&options, &n->settings, e) < 0 ? -1
							    : policy_check(&n->policy, e);
}

static int read_one(struct named *n, const char *name, struct err *e)
{
	*n = (struct named){ 0 };
	policy_init(&n->policy);
	if (policy_file_read(&n->settings, name, e) < 0)
		return -1;
	return judge(n, e) < 0 ? err_in(e, "%.300s", name) : 0;
}

static void named_done(struct named *n)
{
	policy_file_done(&n->settings);
	policy_done(&n->policy);
}

static int fail(struct named *n, const struct err *e)
{
	report_error(e);
	named_done(n);
	return EXIT_HUTCH;
}

/* Prints all settings of one kind.  Values of a list keep their order, which
 * may matter. */
static void print_kind(struct table *t, const struct policy_file *s,
		       const struct setting_kind *k)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct setting *at = &s->items[i];
		if (at->kind != k)
			continue;
		table_add(t, text_copy(k->key));
		table_add(t, text_copy(at->value));
		table_add(t, text_copy(at->origin));
	}
}

/* --- list ------------------------------------------------------------------------- */

static int list_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch policy list",
		.about = "The policies that hutch has, to be named with --policy.",
	};
	struct table table = { .columns = 2 };
	enum flags_result rc = flags_begin(argv, &usage);

	if (rc != FLAGS_READ)
		return rc == FLAGS_HELP ? 0 : EXIT_HUTCH;
	table_add(&table, text_copy("NAME"));
	table_add(&table, text_copy("ABOUT"));
	for (const char *const *name = policy_file_profiles(); *name; name++) {
		table_add(&table, text_copy(*name));
		table_add(&table, policy_file_about(*name));
	}
	table_print(&table, stdout);
	table_done(&table);
	return 0;
}

/* Prints a note about protected paths that do not exist.  In a folder shown with :rw
 * a protected path is a mount over an existing file, so a path that does not exist
 * yet is not protected. */
static void note_unprotected(const struct policy *p)
{
	(void)report_flush(); /* writes the table before the notes if both go to one file;
			       * main() reports a failure */
	for (size_t i = 0;
	     p->protects.count && !p->protects_missing && i < p->volume_count; i++) {
		const struct volume *v = &p->volumes[i];
		if (v->kind == VOLUME_TMPFS || !v->is_writable || v->is_cow)
			continue;
		AUTO_FREE char *target = term_escape_line(v->target);
		note_print("note: %s is shown :rw, where names that are not there yet "
			   "are not protected; :cow protects them, and --protect-missing "
			   "does, more slowly", target);
	}
}

/* --- show ------------------------------------------------------------------------- */

static int show_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch policy show NAME|FILE",
		.about = "Prints all settings of a policy and its bases, and the source "
			 "of each.",
		.operands_min = 1, .operands_max = 1,
	};
	struct table table = { .columns = 3 };
	struct named n;
	struct err e;
	enum flags_result rc = flags_begin(argv, &usage);

	if (rc != FLAGS_READ)
		return rc == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (read_one(&n, argv[0], &e) < 0)
		return fail(&n, &e);
	table_add(&table, text_copy("KEY"));
	table_add(&table, text_copy("VALUE"));
	table_add(&table, text_copy("FROM"));
	for (const struct setting_kind *k = setting_kinds; k->key; k++)
		print_kind(&table, &n.settings, k);
	table_print(&table, stdout);
	table_done(&table);
	note_unprotected(&n.policy);
	named_done(&n);
	return 0;
}

/* --- check ------------------------------------------------------------------------ */

static int check_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch policy check NAME|FILE",
		.about = "Checks that a policy can be read and does not contradict "
			 "itself.",
		.operands_min = 1, .operands_max = 1,
	};
	struct named n;
	struct err e;
	enum flags_result rc = flags_begin(argv, &usage);

	if (rc != FLAGS_READ)
		return rc == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (read_one(&n, argv[0], &e) < 0)
		return fail(&n, &e);
	const size_t count = n.settings.count;
	(void)printf("%s is a policy: %zu setting%s\n", argv[0], count,
		     count == 1 ? "" : "s");
	(void)report_flush(); /* as note_unprotected() does */
	report_rules(&n.policy);
	named_done(&n);
	return 0;
}

/* --- diff ------------------------------------------------------------------------- */

static bool has(const struct policy_file *s, const struct setting *wanted)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].kind == wanted->kind &&
		    !strcmp(s->items[i].value, wanted->value))
			return true;
	return false;
}

/* Prints the settings of `a` that `b` does not have. */
static void print_missing(char sign, const struct policy_file *a,
			  const struct policy_file *b, const struct setting_kind *k)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct setting *at = &a->items[i];
		if (at->kind != k || has(b, at))
			continue;
		AUTO_FREE char *value = term_escape_line(at->value);
		(void)printf("%c %s %s\n", sign, k->key, value);
	}
}

static int compare_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch policy diff NAME|FILE NAME|FILE",
		.about = "Prints settings that only the first has (-), and that only the "
			 "second has (+).",
		.operands_min = 2, .operands_max = 2,
	};
	struct named a, b;
	struct err e;
	enum flags_result rc = flags_begin(argv, &usage);

	if (rc != FLAGS_READ)
		return rc == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (read_one(&a, argv[0], &e) < 0)
		return fail(&a, &e);
	if (read_one(&b, argv[1], &e) < 0) {
		named_done(&a);
		return fail(&b, &e);
	}
	for (const struct setting_kind *k = setting_kinds; k->key; k++) {
		print_missing('-', &a.settings, &b.settings, k);
		print_missing('+', &b.settings, &a.settings, k);
	}
	named_done(&a);
	named_done(&b);
	return 0;
}

/* --- the verb --------------------------------------------------------------------- */

int policy_main(char **argv)
{
	static const struct part list[] = {
		{ "list", "the policies that hutch has", list_main },
		{ "show", "all settings of one, and their sources", show_main },
		{ "check", "whether a file can be read", check_main },
		{ "diff", "the differences of two", compare_main },
	};
	static const struct subcommands parts = {
		.verb = "policy",
		.about =
			"What a sandbox is allowed and given, in a file: --policy of hutch run, "
			"act,\ncreate and fork.",
		.list = list,
		.count = ARRAY_LEN(list),
	};

	return subcommands_main(argv, &parts);
}

/* hutch audit: checks whether the log is intact; audit_show.c prints it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/common/subcommands.h"
#include "cli/verbs.h"
#include "sandbox/launch/audit.h"
#include "sandbox/launch/result.h"
#include "store/folders.h"
#include "store/ledger_check.h"
#include "store/ledger_walk.h"

/* the exit code of `hutch audit` when the log has been changed */
#define EXIT_BROKEN 1

int audit_walk_begin(struct ledger_walk *w, const char *folder, struct err *e)
{
	AUTO_FREE char *path = folder ? text_copy(folder) : folder_audit("on");

	*w = (struct ledger_walk){ .folder = -1, .file = -1 };
	if (!path)
		return err_set(e, ERR_NOT_FOUND, "there is no data folder of yours");
	if (ledger_walk_open(w, path, e) == 0)
		return 0;
	if (e->kind == ERR_NOT_FOUND)
		(void)err_remedy(e, "--audit of hutch run, act and create makes one");
	return -1;
}

/* --- verify ----------------------------------------------------------------------- */

/* Checks all entries of the log.  Returns 0 if the log is intact, 1 if it was
 * changed, and -1 if it could not be read. */
static int check_all(struct ledger_walk *w, struct ledger_check *c, struct err *e)
{
	struct ledger_line line;
	int more;

	while ((more = ledger_walk_next(w, &line, e)) > 0)
		if (ledger_check_line(c, &line, e) < 0)
			return EXIT_BROKEN;
	if (more < 0)
		return -1;
	return ledger_check_end(c, e) < 0 ? EXIT_BROKEN : 0;
}

static void print_whole(const struct ledger_check *c)
{
	AUTO_FREE char *begun = term_escape_line(c->begun);
	AUTO_FREE char *ended = term_escape_line(c->ended);

	(void)printf("whole: %llu entr%s", (unsigned long long)c->entries,
		     c->entries == 1 ? "y" : "ies");
	if (c->entries)
		(void)printf(" from %s to %s, last %s", begun, ended, c->last.hex);
	(void)printf("\n");
	if (c->first > 1)
		(void)printf("%llu entries before them are not here\n",
			     (unsigned long long)c->first - 1);
	if (c->torn_count)
		(void)printf(
			"writers that were killed have left parts of lines in %llu places\n",
			(unsigned long long)c->torn_count);
	if (c->torn_len)
		(void)printf(
			"the last line is a part of one, left by a writer that was killed: "
			"%llu bytes\n",
			(unsigned long long)c->torn_len);
}

static int verify(const char *folder, const struct list *anchors, struct ledger_check *c,
		  struct err *e)
{
	struct ledger_walk w = { .folder = -1, .file = -1 };

	if (ledger_check_begin(c, anchors, e) < 0)
		return -1;
	int result = audit_walk_begin(&w, folder, e);
	if (result == 0)
		result = check_all(&w, c, e);
	ledger_walk_done(&w);
	return result;
}

static int verify_main(char **argv)
{
	struct list anchors = { 0 };
	const struct flag flags[] = {
		{ 0, "anchor", "HASH...", "an entry has this hash, noted elsewhere", NULL,
		  &anchors },
	};
	const struct usage usage = {
		.synopsis = "hutch audit verify [--anchor HASH]... [DIR]",
		.about = "Checks that the log has all its entries, unchanged and in "
			 "order.",
		.flags = flags, .count = ARRAY_LEN(flags), .operands_max = 1,
	};
	struct ledger_check c;
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	int result = verify(argv[0], &anchors, &c, &e);
	if (result == 0)
		print_whole(&c);
	else if (result == EXIT_BROKEN)
		(void)err_in(&e, "broken");
	if (result != 0)
		report_error(&e);
	list_done(&anchors);
	return result < 0 ? EXIT_HUTCH : result;
}

/* --- the verb --------------------------------------------------------------------- */

int audit_main(char **argv)
{
	static const struct part list[] = {
		{ "verify", "check that it is intact", verify_main },
		{ "show", "print it", audit_show_main },
	};
	static const struct subcommands parts = {
		.verb = "audit",
		.about = "The log of sandboxes that were made with --audit.",
		.list = list, .count = ARRAY_LEN(list),
	};

	return subcommands_main(argv, &parts);
}

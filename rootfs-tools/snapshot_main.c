/* hutch snapshot, hutch commit, and the first step of hutch fork. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/note.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "rootfs-tools/index/store_index.h"
#include "rootfs-tools/snapshot.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"
#include "sandbox/state/registry.h"
#include "store/reference.h"
#include "store/refs.h"
#include "store/store.h"

static int print_name(const struct reference *r, struct err *e)
{
	char name[REFERENCE_MAX];

	reference_print_short(r, name);
	if (printf("%s\n", name) < 0 || fflush(stdout))
		return err_sys(e, "write to stdout");
	return 0;
}

/* Returns whether a live sandbox has this name; false also for a word that cannot be a
 * sandbox's name. */
static bool is_live(const char *name)
{
	struct registry_entry entry;

	if (registry_check_name(name, NULL) < 0 || registry_open(name, &entry, NULL) < 0)
		return false;
	registry_done(&entry);
	return true;
}

static int in_store(int (*do_it)(const struct store *s, char **words, struct err *e),
		    char **words, struct err *e)
{
	struct store s;

	if (store_open(&s, true, e) < 0)
		return -1;
	int rc = do_it(&s, words, e);
	store_done(&s);
	return rc;
}

static int end(int rc, const struct err *e)
{
	if (rc == 0)
		return 0;
	report_error(e);
	return EXIT_HUTCH;
}

/* --- snapshot ------------------------------------------------------------------- */

static const char *message;

static int take(const struct store *s, const char *sandbox, const char *as, struct err *e)
{
	const struct snapshot what = { .sandbox = sandbox, .message = message };
	struct reference r, name;

	if ((as && reference_parse_name(as, &r, e) < 0) ||
	    snapshot_take(s, &what, as ? &r : NULL, &name, e) < 0)
		return -1;
	return print_name(&name, e);
}

static int snapshot(const struct store *s, char **words, struct err *e)
{
	return take(s, words[0], words[1], e);
}

int image_snapshot_main(char **argv)
{
	const struct flag flags[] = {
		{ 'm', "message", "TEXT", "for the image's history", NULL, &message },
		FLAG_QUIET,
	};
	const struct usage usage = {
		.synopsis = "hutch snapshot [-q] [-m TEXT] NAME [REF]",
		.about =
			"Keeps what a sandbox has written to its root, as an image over its own; "
			"prints\nwhat that is called (default: localhost/NAME:1, 2, ...).",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = 2,
	};
	enum flags_result got = flags_begin(argv, &usage);
	struct err e;

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return end(in_store(snapshot, argv, &e), &e);
}

/* Fills in the rest of an error about a name that is neither a sandbox nor an image. */
static int no_source(const char *name, struct err *e)
{
	if (e->kind == ERR_NOT_FOUND)
		(void)err_remedy(e, "hutch ps lists sandboxes, hutch image ls images and "
				    "snapshots");
	return err_in(e, "no sandbox '%.63s' runs", name);
}

/* --- commit ----------------------------------------------------------------------- */

static int commit_image(const struct store *s, const char *from, const char *to,
			struct err *e)
{
	struct digest image;
	struct reference r;
	AUTO_CLOSE int lock = store_lock(s, false, true, e);

	if (lock < 0 || reference_parse_name(to, &r, e) < 0)
		return -1;
	if (store_index_resolve(s, from, &image, NULL, e) < 0)
		return no_source(from, e);
	return refs_put(s, &r, &image, e) < 0 ? -1 : print_name(&r, e);
}

static int commit(const struct store *s, char **words, struct err *e)
{
	return is_live(words[0]) ? take(s, words[0], words[1], e)
				 : commit_image(s, words[0], words[1], e);
}

int image_commit_main(char **argv)
{
	const struct flag flags[] = {
		{ 'm', "message", "TEXT", "for the image's history", NULL, &message },
	};
	const struct usage usage = {
		.synopsis = "hutch commit [-m TEXT] NAME|SNAPSHOT REF",
		.about =
			"Makes an image of a sandbox as it is, or of a snapshot, under a name "
			"of\nyour own.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 2,
		.operands_max = 2,
	};
	enum flags_result got = flags_begin(argv, &usage);
	struct err e;

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return end(in_store(commit, argv, &e), &e);
}

/* --- what a fork begins with -------------------------------------------------------- */

/* Prints the snapshot's name: the snapshot stays after the fork, as its image. */
static void report_snapshot(const struct reference *r)
{
	char name[REFERENCE_MAX];

	reference_print_short(r, name);
	note_print("the fork is made of the snapshot %s", name);
}

static int print_source(const struct store *s, char **words, struct err *e)
{
	struct digest image;
	struct reference name;

	/* The name is checked before a snapshot is made for it. */
	if (is_live(words[1]))
		return err_set(e, ERR_EXISTS, "a sandbox '%.63s' exists already",
			       words[1]);
	if (is_live(words[0])) {
		const struct snapshot what = { .sandbox = words[0] };
		if (snapshot_take(s, &what, NULL, &name, e) < 0)
			return -1;
		report_snapshot(&name);
		return print_name(&name, e);
	}
	if (store_index_resolve(s, words[0], &image, &name, e) < 0)
		return no_source(words[0], e);
	if (!name.registry[0]) /* the user gave the image's id, not a name */
		name = (struct reference){ .registry = "localhost", .repository = "image",
					   .pin = image };
	return print_name(&name, e);
}

/* hutch fork runs this verb, which prints the image to start from.  A live sandbox is
 * made into a snapshot; an image is used as it is. */
int image_fork_source_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch image fork-source NAME|SNAPSHOT FORK",
		.about = "Prints the image that hutch fork makes a sandbox FORK of.",
		.operands_min = 2, .operands_max = 2,
	};
	enum flags_result got = flags_begin(argv, &usage);
	struct err e;

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return end(in_store(print_source, argv, &e), &e);
}

#include "cli/choose.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "base/path.h"
#include "base/term_escape.h"
#include "cli/change_line.h"
#include "cli/common/ask.h"
#include "rootfs-tools/changes/chosen.h"
#include "rootfs-tools/changes/kept_changes.h"
#include "rootfs-tools/changes/patch.h"
#include "rootfs-tools/changes/repository.h"

struct choosing {
	const struct kept_changes *changes;
	size_t number; /* of the folder whose changes are walked */
	struct chosen *to;
	enum { ONE_BY_ONE, ALL_OTHERS, NO_OTHER } rest;
	const char *asked; /* borrowed: the path that the question is about */
	char *answered; /* owned: the last repository, or refused new folder: no question
			 * is asked about what is in it; may be NULL */
	uint64_t left_out;
	char *first; /* owned: the first entry that was left out, for a note */
};

/* --- the patch of one change ------------------------------------------------------ */

static int print_patch(void *context, const struct meeting *m, struct err *e)
{
	const struct choosing *c = context;
	const bool is_it = !strcmp(m->path, c->asked) || repository_len(c->asked);

	return is_it && !m->is_on_way ? patch_print(m, stderr, e) : 0;
}

/* Walks the changes once more, since the content of a file can be read only once in a
 * walk, and the comparison with the host may have read it. */
static int show_patch(struct choosing *c, struct err *e)
{
	struct list wanted = { 0 };
	AUTO_CLOSE int dir =
		kept_changes_source(&c->changes->cow.folders[c->number], e);

	if (dir < 0)
		return -1;
	list_add(&wanted, c->asked);
	const struct changes_walk g = { .dir = dir,
					.wanted = &wanted,
					.context = c,
					.on_meeting = print_patch };
	int result = kept_changes_walk(c->changes, c->number, &g, e);
	list_done(&wanted);
	return result;
}

/* --- one question ----------------------------------------------------------------- */

static void print_letters(void)
{
	(void)fprintf(stderr, "y: apply this change\n"
			      "n: do not apply it\n"
			      "a: apply it and all others\n"
			      "d, q: apply neither it nor any other, but those chosen "
			      "before\n"
			      "p: show its patch\n"
			      "?: this text\n");
}

static void print_thing(const struct choosing *c, const struct meeting *m)
{
	const char *target = c->changes->cow.folders[c->number].target;
	AUTO_FREE char *whole =
		text_format("%s/%s", strcmp(target, "/") ? target : "", c->asked);
	AUTO_FREE char *shown = term_escape_line(whole);

	if (repository_len(c->asked))
		(void)fprintf(stderr, "%c %12s %s (a git repository, with all in it)\n",
			      strcmp(c->asked, m->path) ? 'M' : m->kind, "-", shown);
	else
		change_line_print(target, m, stderr);
}

/* Asks until the answer decides.  Returns whether the change is to be applied; -1: an
 * error. */
static int ask(struct choosing *c, const struct meeting *m, struct err *e)
{
	print_thing(c, m);
	for (;;) {
		switch (ask_letter(stdin, "apply it? [y,n,a,d,q,p,?]")) {
		case 'y':
			return 1;
		case 'n':
			return 0;
		case 'a':
			c->rest = ALL_OTHERS;
			return 1;
		case 'd':
		case 'q':
			c->rest = NO_OTHER;
			return 0;
		case 'p':
			if (show_patch(c, e) < 0)
				return -1;
			break;
		case -1:
			return err_set(e, ERR_REFUSED, "nothing was applied: the input "
						       "has ended before the answer");
		default:
			print_letters();
		}
	}
}

/* --- all of them ------------------------------------------------------------------ */

/* Returns whether the answer about the path is also that about all below it: it is a
 * repository, or a folder that the host does not get. */
static bool is_for_all_below(const struct meeting *m, const char *thing, bool is_taken)
{
	const bool has_folder = m->exists && S_ISDIR(m->host.st_mode);

	return repository_len(thing) || (!is_taken && !has_folder);
}

static int on_meeting(void *context, const struct meeting *m, struct err *e)
{
	struct choosing *c = context;

	if (m->is_on_way || c->rest == NO_OTHER ||
	    (c->answered && path_below(m->path, c->answered)))
		return 0;
	const int is_same = m->may_be_same ? changes_walk_is_same(m, e) : 0;
	if (is_same != 0)
		return is_same < 0 ? -1 : 0;
	const size_t len = repository_len(m->path);
	AUTO_FREE char *thing = len ? text_format("%.*s", (int)len, m->path)
				    : text_copy(m->path);
	c->asked = thing;
	const int is_taken = c->rest == ALL_OTHERS ? 1 : ask(c, m, e);
	if (is_taken < 0)
		return -1;
	if (is_taken)
		chosen_add(c->to, thing);
	if (is_for_all_below(m, thing, is_taken)) {
		own_free(&c->answered);
		c->answered = text_copy(thing);
	}
	return 0;
}

static void on_left_out(void *context, const char *path, const char *why)
{
	struct choosing *c = context;

	if (!c->left_out++)
		c->first = text_format("%s: %s", path, why);
}

static int choose_in(struct choosing *c, struct err *e)
{
	const struct list *wanted = &c->changes->wanted[c->number];

	if (c->rest == NO_OTHER || (c->changes->is_partial && !wanted->count))
		return 0;
	AUTO_CLOSE int dir =
		kept_changes_source(&c->changes->cow.folders[c->number], e);
	if (dir < 0)
		return -1;
	const struct changes_walk g = { .dir = dir,
					.wanted = wanted,
					.context = c,
					.on_meeting = on_meeting,
					.on_left_out = on_left_out };
	own_free(&c->answered);
	int result = kept_changes_walk(c->changes, c->number, &g, e);
	chosen_end(c->to);
	return result;
}

static void tell_left_out(const struct choosing *c)
{
	if (!c->left_out)
		return;
	AUTO_FREE char *first = term_escape_line(c->first);
	note_print("note: %llu cannot be chosen, such as %s",
		   (unsigned long long)c->left_out, first);
}

int choose(const struct kept_changes *p, struct chosen *ret, struct err *e)
{
	struct choosing c = { .changes = p };
	int result = 0;

	if (!ask_is_possible()) {
		(void)err_set(e, ERR_USAGE,
			      "--interactive asks on a terminal, and stdin or stderr is "
			      "none");
		return err_remedy(e, "hutch apply NAME PATH... applies a part");
	}
	for (; c.number < p->cow.count && result == 0; c.number++) {
		c.to = &ret[c.number];
		result = choose_in(&c, e);
	}
	if (result == 0)
		tell_left_out(&c);
	own_free(&c.answered);
	own_free(&c.first);
	return result;
}

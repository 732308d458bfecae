#include "cli/consent.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/common/ask.h"
#include "rootfs-tools/changes/kept_changes.h"

/* Returns the host's folders, safe for a terminal, allocated. */
static char *folders_of(const struct cow *c)
{
	struct list sources = { 0 };

	for (size_t i = 0; i < c->count; i++) {
		AUTO_FREE char *shown = term_escape_line(c->folders[i].source);
		list_add(&sources, shown);
	}
	char *all = list_join(&sources, 0, ", ");
	list_done(&sources);
	return all;
}

static char *count_text(uint64_t count)
{
	return text_format("%llu change%s", (unsigned long long)count,
			   count == 1 ? "" : "s");
}

void consent_note(const struct cow *c)
{
	AUTO_FREE char *folders = folders_of(c);

	if (isatty(2))
		note_print("note: changes of %s to %s", c->name, folders);
}

int consent_to_apply(const struct kept_changes *p, bool is_named, struct err *e)
{
	const struct cow *c = &p->cow;
	uint64_t count;

	if ((is_named && !c->is_generated) || !ask_is_possible())
		return 0;
	if (kept_changes_count(p, &count, e) < 0)
		return -1;
	AUTO_FREE char *changes = count_text(count), *folders = folders_of(c);
	AUTO_FREE char *question =
		text_format("apply %s of %s to %s?", changes, c->name, folders);
	return !count || ask_yes(stdin, question)
		       ? 0
		       : err_set(e, ERR_REFUSED, "nothing was applied");
}

/* --- discard --------------------------------------------------------------------- */

/* A live sandbox's changes are not discarded, so nothing is asked about them. */
static bool needs_question(const struct cow_list *l, bool is_named)
{
	for (size_t i = 0; i < l->count; i++)
		if ((!is_named || l->items[i].is_generated) && !l->items[i].is_live)
			return true;
	return false;
}

/* Counts the changes of a sandbox whose launch could not count them. */
static int count_now(const struct cow *c, uint64_t *ret)
{
	char *const all[] = { NULL };
	struct kept_changes p;
	struct err e;

	int result = kept_changes_open(&p, c->name, all, NULL, &e);
	if (result == 0)
		result = kept_changes_count(&p, ret, &e);
	kept_changes_done(&p);
	return result;
}

static char *sum_of(const struct cow *c)
{
	uint64_t count = c->changes;

	return c->has_sum || count_now(c, &count) == 0 ? count_text(count)
						       : text_copy("the changes");
}

static char *question_about(const struct cow_list *l)
{
	const struct cow *c = l->items;

	if (l->count != 1)
		return text_format("discard the changes of these %zu?", l->count);
	AUTO_FREE char *sum = sum_of(c), *folders = folders_of(c);
	return text_format("discard %s of %s to %s?", sum, c->name, folders);
}

int consent_to_discard(const struct cow_list *l, bool is_named, struct err *e)
{
	if (!needs_question(l, is_named) || !ask_is_possible())
		return 0;
	for (size_t i = 0; l->count > 1 && i < l->count; i++) {
		const struct cow *c = &l->items[i];
		AUTO_FREE char *sum = sum_of(c), *folders = folders_of(c);
		(void)fprintf(stderr, "%s: %s to %s\n", c->name, sum, folders);
	}
	AUTO_FREE char *question = question_about(l);
	return ask_yes(stdin, question)
		       ? 0
		       : err_set(e, ERR_REFUSED, "nothing was discarded");
}

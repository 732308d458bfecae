#include "cli/changes_record.h"

#include "base/err.h"
#include "base/list.h"
#include "rootfs-tools/changes/apply_kept.h"
#include "rootfs-tools/changes/chosen.h"

void changes_record_init(struct changes_record *r, const struct apply_kept *apply)
{
	*r = (struct changes_record){ .apply = apply };
	audit_init(&r->audit);
}

void changes_record_done(struct changes_record *r)
{
	audit_done(&r->audit);
}

static int open_log(struct changes_record *r, struct err *e)
{
	const struct cow *c = &r->apply->changes.cow;

	return audit_resume(&r->audit, c->audit, c->id, c->name, e);
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
static void note_paths(struct audit_json *n, const struct changes_record *r)
{
	const struct cow *c = &r->apply->changes.cow;
	const struct chosen *chosen = r->apply->chosen;
	struct list paths = { 0 };

	for (size_t i = 0; chosen && i < c->count; i++)
		for (size_t p = 0; p < chosen[i].paths.count; p++)
			list_addf(&paths, "%s/%s", c->folders[i].target,
				  chosen[i].paths.items[p]);
	if (chosen)
		audit_json_words(n, "paths", paths.items, paths.count);
	else
		audit_json_words(n, "paths", r->words, count_words(r->words));
	list_done(&paths);
}

int changes_record_begin(struct changes_record *r, const char *event, struct err *e)
{
	struct audit_json n;

	if (open_log(r, e) < 0)
		return -1;
	audit_note(&r->audit, &n);
	note_folders(&n, &r->apply->changes.cow);
	note_paths(&n, r);
	audit_json_yes(&n, "forced", r->apply->is_forced);
	audit_json_yes(&n, "include_protected", r->apply->takes_protected);
	return audit_add(&r->audit, event, &n, AUDIT_LASTING, e);
}

int changes_record_applied(struct changes_record *r, const struct err *why, struct err *e)
{
	struct audit_json n;

	audit_note(&r->audit, &n);
	audit_json_number(&n, "done", r->apply->done);
	audit_json_number(&n, "refused", r->apply->refused);
	audit_json_number(&n, "left_out", r->apply->left_out);
	audit_json_text(&n, "error", why ? why->text : NULL);
	return audit_add(&r->audit, "applied", &n, AUDIT_LASTING, e);
}

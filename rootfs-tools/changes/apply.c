#include "rootfs-tools/changes/apply.h"

#include <errno.h>
#include <stdio.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "rootfs-tools/changes/apply_ahead.h"
#include "rootfs-tools/changes/apply_maker.h"
#include "rootfs-tools/changes/apply_parts.h"
#include "rootfs-tools/changes/chosen.h"
#include "rootfs-tools/changes/repository.h"
#include "rootfs-tools/changes/upper_scan.h"

bool apply_does_nothing(const struct apply *a)
{
	return a->is_dry || a->is_judging;
}

/* Reports a refused change.  Returns 1: this change is refused, and the walk goes on,
 * unless it is a probe: that reports nothing, and ends. */
int apply_refuse(struct apply *a, const char *path, const char *why)
{
	if (a->is_probing) {
		a->has_doubt = true;
		return 1;
	}
	a->refused++;
	a->is_stopped = a->is_whole && !a->is_judging;
	repository_break(a->repositories, path, why);
	if (a->on_refused)
		a->on_refused(a->context, path, why);
	return 1;
}

int apply_refuse_errno(struct apply *a, const char *path, const char *what)
{
	AUTO_FREE char *why = text_format("%s: %s", what, err_words(errno));

	return apply_refuse(a, path, why);
}

/* --- one change ---------------------------------------------------------- */

/* Remembers a refused folder, so that changes below it are not reported. */
static void remember_refused(struct apply *a, const struct meeting *m)
{
	if (!m->item || m->item->kind != CHANGES_STREAM_FOLDER)
		return;
	list_done(&a->shut);
	list_add(&a->shut, m->path);
}

static int on_new_below(struct apply *a, const struct meeting *m, struct err *e)
{
	if (a->shut.count && changes_walk_is_wanted(&a->shut, m->path))
		return 0;
	int result = apply_check_new(a, m, e);
	if (result > 0)
		remember_refused(a, m);
	if (result != 0)
		return result < 0 ? -1 : 0;
	a->done++;
	if (a->on_done)
		a->on_done(a->context, m);
	return 0;
}

/* Returns whether the change was chosen.  A folder on the way is made if a chosen change
 * is in it. */
static bool is_chosen(const struct apply *a, const struct meeting *m)
{
	return !a->chosen || chosen_has(a->chosen, m->path) ||
	       (m->is_on_way && chosen_is_above(a->chosen, m->path));
}

void apply_report(struct apply *a, const struct meeting *m)
{
	a->done++;
	if (!apply_does_nothing(a) && m->item && m->item->kind != CHANGES_STREAM_GONE)
		apply_record_add(a, m);
	if (!m->is_on_way && a->on_done)
		a->on_done(a->context, m);
}

static int meet(struct apply *a, const struct meeting *m, struct err *e)
{
	if (!is_chosen(a, m))
		return 0;
	if (m->at < 0) /* the host has no parent folder: it was refused, or not made
		        * because changes are only checked */
		return apply_does_nothing(a) ? on_new_below(a, m, e) : 0;
	int result = apply_does_nothing(a) ? 0 : apply_ahead_add(a, m, e);
	if (result != 0)
		return result < 0 ? -1 : 0;
	result = apply_check(a, m, e);
	if (result == 0 && !apply_does_nothing(a))
		result = apply_make(a, m, e);
	if (result > 0)
		remember_refused(a, m);
	if (result != 0)
		return result < 0 ? -1 : 0;
	apply_report(a, m);
	return 0;
}

static int on_meeting(void *context, const struct meeting *m, struct err *e)
{
	struct apply *a = context;

	if (meet(a, m, e) < 0)
		return -1;
	return a->has_doubt ? err_set(e, ERR_REFUSED, "a change may be refused") : 0;
}

/* --- all ------------------------------------------------------------ */

int apply_begin(struct apply *a, struct err *e)
{
	(void)snprintf(a->temporary, sizeof(a->temporary), APPLY_TEMPORARY "%.31s",
		       a->id);
	apply_find_own(a);
	a->is_alone = !apply_maker_can_help();
	if (apply_protect_begin(&a->protect, a->protects, a->dir, e) < 0)
		return -1;
	return apply_record_read(a, e);
}

void apply_done(struct apply *a)
{
	inodes_done(&a->applied);
	inodes_done(&a->own);
	apply_protect_done(&a->protect);
	list_done(&a->closed);
	list_done(&a->shut);
	list_done(&a->opened);
	own_free(&a->place.path);
	own_free(&a->job);
}

static void sweep_folder(void *context, int at)
{
	struct apply *a = context;

	own_free(&a->place.path); /* the folder may be another one of that path */
	if (!apply_does_nothing(a))
		apply_remove_temporary(at, a->temporary);
}

/* Removes also the files that were made ahead.  An apply sweeps in this way once, and only if
 * another apply was killed. */
static void sweep_whole_folder(void *context, int at)
{
	struct apply *a = context;
	struct apply_name name;

	sweep_folder(a, at);
	for (unsigned i = 0; i < APPLY_MAKER_JOBS; i++) {
		apply_maker_name(&name, a->temporary, i);
		apply_remove_temporary(at, name.text);
	}
}

static void on_left_out(void *context, const char *path, const char *why)
{
	struct apply *a = context;

	if (a->chosen)
		return;
	if (!upper_scan_is_no_file(why)) {
		(void)apply_refuse(a, path, why);
		return;
	}
	a->left_out++;
	if (a->on_left_out)
		a->on_left_out(a->context, path, why);
}

/* The queue has files of one folder only. */
static int on_other(void *context, struct err *e)
{
	struct apply *a = context;

	a->in_row = 0;
	return apply_ahead_finish(a, e);
}

int apply_all(struct apply *a, struct changes_stream *t, struct err *e)
{
	const struct changes_walk g = { .dir = a->dir,
					.wanted = a->wanted,
					.context = a,
					.on_meeting = on_meeting,
					.on_folder = sweep_folder,
					.on_other = on_other,
					.on_left_out = on_left_out };
	struct err late;
	int result = changes_walk_walk(&g, t, e);

	if (apply_ahead_finish(a, result < 0 ? &late : e) < 0)
		result = -1;
	apply_ahead_done(a);
	apply_close_folders(a);
	return result;
}

static int pass_over(void *context, const struct meeting *m, struct err *e)
{
	(void)context, (void)m, (void)e;
	return 0;
}

int apply_sweep(struct apply *a, struct changes_stream *t, struct err *e)
{
	const struct changes_walk g = { .dir = a->dir,
					.context = a,
					.on_meeting = pass_over,
					.on_folder = sweep_whole_folder };

	return changes_walk_walk(&g, t, e);
}

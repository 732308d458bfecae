#include "rootfs-tools/changes/apply_ahead.h"

#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/changes/apply_maker.h"
#include "rootfs-tools/changes/apply_parts.h"
#include "rootfs-tools/changes/repository.h"

/* Small files that are made without a second process: the first ones of all, since its
 * start takes longer, and the first ones in each folder, since sending the folder does. */
#define FIRST_OF_ALL 64
#define FIRST_IN_ROW 4

/* A change in the queue, with a copy of what the walk would overwrite.  Its folder is the
 * maker's descriptor, since the walk closes its own when it ends with an error. */
struct waiting {
	struct meeting meeting;
	struct changes_stream_item item;
	char *path; /* owned */
};

struct apply_ahead {
	struct apply_maker maker;
	bool has_folder; /* the maker has the folder of the next changes */
	struct waiting waiting[APPLY_MAKER_JOBS];
};

/* --- which changes ----------------------------------------------------------------- */

static bool is_worth_it(struct apply *a, const struct meeting *m)
{
	if (a->is_alone || !apply_job_can(m))
		return false;
	return a->files++ >= FIRST_OF_ALL && a->in_row++ >= FIRST_IN_ROW;
}

/* Returns whether nothing refuses the change.  As a probe, the check reports nothing and
 * reads no content; a change that is not free is then checked again, in its turn. */
static bool is_free(struct apply *a, const struct meeting *m)
{
	const uint64_t protected = a->protected, changed = a->changed;
	struct err why;

	if (a->is_stopped || repository_find(a->repositories, m->path))
		return false;
	a->is_probing = true;
	int result = apply_check(a, m, &why);
	if (result == 0 && m->may_be_same)
		result = apply_check_unchanged(a, m);
	a->is_probing = a->has_doubt = false;
	a->protected = protected;
	a->changed = changed;
	return result == 0;
}

/* --- the queue --------------------------------------------------------------------- */

/* Starts the second process.  It only saves time, so an apply goes on without it where a
 * limit of processes, descriptors or memory permits none. */
static bool start(struct apply *a)
{
	a->ahead = mem_zeroed(1, sizeof(*a->ahead));
	if (apply_maker_start(&a->ahead->maker, a->temporary, a->record, NULL) == 0)
		return true;
	apply_ahead_done(a);
	a->is_alone = true;
	return false;
}

static struct waiting *place_of(struct apply_ahead *q, uint32_t number)
{
	return &q->waiting[number % APPLY_MAKER_JOBS];
}

static void keep(struct apply_ahead *q, const struct meeting *m)
{
	struct waiting *w = place_of(q, q->maker.next);

	w->path = text_copy(m->path);
	w->item = *m->item;
	w->item.path = w->path;
	w->item.name = w->path + (m->name - m->path);
	w->item.link = "";
	w->meeting = *m;
	w->meeting.path = w->item.path;
	w->meeting.name = w->item.name;
	w->meeting.item = &w->item;
	w->meeting.at = q->maker.at;
	w->meeting.content = NULL;
}

/* Checks what may have been refused since the change was put into the queue. */
static int check_others(struct apply *a, const struct meeting *m, struct err *e)
{
	struct meeting other = *m;

	other.may_be_same = false; /* it has been compared */
	return apply_check_others(a, &other, e);
}

/* Makes a file in its turn that could not be made ahead.  The disk may be so full that it
 * has room for one new file, whose old one goes then, and not for many; so no more files
 * are made ahead. */
static int make_now(struct apply *a, struct err *e)
{
	a->is_alone = true;
	return apply_maker_again(&a->ahead->maker, e);
}

static int put(struct apply *a, const struct meeting *m, const struct apply_job *job,
	       const char *temporary, struct err *e)
{
	int result = job->end == APPLY_JOB_SAME ? 1 : check_others(a, m, e);

	if (result == 0 && job->end != APPLY_JOB_MADE)
		result = make_now(a, e);
	if (result == 0)
		result = apply_put_job(a, m, job, temporary);
	else if (job->end == APPLY_JOB_MADE)
		apply_remove_temporary(m->at, temporary);
	return result;
}

static int finish_one(struct apply *a, struct err *e)
{
	struct apply_ahead *q = a->ahead;
	const struct apply_job *job;
	const char *temporary;

	if (apply_maker_wait(&q->maker, &job, &temporary, e) < 0)
		return -1;
	struct waiting *w = place_of(q, q->maker.first);
	const int result = put(a, &w->meeting, job, temporary, e);
	apply_maker_drop(&q->maker);
	if (result == 0)
		apply_report(a, &w->meeting);
	own_free(&w->path);
	return result < 0 ? -1 : 0;
}

int apply_ahead_finish(struct apply *a, struct err *e)
{
	struct apply_ahead *q = a->ahead;

	while (q && !apply_maker_is_empty(&q->maker))
		if (finish_one(a, e) < 0)
			return -1;
	if (q)
		q->has_folder = false;
	return 0;
}

static int refuse(struct apply *a, const struct meeting *m, const struct err *why,
		  struct err *e)
{
	if (apply_ahead_finish(a, e) < 0)
		return -1;
	int result = check_others(a, m, e);
	if (result == 0)
		result = apply_refuse_content(a, m, why, e);
	return result;
}

static bool has_folder(struct apply_ahead *q, const struct meeting *m)
{
	if (!q->has_folder)
		q->has_folder = apply_maker_enter(&q->maker, m->at);
	return q->has_folder;
}

int apply_ahead_add(struct apply *a, const struct meeting *m, struct err *e)
{
	struct err why;

	if (!is_worth_it(a, m) || !is_free(a, m))
		return apply_ahead_finish(a, e);
	if (!a->ahead && !start(a))
		return 0;
	struct apply_ahead *q = a->ahead;
	if (!has_folder(q, m))
		return 0;
	if (apply_maker_is_full(&q->maker) && finish_one(a, e) < 0)
		return -1;
	if (apply_job_fill(apply_maker_next(&q->maker), m, &why) < 0)
		return refuse(a, m, &why, e);
	keep(q, m);
	apply_maker_put(&q->maker);
	return 1;
}

void apply_ahead_done(struct apply *a)
{
	struct apply_ahead *q = a->ahead;

	if (!q)
		return;
	for (uint32_t i = 0; i < APPLY_MAKER_JOBS; i++)
		own_free(&q->waiting[i].path);
	apply_maker_end(&q->maker);
	own_free(&a->ahead);
}

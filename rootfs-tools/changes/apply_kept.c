#include "rootfs-tools/changes/apply_kept.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/changes/apply.h"
#include "rootfs-tools/changes/chosen.h"
#include "rootfs-tools/changes/repository.h"

void apply_kept_init(struct apply_kept *k)
{
	*k = (struct apply_kept){ .applying = -1, .record = -1 };
	cow_init(&k->changes.cow);
}

void apply_kept_done(struct apply_kept *k)
{
	for (size_t i = 0; k->broken && i < k->changes.cow.count; i++)
		repositories_done(&k->broken[i]);
	own_free(&k->broken);
	own_close(&k->applying);
	own_close(&k->record);
	own_free(&k->first);
	kept_changes_done(&k->changes);
}

/* --- one change ---------------------------------------------------------- */

static char *path_of(const struct apply_kept *k, const char *path)
{
	return text_format("%s/%s", strcmp(k->target, "/") ? k->target : "", path);
}

static void on_done(void *context, const struct meeting *m)
{
	const struct apply_kept *k = context;

	if (k->is_judging)
		return;
	AUTO_FREE char *path = path_of(k, m->path);
	k->on_done(m->kind, path);
}

static void on_refused(void *context, const char *path, const char *why)
{
	const struct apply_kept *k = context;

	if (k->is_judging && k->takes_parts) /* not reported in the first walk, which only
					      * checks: the second walk reports it */
		return;
	AUTO_FREE char *whole = path_of(k, path);
	k->on_refused(whole, why);
}

static void on_left_out(void *context, const char *path, const char *why)
{
	struct apply_kept *k = context;

	if (!k->first)
		k->first = text_format("%s: %s", path, why);
}

/* --- one folder ---------------------------------------------------------- */

bool apply_kept_does_nothing(const struct apply_kept *k)
{
	return k->is_dry || k->is_judging;
}

/* Returns the size up to which a file's content is sent without a request.  If changes are
 * only checked, little content is read, but to decline a request costs more than a small
 * file. */
static uint32_t sent_along(const struct apply_kept *k, const struct apply *a)
{
	if (a->wanted->count || a->chosen)
		return 0;
	return apply_kept_does_nothing(k) ? CHANGES_STREAM_SMALLEST
					  : CHANGES_STREAM_SMALL;
}

/* Makes the changes of the upper layer `upper` in the host's folder `a->dir`. */
static int make_changes(const struct apply_kept *k, struct apply *a, int upper,
			struct err *e)
{
	struct changes_stream t = { .fd = -1 };

	if (apply_begin(a, e) < 0)
		return -1;
	const bool is_bare = k->is_sweeping || a->is_probing;
	int result = is_bare ? changes_stream_begin_bare(&t, upper, e)
			     : changes_stream_begin_with_content(&t, upper,
								 sent_along(k, a), e);
	if (result == 0)
		result = k->is_sweeping ? apply_sweep(a, &t, e) : apply_all(a, &t, e);
	changes_stream_done(&t);
	return a->has_doubt ? 0 : result;
}

/* Waits until the applied files are on disk: apply_kept_settle() then removes the kept
 * changes, the only other copy. */
static int write_to_disk(const struct apply_kept *k, const struct apply *a, struct err *e)
{
	const bool may_go = a->done && !k->changes.is_partial &&
			    !k->changes.cow.is_live && !apply_kept_does_nothing(k);

	return may_go && syncfs(a->dir) < 0
		       ? err_sys(e, "write the applied files to disk")
		       : 0;
}

static void add_up(struct apply_kept *k, const struct apply *a)
{
	k->done += a->done;
	k->refused += a->refused;
	k->protected += a->protected;
	k->changed += a->changed;
	k->left_out += a->left_out;
}

static int walk(struct apply_kept *k, size_t number, struct err *e)
{
	const struct cow *c = &k->changes.cow;
	const struct list *wanted = &k->changes.wanted[number];
	const struct chosen *chosen =
		k->chosen && !k->is_sweeping ? &k->chosen[number] : NULL;

	if (!k->is_sweeping && ((k->changes.is_partial && !wanted->count) ||
				(chosen && !chosen->paths.count)))
		return 0;
	AUTO_CLOSE int dir = kept_changes_source(&c->folders[number], e);
	if (dir < 0 && k->is_sweeping)
		return 0; /* nothing is left in a folder that is not there */
	AUTO_CLOSE int upper = dir < 0 ? -1 : cow_upper(c, number, e);
	if (upper < 0 || lseek(k->record, 0, SEEK_SET) < 0)
		return -1;
	struct apply a = { .dir = dir,
			   .wanted = wanted,
			   .chosen = chosen,
			   .id = c->id,
			   .record = k->record,
			   .started_ns = c->started_ns,
			   .is_forced = k->is_forced,
			   .protects = k->takes_protected ? NULL : &c->protects,
			   .is_dry = k->is_dry,
			   .is_judging = k->is_judging,
			   .is_probing = k->is_probing,
			   .is_whole = !k->takes_parts,
			   .is_stopped = !k->takes_parts && k->refused,
			   .repositories = &k->broken[number],
			   .context = k,
			   .on_done = on_done,
			   .on_refused = on_refused,
			   .on_left_out = on_left_out };
	k->target = c->folders[number].target;
	int result = make_changes(k, &a, upper, e);
	if (result == 0)
		result = write_to_disk(k, &a, e);
	k->has_doubt = k->has_doubt || a.has_doubt;
	add_up(k, &a);
	apply_done(&a);
	return result;
}

/* --- all ------------------------------------------------------------ */

static int walk_all(struct apply_kept *k, struct err *e)
{
	for (size_t i = 0; i < k->changes.cow.count && !(k->is_probing && k->has_doubt);
	     i++)
		if (walk(k, i, e) < 0)
			return -1;
	return 0;
}

/* Takes the lock that lets only one apply run.  A file without a lock on it was
 * left by an apply that was killed. */
static int begin(struct apply_kept *k, struct err *e)
{
	const struct cow *c = &k->changes.cow;

	k->was_killed = faccessat(c->folder, COW_APPLYING, F_OK, 0) == 0;
	k->applying = openat(c->folder, COW_APPLYING,
			     O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (k->applying < 0)
		return err_sys(e, "make %s/" COW_APPLYING, c->path);
	if (flock(k->applying, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, ERR_BUSY, "another process applies the changes of '%s'",
			       c->name);
	k->broken = mem_zeroed(c->count, sizeof(*k->broken));
	k->record = openat(c->folder, COW_APPLIED,
			   O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (k->record < 0)
		return err_sys(e, "make %s/" COW_APPLIED, c->path);
	/* The second process of an apply that was killed dies with it, but perhaps a moment
	 * later, and holds this lock until then (apply_maker.h). */
	while (flock(k->record, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(e, "lock %s/" COW_APPLIED, c->path);
	return 0;
}

/* Sweeps all folders, also those in which nothing is to be applied now: no later apply knows
 * that one was killed. */
static int sweep(struct apply_kept *k, struct err *e)
{
	k->is_sweeping = true;
	const int result = walk_all(k, e);
	k->is_sweeping = false;
	return result;
}

/* Checks all changes without reading any content.  k->has_doubt says that this does not
 * tell whether some are refused. */
static int probe(struct apply_kept *k, struct err *e)
{
	k->is_probing = true;
	const int result = walk_all(k, e);
	k->is_probing = false;
	if (k->has_doubt)
		k->refused = k->protected = k->changed = k->left_out = 0;
	own_free(&k->first);
	return result;
}

/* Checks all changes without making any.  If some are refused and the caller wants all
 * or nothing, k->is_judging stays set, so that no change is made. */
static int judge(struct apply_kept *k, struct err *e)
{
	/* Before the check: in a folder that hides the host's, what the killed apply has left
	 * would be one more file of the host's to remove. */
	if (k->was_killed && !k->is_dry && sweep(k, e) < 0)
		return -1;
	k->is_judging = true;
	if (probe(k, e) < 0 || (k->has_doubt && walk_all(k, e) < 0))
		return -1;
	k->done = 0;
	if (k->refused && !k->takes_parts)
		return 0;
	k->is_judging = false;
	k->refused = k->left_out = 0;
	own_free(&k->first);
	return 0;
}

int apply_kept_make(struct apply_kept *k, struct err *e)
{
	if (begin(k, e) < 0 || judge(k, e) < 0)
		return -1;
	return k->is_judging ? 0 : walk_all(k, e);
}

/* Returns whether every change was applied.  If so, the kept changes need not be
 * compared with the host again before they are removed. */
static bool is_all_applied(const struct apply_kept *k)
{
	return !k->changes.is_partial && !k->chosen && !k->refused && !k->left_out;
}

int apply_kept_settle(struct apply_kept *k, struct err *e)
{
	struct cow *c = &k->changes.cow;

	if (!k->is_dry || !k->was_killed)
		(void)unlinkat(c->folder, COW_APPLYING, 0);
	if (k->is_dry || c->is_live || cow_lock(c, NULL) < 0)
		return 0;
	if (!is_all_applied(k))
		return kept_changes_settle(c, e) < 0 ? -1 : 0;
	cow_remove(c);
	return 0;
}

int apply_kept_sweep(struct apply_kept *k, struct err *e)
{
	if (faccessat(k->changes.cow.folder, COW_APPLYING, F_OK, 0) < 0)
		return 0;
	return begin(k, e) < 0 ? -1 : sweep(k, e);
}

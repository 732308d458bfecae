/* hutch apply and hutch discard: make or throw away a sandbox's changes in
 * folders shown copy-on-write. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/verbs.h"
#include "rootfs-tools/changes/apply.h"
#include "rootfs-tools/changes/kept_changes.h"
#include "rootfs-tools/changes/repository.h"
#include "sandbox/launch/audit.h"
#include "sandbox/launch/result.h"

struct job {
	struct kept_changes changes;
	bool is_forced, is_dry, takes_protected, takes_parts;
	bool is_judging;	    /* in the first of two walks */
	int applying, record;	    /* owned */
	bool was_killed;	    /* an earlier apply of these changes was killed, and
				     * may have left temporary files */
	struct repositories *broken; /* owned; for each folder */
	const char *target;
	uint64_t done, refused, left_out;
	uint64_t protected, changed; /* counts of the first walk */
	char *const *words; /* borrowed: the wanted paths, up to a NULL; none: all */
	struct audit audit; /* opened if the sandbox was made with an audit log */
	char *first; /* owned: the first change that was left out */
};

/* --- one change ---------------------------------------------------------- */

static char *path_of(const struct job *j, const char *path)
{
	return text_format("%s/%s", strcmp(j->target, "/") ? j->target : "", path);
}

static void on_done(void *who, const struct meeting *m)
{
	const struct job *j = who;

	if (j->is_judging)
		return;
	AUTO_FREE char *whole = path_of(who, m->path), *path = term_escape_line(whole);

	(void)printf("%c %s\n", m->kind, path);
}

static void on_refused(void *who, const char *path, const char *why)
{
	const struct job *j = who;

	if (j->is_judging && j->takes_parts) /* the second walk reports it */
		return;
	AUTO_FREE char *whole = path_of(who, path), *shown = term_escape_line(whole),
		       *because = term_escape_line(why);

	(void)fprintf(stderr, "hutch: not applied: %s: %s\n", shown, because);
}

static void on_left_out(void *who, const char *path, const char *why)
{
	struct job *j = who;

	if (!j->first)
		j->first = text_format("%s: %s", path, why);
}

static void note_left_out(const struct job *j)
{
	if (!j->first)
		return;
	AUTO_FREE char *first = term_escape_line(j->first);
	(void)fprintf(stderr, "hutch: note: %llu cannot be applied, such as %s\n",
		      (unsigned long long)j->left_out, first);
}

/* --- all ------------------------------------------------------------ */

/* Takes the lock that lets only one apply run.  A file without a lock on it was
 * left by an apply that was killed. */
static int begin(struct job *j, struct err *e)
{
	const struct cow *c = &j->changes.cow;

	j->was_killed = faccessat(c->folder, COW_APPLYING, F_OK, 0) == 0;
	j->applying = openat(c->folder, COW_APPLYING, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			     0600);
	if (j->applying < 0)
		return err_sys(e, "make %s/" COW_APPLYING, c->path);
	if (flock(j->applying, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, ERR_BUSY, "another process applies the changes of '%s'",
			       c->name);
	j->broken = mem_zeroed(c->count, sizeof(*j->broken));
	j->record = openat(c->folder, COW_APPLIED,
			   O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	return j->record < 0 ? err_sys(e, "make %s/" COW_APPLIED, c->path) : 0;
}

static bool does_nothing(const struct job *j)
{
	return j->is_dry || j->is_judging;
}

static void add_up(struct job *j, const struct apply *a)
{
	j->done += a->done;
	j->refused += a->refused;
	j->protected += a->protected;
	j->changed += a->changed;
	j->left_out += a->left_out;
}

static int walk(struct job *j, size_t number, int (*work)(struct apply *, struct changes_stream *,
							  struct err *), struct err *e)
{
	const struct cow *c = &j->changes.cow;
	const struct list *wanted = &j->changes.wanted[number];
	struct changes_stream t = { .fd = -1 };

	if (j->changes.is_partial && !wanted->count)
		return 0;
	AUTO_CLOSE int dir = kept_changes_source(&c->folders[number], e);
	AUTO_CLOSE int upper = dir < 0 ? -1 : cow_upper(c, number, e);
	if (upper < 0 || lseek(j->record, 0, SEEK_SET) < 0)
		return -1;
	struct apply a = { .dir = dir, .wanted = wanted, .id = c->id, .record = j->record,
			   .started_ns = c->started_ns, .is_forced = j->is_forced,
			   .protects = j->takes_protected ? NULL : &c->protects,
			   .is_dry = j->is_dry, .is_judging = j->is_judging,
			   .is_whole = !j->takes_parts,
			   .is_stopped = !j->takes_parts && j->refused,
			   .repositories = &j->broken[number], .who = j, .on_done = on_done,
			   .on_refused = on_refused, .on_left_out = on_left_out };
	bool wants_content = work == apply_all && !does_nothing(j) && !wanted->count;
	j->target = c->folders[number].target;
	int result = apply_begin(&a, e);
	if (result == 0) {
		result = wants_content ? changes_stream_begin_with_content(&t, upper, e)
				       : changes_stream_begin(&t, upper, e);
		if (result == 0)
			result = work(&a, &t, e);
		changes_stream_done(&t);
	}
	/* settle() removes the kept changes, so the applied files must be on
	 * disk before. */
	bool may_go = a.done && !j->changes.is_partial && !c->is_live && !does_nothing(j);
	if (result == 0 && may_go && syncfs(dir) < 0)
		result = err_sys(e, "write the applied files to disk");
	add_up(j, &a);
	apply_done(&a);
	return result;
}

static int walk_all(struct job *j, int (*work)(struct apply *, struct changes_stream *, struct err *),
		    struct err *e)
{
	for (size_t i = 0; i < j->changes.cow.count; i++)
		if (walk(j, i, work, e) < 0)
			return -1;
	return 0;
}

/* Whether every change was applied: the kept changes then need not be compared with the
 * host again. */
static bool is_all_applied(const struct job *j)
{
	return !j->changes.is_partial && !j->refused && !j->left_out;
}

/* Removes the changes that have been applied.  A live sandbox keeps its own,
 * since it goes on from there. */
static int settle(struct job *j, struct err *e)
{
	struct cow *c = &j->changes.cow;

	if (!j->is_dry || !j->was_killed)
		(void)unlinkat(c->folder, COW_APPLYING, 0);
	if (j->is_dry || c->is_live || cow_lock(c, NULL) < 0)
		return 0;
	if (!is_all_applied(j))
		return kept_changes_settle(c, e) < 0 ? -1 : 0;
	cow_remove(c);
	return 0;
}

/* --- what came of it ------------------------------------------------------ */

static void say_counts(const struct job *j, struct err *e)
{
	const unsigned long long done = j->done, refused = j->refused;
	const char *name = j->changes.cow.name;

	if (j->is_judging)
		(void)err_set(e, ERR_REFUSED, "nothing %s applied: %llu of the changes of '%s' "
					      "cannot be, and all files are as they were",
			      j->is_dry ? "would be" : "was", refused, name);
	else if (j->is_dry)
		(void)err_set(e, ERR_REFUSED, "%llu of the changes of '%s' would be applied, and "
					      "%llu would not", done, name, refused);
	else
		(void)err_set(e, ERR_REFUSED, "%llu of the changes of '%s' %s applied, and %llu "
					      "%s not: those files are as they were", done, name,
			      done == 1 ? "was" : "were", refused,
			      refused == 1 ? "was" : "were");
}

/* The first walk had found that all changes were possible. */
static bool failed_amid(const struct job *j)
{
	return !j->takes_parts && !j->is_judging;
}

static int refused(const struct job *j, struct err *e)
{
	const char *parts = j->takes_parts ? "" : "--partial applies the others; ";
	const char *both = j->protected && j->changed ? " and " : "";
	const char *force = j->changed ? "--force" : "";
	const char *protected = j->protected ? "--include-protected" : "";
	const char *name = j->changes.cow.name;

	if (!j->refused)
		return 0;
	say_counts(j, e);
	if (failed_amid(j))
		return err_remedy(e, "what was applied is listed, and what was not; hutch apply "
				     "%s goes on with that", name);
	if (!j->protected && !j->changed)
		return err_remedy(e, "%shutch diff -p %s PATH shows what it would be", parts,
				  name);
	return err_remedy(e, "%shutch diff -p %s PATH shows what it would be; with %s%s%s it is "
			     "done all the same", parts, name, force, both, protected);
}

/* An error in the middle of a walk does not undo the changes before it. */
static int failed(const struct job *j, struct err *e)
{
	if (j->done && !does_nothing(j))
		(void)err_remedy(e, "%llu of the changes of '%s' were applied and are listed; "
				    "hutch apply %s goes on behind them",
				 (unsigned long long)j->done, j->changes.cow.name,
				 j->changes.cow.name);
	return -1;
}

/* --- on record ------------------------------------------------------------ */

static int open_log(struct job *j, struct err *e)
{
	const struct cow *c = &j->changes.cow;

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

/* Writes the audit entry before anything is changed. */
static int put_on_record(struct job *j, const char *event, struct err *e)
{
	struct audit_json n;

	if (open_log(j, e) < 0)
		return -1;
	audit_note(&j->audit, &n);
	note_folders(&n, &j->changes.cow);
	audit_json_words(&n, "paths", j->words, count_words(j->words));
	audit_json_yes(&n, "forced", j->is_forced);
	audit_json_yes(&n, "include_protected", j->takes_protected);
	return audit_add(&j->audit, event, &n, AUDIT_LASTING, e);
}

/* Writes the result's audit entry; `why` is the error, or NULL. */
static int record_applied(struct job *j, const struct err *why, struct err *e)
{
	struct audit_json n;

	audit_note(&j->audit, &n);
	audit_json_number(&n, "done", j->done);
	audit_json_number(&n, "refused", j->refused);
	audit_json_number(&n, "left_out", j->left_out);
	audit_json_text(&n, "error", why ? why->text : NULL);
	return audit_add(&j->audit, "applied", &n, AUDIT_LASTING, e);
}

/* 0: as far as can be seen all changes are possible, or the caller takes a part. */
static int judge(struct job *j, struct err *e)
{
	j->is_judging = true;
	if (j->was_killed && !j->is_dry && walk_all(j, apply_sweep, e) < 0)
		return -1;
	if (walk_all(j, apply_all, e) < 0)
		return -1;
	j->done = 0;
	if (j->refused && !j->takes_parts)
		return 1;
	j->is_judging = false;
	j->refused = j->left_out = 0;
	own_free(&j->first);
	return 0;
}

static int apply(struct job *j, struct err *e)
{
	if (begin(j, e) < 0)
		return -1;
	int result = judge(j, e);
	if (result == 0)
		result = walk_all(j, apply_all, e);
	if (report_flush() < 0)
		return report_unwritten(e);
	if (result < 0)
		return failed(j, e);
	note_left_out(j);
	return settle(j, e) < 0 ? -1 : refused(j, e);
}

static int apply_recorded(struct job *j, struct err *e)
{
	struct err unrecorded;

	if (j->is_dry)
		return apply(j, e);
	if (put_on_record(j, "apply", e) < 0)
		return -1;
	int result = apply(j, e);
	if (record_applied(j, result < 0 ? e : NULL, &unrecorded) == 0)
		return result;
	*e = unrecorded;
	return -1;
}

static void job_done(struct job *j)
{
	for (size_t i = 0; j->broken && i < j->changes.cow.count; i++)
		repositories_done(&j->broken[i]);
	own_free(&j->broken);
	audit_done(&j->audit);
	own_close(&j->applying);
	own_close(&j->record);
	own_free(&j->first);
	kept_changes_done(&j->changes);
}

int apply_main(char **argv)
{
	struct job j = { .applying = -1, .record = -1 };
	const struct flag flags[] = {
		{ 'f', "force", NULL, "over what was changed on this host meanwhile, too",
		  &j.is_forced, NULL },
		{ 0, "include-protected", NULL, "also paths that --protect named",
		  &j.takes_protected, NULL },
		{ 0, "partial", NULL, "the possible changes, even if others fail",
		  &j.takes_parts, NULL },
		{ 0, "dry-run", NULL, "say what would be done, and do nothing", &j.is_dry, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch apply [OPTIONS] NAME [PATH...]",
		.about = "Does on this host what a sandbox has changed in folders shown with :cow.",
		.flags = flags, .count = ARRAY_LEN(flags),
		.operands_min = 1, .operands_max = SIZE_MAX,
	};
	enum flags_result got = flags_begin(argv, &usage);
	struct err e;

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	audit_init(&j.audit);
	j.words = argv + 1;
	bool is_done = kept_changes_open(&j.changes, argv[0], argv + 1, NULL, &e) == 0 &&
		       apply_recorded(&j, &e) == 0;
	if (!is_done)
		report_error(&e);
	job_done(&j);
	return is_done ? 0 : EXIT_HUTCH;
}

/* --- discard ------------------------------------------------------------ */

/* Removes the temporary files that a killed apply has left on the host. */
static int sweep(struct job *j, struct err *e)
{
	if (faccessat(j->changes.cow.folder, COW_APPLYING, F_OK, 0) < 0)
		return 0;
	return begin(j, e) < 0 ? -1 : walk_all(j, apply_sweep, e);
}

static int discard_one(const char *name, struct err *e)
{
	struct job j = { .applying = -1, .record = -1 };
	char *none[] = { NULL };
	struct err swept;

	audit_init(&j.audit);
	int result = kept_changes_open(&j.changes, name, none, NULL, e);
	if (result == 0 && (result = cow_lock(&j.changes.cow, e)) < 0)
		(void)err_remedy(e, "hutch stop %s first", name);
	/* If the host's folder no longer exists, no temporary file is left there. */
	if (result == 0 && sweep(&j, &swept) < 0 && swept.kind == ERR_BUSY) {
		*e = swept;
		result = -1;
	}
	if (result == 0)
		result = put_on_record(&j, "discard", e);
	if (result == 0)
		cow_remove(&j.changes.cow);
	job_done(&j);
	return result;
}

int discard_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch discard NAME...",
		.about = "Throws away what sandboxes have changed in folders shown with :cow.",
		.operands_min = 1, .operands_max = SIZE_MAX,
	};
	enum flags_result got = flags_begin(argv, &usage);
	struct err e;
	int code = 0;

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	for (; *argv; argv++)
		if (discard_one(*argv, &e) < 0) {
			report_error(&e);
			code = EXIT_HUTCH;
		} else {
			(void)printf("%s\n", *argv);
		}
	return code;
}

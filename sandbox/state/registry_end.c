#include "sandbox/state/registry_end.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/state/state_dir.h"
#include "store/rm_tree.h"

/* --- the record ------------------------------------------------------------ */

bool registry_has_record(int lock)
{
	AUTO_FREE char *line = state_dir_line(lock);

	return line && line[0] == '{';
}

/* Writes the record over the lock file's empty line: where the disk is full,
 * the page that already holds that line still takes a record. */
static int write_lock(int lock, const char *record)
{
	AUTO_FREE char *line = text_format("%s\n", record);
	const ssize_t len = (ssize_t)strlen(line);

	errno = ENOSPC; /* a short write, which sets no errno, means a full disk */
	if (pwrite(lock, line, (size_t)len, 0) != len)
		return -1;
	return ftruncate(lock, len);
}

/* The content of the record that is made where the supervisor has written
 * none. */
struct verdict {
	const char *reason, *message;
	int exit_code;
};

static const struct verdict was_killed = { "killed", "the supervisor was killed", 137 };
static const struct verdict host_gone = {
	"host_gone", "the supervisor and its janitor were killed", 125
};
static const struct verdict not_written = {
	"unknown", "the record could not be written", 125
};

/* Makes a record with all keys that a supervisor's record has
 * (docs/control.md). */
static char *our_record(const struct verdict *v, int64_t now_us)
{
	AUTO_FREE char *why = json_write_quoted(v->reason);
	AUTO_FREE char *what = json_write_quoted(v->message);
	const time_t now = (time_t)(now_us / 1000000);
	char ended[32];
	struct tm tm;

	(void)gmtime_r(&now, &tm);
	(void)strftime(ended, sizeof(ended), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return text_format(
		"{\"reason\":%s,\"exit_code\":%d,\"limit\":null,\"message\":%s,"
		"\"remedy\":null,\"ended\":\"%s\"}",
		why, v->exit_code, what, ended);
}

static int write_record(int lock, const char *record, int64_t now_us, struct err *e)
{
	if (record[0] != '{' || strchr(record, '\n') ||
	    strlen(record) >= REGISTRY_TEXT_MAX)
		(void)err_set(
			e, ERR_INTERNAL,
			"the record of a sandbox's end is no line of JSON, or too long");
	else if (write_lock(lock, record) == 0)
		return 0;
	else
		(void)err_sys(e, "write the record of a sandbox's end");
	AUTO_FREE char *ours = our_record(&not_written, now_us);
	(void)write_lock(lock, ours); /* the page of the empty line has room for it, so
				       * only a broken disk makes this fail */
	return -1;
}

/* --- the folder ------------------------------------------------------------ */

void registry_discard(int state, int parent, const char *name, const char *id)
{
	AUTO_CLOSE int tmp = state_dir_made(state, STATE_DIR_TMP, NULL);

	if (tmp >= 0 &&
	    sys_renameat2(parent, name, tmp, id, KERNEL_RENAME_NOREPLACE) == 0)
		rm_tree_remove(tmp, id);
	else if (tmp < 0 || errno != ENOENT) /* ENOENT: another process has removed the
					      * folder */
		rm_tree_remove(parent, name);
}

static int move_to_ended(const struct registry_entry *r, int ended, int64_t now_us)
{
	struct state_dir_ended x = { .us = now_us };
	char to[STATE_DIR_ENDED_MAX];

	memcpy(x.id, r->id, sizeof(x.id));
	memcpy(x.name, r->name, sizeof(x.name));
	state_dir_ended_print(&x, to);
	return sys_renameat2(r->state, r->name, ended, to, KERNEL_RENAME_NOREPLACE);
}

static void collect_ended(void *arg, const char *name)
{
	struct state_dir_ended x;

	if (state_dir_ended_parse(&x, name))
		list_add(arg, name);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void prune(int state, int ended)
{
	struct list names = { 0 };
	struct state_dir_ended x;

	(void)state_dir_each(ended, collect_ended, &names,
			     NULL); /* on failure nothing is pruned until the next
				     * sandbox ends */
	if (names.count > REGISTRY_ENDED_MAX)
		qsort(names.items, names.count, sizeof(*names.items), by_text);
	for (size_t i = 0; i + REGISTRY_ENDED_MAX < names.count; i++)
		if (state_dir_ended_parse(&x, names.items[i]))
			registry_discard(state, ended, names.items[i], x.id);
	list_done(&names);
}

static void keep_rest(const struct registry_entry *r, int64_t now_us)
{
	AUTO_CLOSE int ended = state_dir_made(r->state, STATE_DIR_ENDED, NULL);

	if (ended < 0 || move_to_ended(r, ended, now_us) < 0) {
		registry_discard(r->state, r->state, r->name, r->id);
		return;
	}
	/* The lock file with the record is renamed to "end"; processes look for the
	 * record under both names (state_dir_file()). */
	(void)renameat(r->folder, STATE_DIR_LOCK, r->folder, STATE_DIR_END);
	(void)unlinkat(r->folder, STATE_DIR_STATUS, 0);
	prune(r->state, ended);
}

/* Ends an entry; called by the process that holds its lock and has checked that NAME
 * leads to the folder.  The record is written first, so that a process that finds the
 * folder moved can read the record. */
static int finish(const struct registry_entry *r, const char *record,
		  enum registry_rest rest, int64_t now_us, struct err *e)
{
	int result = write_record(r->lock, record, now_us, e);

	(void)unlinkat(r->folder, STATE_DIR_SOCKET, 0); /* the unlink fails if there is
							 * no socket */
	if (rest == REGISTRY_KEEP)
		keep_rest(r, now_us);
	else
		registry_discard(r->state, r->state, r->name, r->id);
	/* The lock is released explicitly: after a mere close the janitor, which has
	 * the same open file, would still hold it (flock(2)). */
	(void)state_dir_lock(r->lock, LOCK_UN);
	return result;
}

/* Returns the host's date and time in us since 1970.  A process that ends a sandbox
 * calls this only once. */
static int64_t end_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* valid arguments */
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Ends the entry of a dead supervisor.  If it wrote a record before it died, that
 * record is kept; otherwise `v` says what the record contains. */
static void finish_dead(const struct registry_entry *r, const struct verdict *v)
{
	const int64_t now_us = end_us();
	AUTO_FREE char *written = registry_has_record(r->lock) ? state_dir_line(r->lock)
							       : NULL;
	AUTO_FREE char *ours = our_record(v, now_us);

	const bool leaves_nothing = faccessat(r->folder, STATE_DIR_RM, F_OK, 0) == 0;
	/* An error is dropped, since no process waits to be told of it. */
	(void)finish(r, written ? written : ours,
		     leaves_nothing ? REGISTRY_REMOVE : REGISTRY_KEEP, now_us, NULL);
}

int registry_end(struct registry_entry *r, const char *record, enum registry_rest rest,
		 struct err *e)
{
	const int64_t now_us = end_us();

	if (state_dir_is_at(r->state, r->name, r->folder))
		return finish(r, record, rest, now_us, e);
	/* A person or a tool has moved the folder away; waiting processes still
	 * get the record. */
	(void)write_record(r->lock, record, now_us, NULL);
	(void)state_dir_lock(r->lock, LOCK_UN);
	return err_set(e, ERR_NOT_FOUND,
		       "the folder of sandbox '%s' is no longer in its place", r->name);
}

void registry_end_killed(struct registry_entry *r)
{
	if (!r || !r->name[0])
		return;
	if (state_dir_find_name(r->state, r->folder, r->name))
		finish_dead(r, &was_killed);
	registry_done(r);
}

/* --- names ----------------------------------------------------------------- */

int registry_absent(const char *name, struct err *e)
{
	(void)err_set(e, ERR_NOT_FOUND, "no sandbox named '%s' is running", name);
	return err_remedy(e,
			  "`hutch ps -a` shows those that run and those that have ended");
}

static int taken(const char *name, const char *how, struct err *e)
{
	(void)err_set(e, ERR_EXISTS, "a sandbox named '%s' is %s", name, how);
	return err_remedy(e, "choose another name, or end that one: hutch rm -f %s",
			  name);
}

static int finish_left_over(struct registry_entry *old, struct err *e)
{
	/* The process that held the lock before this one may have finished this
	 * entry. */
	if (!state_dir_is_at(old->state, old->name, old->folder))
		return 0;
	state_dir_read_id(old->folder, old->id);
	finish_dead(old, &host_gone);
	if (state_dir_is_at(old->state, old->name, old->folder))
		return state_dir_in_the_way(old->name, "cannot be removed", e);
	return 0;
}

int registry_settle(int state, const char *name, bool may_wait, struct err *e)
{
	struct registry_entry old = { .state = state };
	struct err why = { 0 };

	AUTO_CLOSE int folder = state_dir_folder(state, name, &why);
	if (folder < 0 && why.sys == ENOENT)
		return 0;
	if (folder < 0 && e)
		*e = why;
	if (folder < 0)
		return -1;
	AUTO_CLOSE int lock =
		openat(folder, STATE_DIR_LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	bool is_closed_to_us = lock < 0 && errno == EACCES;
	if (state_dir_is_alive(folder))
		return taken(name, "running", e);
	if (is_closed_to_us) /* EACCES: this is a confined supervisor, which cannot
			      * open it (supervisor/confine.h) */
		return taken(name, "being tidied up, or left over", e);
	if (lock < 0) /* another process may just have ended the sandbox and renamed
		       * its lock file */
		return !state_dir_is_at(state, name, folder)
			       ? 0
			       : state_dir_in_the_way(name, "is no sandbox's folder", e);
	if (state_dir_lock(lock, may_wait ? LOCK_EX : LOCK_EX | LOCK_NB) < 0)
		return taken(name, "being tidied up", e);
	(void)snprintf(old.name, sizeof(old.name), "%s", name);
	old.folder = folder;
	old.lock = lock;
	return finish_left_over(&old, e);
}

int registry_make_way(const char *name, struct err *e)
{
	if (registry_check_name(name, e) < 0)
		return -1;
	AUTO_CLOSE int state = state_dir_state(false, e);

	return state < 0 ? -1 : registry_settle(state, name, true, e);
}

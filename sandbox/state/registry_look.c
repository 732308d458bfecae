/* One sandbox of the registry, as clients see it. */
#include "sandbox/state/registry_look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/registry_end.h"
#include "sandbox/state/state_dir.h"

/* --- live ones ------------------------------------------------------------- */

int registry_state_of(const char *name, struct err *e)
{
	struct err why = { 0 };

	if (registry_check_name(name, e) < 0)
		return -1;
	int state = state_dir_state(false, &why);
	if (state < 0 && why.sys == ENOENT)
		return registry_absent(name, e);
	if (state < 0 && e)
		*e = why;
	return state;
}

int registry_find_folder(const char *name, struct registry_entry *ret, struct err *e)
{
	struct err why = { 0 };

	registry_init(ret);
	AUTO_CLOSE int state = registry_state_of(name, e);
	if (state < 0)
		return -1;
	AUTO_CLOSE int folder = state_dir_folder(state, name, &why);
	if (folder < 0 && why.sys == ENOENT)
		return registry_absent(name, e);
	if (folder < 0 && e)
		*e = why;
	if (folder < 0)
		return -1;
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	state_dir_read_id(folder, ret->id);
	ret->state = fd_take(&state);
	ret->folder = fd_take(&folder);
	return 0;
}

int registry_open(const char *name, struct registry_entry *ret, struct err *e)
{
	if (registry_find_folder(name, ret, e) < 0)
		return -1;
	if (state_dir_is_alive(ret->folder))
		return 0;
	(void)registry_settle(ret->state, name, false, NULL); /* fails if another
							       * process is tidying up */
	registry_done(ret);
	return registry_absent(name, e);
}

enum registry_status registry_read_status(int folder)
{
	AUTO_FREE char *word = state_dir_line_of(folder, STATE_DIR_STATUS);

	for (int i = 0; word && i < REGISTRY_STATUS_COUNT; i++)
		if (!strcmp(word, registry_status_name((enum registry_status)i)))
			return (enum registry_status)i;
	/* An entry gets its info before its first status, and at its end loses the status
	 * alone. */
	if (!word && faccessat(folder, STATE_DIR_INFO, F_OK, 0) < 0)
		return REGISTRY_BUILDING;
	return REGISTRY_DISCONNECTED;
}

void registry_read_live(const struct registry_entry *r, struct registry_item *ret)
{
	*ret = (struct registry_item){ 0 };
	memcpy(ret->name, r->name, sizeof(ret->name));
	memcpy(ret->id, r->id, sizeof(ret->id));
	ret->status = registry_read_status(r->folder);
	ret->is_waiting = faccessat(r->folder, STATE_DIR_WAITING, F_OK, 0) == 0;
	ret->info = state_dir_line_of(r->folder, STATE_DIR_INFO);
}

int registry_look(const char *name, struct registry_item *ret, struct err *e)
{
	struct registry_entry r;

	if (registry_open(name, &r, e) < 0)
		return -1;
	registry_read_live(&r, ret);
	registry_done(&r);
	return 0;
}

void registry_item_done(struct registry_item *item)
{
	if (!item)
		return;
	own_free(&item->info);
	own_free(&item->record);
	*item = (struct registry_item){ 0 };
}

/* --- ended ones ------------------------------------------------------------ */

struct search {
	const char *name; /* a name or an id; NULL: all ended sandboxes match */
	struct list found;
};

static void match_ended(void *arg, const char *name)
{
	struct search *s = arg;
	struct state_dir_ended x;

	if (state_dir_ended_parse(&x, name) &&
	    (!s->name || !strcmp(x.name, s->name) || !strcmp(x.id, s->name)))
		list_add(&s->found, name);
}

static int latest_first(const void *a, const void *b)
{
	return strcmp(*(char *const *)b, *(char *const *)a);
}

int registry_all_ended(int state, const char *name, struct list *ret)
{
	struct search s = { .name = name };
	int ended = state_dir_folder(state, STATE_DIR_ENDED, NULL);

	if (ended >= 0)
		(void)state_dir_each(ended, match_ended, &s,
				     NULL); /* if the folder cannot be read, nothing
					     * matches */
	if (s.found.count > 1)
		qsort(s.found.items, s.found.count, sizeof(*s.found.items), latest_first);
	*ret = s.found;
	return ended;
}

int registry_read_ended(int ended, const char *name, struct registry_item *ret)
{
	struct state_dir_ended x;
	AUTO_CLOSE int folder = state_dir_folder(ended, name, NULL);

	if (folder < 0 || !state_dir_ended_parse(&x, name))
		return -1;
	*ret = (struct registry_item){ .status = REGISTRY_ENDED, .ended_us = x.us };
	memcpy(ret->name, x.name, sizeof(ret->name));
	memcpy(ret->id, x.id, sizeof(ret->id));
	ret->info = state_dir_line_of(folder, STATE_DIR_INFO);
	ret->record = state_dir_line_of(folder, NULL);
	if (ret->record)
		return 0;
	registry_item_done(ret);
	return -1;
}

static int absent_ended(const char *name, struct err *e)
{
	(void)err_set(e, ERR_NOT_FOUND, "no sandbox named '%s' exists", name);
	return err_remedy(e, "hutch ps -a lists those that run and the last %d that "
			     "have ended", REGISTRY_ENDED_MAX);
}

int registry_find_ended(const char *name, struct registry_item *ret, struct err *e)
{
	struct list found;
	AUTO_CLOSE int state = registry_state_of(name, e);

	if (state < 0)
		return -1;
	AUTO_CLOSE int ended = registry_all_ended(state, name, &found);
	int result = -1;
	for (size_t i = 0; i < found.count && result < 0; i++)
		result = registry_read_ended(ended, found.items[i], ret);
	list_done(&found);
	return result < 0 ? absent_ended(name, e) : 0;
}

int registry_forget(const char *name, struct err *e)
{
	struct list found;
	struct state_dir_ended x;
	AUTO_CLOSE int state = registry_state_of(name, e);

	if (state < 0)
		return -1;
	AUTO_CLOSE int ended = registry_all_ended(state, name, &found);
	size_t count = found.count;
	for (size_t i = 0; i < count; i++)
		if (state_dir_ended_parse(&x, found.items[i]))
			registry_discard(state, ended, found.items[i], x.id);
	list_done(&found);
	return count ? 0 : absent_ended(name, e);
}

static int open_log(int folder, const char *name, struct err *e)
{
	int log = state_dir_folder(folder, STATE_DIR_LOG, e);

	return log < 0 ? err_in(e, "the logs of sandbox '%s'", name) : log;
}

int registry_log(const char *name, struct err *e)
{
	struct registry_entry r;
	struct list found;

	if (registry_open(name, &r, e) == 0) {
		int log = open_log(r.folder, name, e);
		registry_done(&r);
		return log;
	}
	AUTO_CLOSE int state = registry_state_of(name, e);
	if (state < 0)
		return -1;
	AUTO_CLOSE int ended = registry_all_ended(state, name, &found);
	const char *latest = found.count ? found.items[0] : NULL;
	AUTO_CLOSE int folder = latest ? state_dir_folder(ended, latest, NULL) : -1;
	list_done(&found);
	return folder < 0 ? absent_ended(name, e) : open_log(folder, name, e);
}

/* --- waiting --------------------------------------------------------------- */

static int wait_ended(const char *name, char **ret_record, struct err *e)
{
	struct registry_item item;

	if (registry_find_ended(name, &item, e) < 0)
		return registry_absent(name, e);
	*ret_record = item.record;
	item.record = NULL;
	registry_item_done(&item);
	return 0;
}

/* Waits for the end of a sandbox and reads its record from the lock file, even if
 * that was moved.  NULL: no process was left to write a record. */
static char *wait_for_record(struct registry_entry *r, int lock)
{
	/* A shared lock: several waiting processes must not wait for each other. */
	if (state_dir_lock(lock, LOCK_SH) < 0)
		return NULL;
	AUTO_FREE char *line = state_dir_line(lock);
	(void)state_dir_lock(lock, LOCK_UN); /* a process that tidies up the entry
					      * needs the lock exclusively */
	if (line && line[0] == '{')
		return text_copy(line);
	/* There is no record yet.  A dying supervisor releases its two locks in any
	 * order, so this waits for the other lock, too. */
	(void)state_dir_lock(r->folder, LOCK_SH);
	(void)state_dir_lock(r->folder, LOCK_UN);
	if (state_dir_find_name(r->state, r->folder, r->name))
		/* a failure is ignored: the read below shows whether there is a
		 * record */
		(void)registry_settle(r->state, r->name, true, NULL);
	AUTO_FREE char *ours = state_dir_line(lock);
	return ours && ours[0] == '{' ? text_copy(ours) : NULL;
}

int registry_wait(const char *name, char **ret_record, struct err *e)
{
	struct registry_entry r;
	struct err why = { 0 };

	if (registry_find_folder(name, &r, &why) < 0) {
		if (why.kind == ERR_NOT_FOUND)
			return wait_ended(name, ret_record, e);
		if (e)
			*e = why;
		return -1;
	}
	AUTO_CLOSE int lock = state_dir_file(r.folder, NULL);
	AUTO_FREE char *record = lock < 0 ? NULL : wait_for_record(&r, lock);
	registry_done(&r);
	if (lock < 0) /* the lock file is gone: the sandbox has just ended */
		return wait_ended(name, ret_record, e);
	if (!record)
		return err_set(e, ERR_INTERNAL, "sandbox '%s' has ended without a record",
			       name);
	*ret_record = record;
	record = NULL;
	return 0;
}

/* The registry's functions for clients. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/state/holder.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/registry_end.h"
#include "sandbox/state/state_dir.h"

#define CONNECT_SECONDS 10

/* --- live ones ------------------------------------------------------------- */

/* Opens the state folder without making it; where there is none, no sandbox has
 * a name. */
static int state_of(const char *name, struct err *e)
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

/* Finds the folder of a sandbox, which may be dead, and returns 0. */
static int find_folder(const char *name, struct registry_entry *ret, struct err *e)
{
	struct err why = { 0 };

	registry_init(ret);
	AUTO_CLOSE int state = state_of(name, e);
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
	if (find_folder(name, ret, e) < 0)
		return -1;
	if (state_dir_is_alive(ret->folder))
		return 0;
	(void)registry_settle(ret->state, name, false, NULL); /* fails if another
							       * process is tidying up */
	registry_done(ret);
	return registry_absent(name, e);
}

static enum registry_status read_status(int folder)
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

static void read_live(const struct registry_entry *r, struct registry_item *ret)
{
	*ret = (struct registry_item){ 0 };
	memcpy(ret->name, r->name, sizeof(ret->name));
	memcpy(ret->id, r->id, sizeof(ret->id));
	ret->status = read_status(r->folder);
	ret->is_waiting = faccessat(r->folder, STATE_DIR_WAITING, F_OK, 0) == 0;
	ret->info = state_dir_line_of(r->folder, STATE_DIR_INFO);
}

int registry_look(const char *name, struct registry_item *ret, struct err *e)
{
	struct registry_entry r;

	if (registry_open(name, &r, e) < 0)
		return -1;
	read_live(&r, ret);
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

/* Sets how long a send or connect may wait; 0 seconds: without limit. */
static int set_patience(int fd, int seconds)
{
	const struct timeval time = { .tv_sec = seconds };

	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

static int connect_at(int folder)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "/proc/self/fd/%d/" STATE_DIR_SOCKET, folder);
	/* SO_SNDTIMEO bounds connect(2) too, which waits for room in the
	 * queue. */
	if (fd < 0 || set_patience(fd, CONNECT_SECONDS) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    set_patience(fd, 0) < 0)
		return -1;
	return fd_take(&fd);
}

/* Returns whether the sandbox has ended.  Its supervisor writes the record, then removes the
 * socket, and lives on until its clients have read the rest. */
static bool has_ended(int folder)
{
	AUTO_CLOSE int lock = state_dir_file(folder, NULL);

	return (lock >= 0 && registry_has_record(lock)) || !state_dir_is_alive(folder);
}

static int not_connected(const char *name, int folder, struct err *e)
{
	int sys = errno;

	if (has_ended(folder))
		return registry_absent(name, e);
	errno = sys;
	(void)err_sys(e, "connect to sandbox '%s', which is %s", name,
		      registry_status_name(read_status(folder)));
	if (e && sys == EAGAIN)
		(void)err_set(e, ERR_SYSTEM, "sandbox '%s' does not answer: its queue of "
					     "connections is full", name);
	else if (e)
		e->kind = ERR_SYSTEM; /* the sandbox exists; its socket does not exist
				       * yet, or not any more */
	return err_remedy(e, "try again, or end it: hutch rm -f %s", name);
}

int registry_connect(const char *name, struct err *e)
{
	struct registry_entry r;

	if (registry_open(name, &r, e) < 0)
		return -1;
	int fd = connect_at(r.folder);
	if (fd < 0)
		(void)not_connected(name, r.folder, e);
	registry_done(&r);
	return fd;
}

static int open_holder(const struct registry_entry *r, enum holder as, struct err *e)
{
	AUTO_CLOSE int lock = state_dir_file(r->folder, NULL);

	return lock < 0 ? err_sys(e, "open the lock of sandbox '%s'", r->name)
			: holder_open(lock, as, e);
}

int registry_supervisor(const char *name, const char *id, struct err *e)
{
	struct registry_entry r;

	if (registry_open(name, &r, e) < 0)
		return -1;
	const bool is_other = strcmp(r.id, id) != 0;
	const int pidfd = is_other ? -1 : open_holder(&r, HOLDER_SUPERVISOR, e);
	registry_done(&r);
	if (is_other)
		return registry_absent(name, e);
	return pidfd < 0 ? err_in(e, "find the supervisor of sandbox '%s'", name) : pidfd;
}

int registry_janitor(const char *name, struct err *e)
{
	struct registry_entry r;

	if (find_folder(name, &r, e) < 0)
		return -1;
	const int pidfd = open_holder(&r, HOLDER_JANITOR, e);
	registry_done(&r);
	return pidfd < 0 ? err_in(e, "find the janitor of sandbox '%s'", name) : pidfd;
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

/* Opens the folder .ended and lists the matches, the latest first; -1 with an
 * empty list: there is no such folder. */
static int find_ended(int state, const char *name, struct list *ret)
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

/* Reads an ended sandbox.  A sandbox that another process removes meanwhile
 * counts as absent. */
static int read_ended(int ended, const char *name, struct registry_item *ret)
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
	AUTO_CLOSE int state = state_of(name, e);

	if (state < 0)
		return -1;
	AUTO_CLOSE int ended = find_ended(state, name, &found);
	int result = -1;
	for (size_t i = 0; i < found.count && result < 0; i++)
		result = read_ended(ended, found.items[i], ret);
	list_done(&found);
	return result < 0 ? absent_ended(name, e) : 0;
}

int registry_forget(const char *name, struct err *e)
{
	struct list found;
	struct state_dir_ended x;
	AUTO_CLOSE int state = state_of(name, e);

	if (state < 0)
		return -1;
	AUTO_CLOSE int ended = find_ended(state, name, &found);
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
	AUTO_CLOSE int state = state_of(name, e);
	if (state < 0)
		return -1;
	AUTO_CLOSE int ended = find_ended(state, name, &found);
	const char *latest = found.count ? found.items[0] : NULL;
	AUTO_CLOSE int folder = latest ? state_dir_folder(ended, latest, NULL) : -1;
	list_done(&found);
	return folder < 0 ? absent_ended(name, e) : open_log(folder, name, e);
}

/* --- all ------------------------------------------------------------------- */

struct gather {
	int state;
	struct registry_list *list;
	size_t room;
	struct err trouble; /* a failure of this process, such as too many open files */
};

static struct registry_item *add(struct gather *g)
{
	if (g->list->count == g->room) {
		g->room = g->room ? 2 * g->room : 64;
		g->list->items = mem_resize(g->list->items, g->room,
					    sizeof(*g->list->items));
	}
	return &g->list->items[g->list->count++];
}

/* Adds a live sandbox to the list.  Passes over entries that are not sandboxes
 * of this user. */
static void gather_live(void *arg, const char *name)
{
	struct gather *g = arg;
	struct registry_entry r = { .state = g->state };

	if (registry_check_name(name, NULL) < 0)
		return;
	struct err why;
	AUTO_CLOSE int folder = state_dir_folder(g->state, name, &why);
	if (folder < 0 && why.kind != ERR_NOT_FOUND && why.kind != ERR_REFUSED)
		g->trouble = why;
	if (folder < 0)
		return;
	bool is_alive = state_dir_is_alive(folder);
	if (!is_alive && registry_settle(g->state, name, false, NULL) == 0)
		return; /* the dead sandbox was moved to .ended and is listed from
			 * there */
	if (!is_alive && !state_dir_is_at(g->state, name, folder))
		return;
	r.folder = folder;
	(void)snprintf(r.name, sizeof(r.name), "%s", name);
	state_dir_read_id(folder, r.id);
	struct registry_item *item = add(g);
	read_live(&r, item);
	if (!is_alive)
		item->status = REGISTRY_STOPPING; /* the supervisor is dead, and the
						   * janitor is still tidying up */
}

static int by_name(const void *a, const void *b)
{
	const struct registry_item *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Returns whether the list has a later end of this sandbox: a sandbox that was
 * started again has ended more than once, and only its latest end counts. */
static bool has_lived_since(const struct registry_list *list, const char *name)
{
	struct state_dir_ended x;
	bool has = false;

	for (size_t i = 0; i < list->count && !has; i++)
		has = state_dir_ended_parse(&x, name) && !strcmp(list->items[i].id, x.id);
	return has;
}

static void gather_ended(struct gather *g)
{
	struct list found;
	AUTO_CLOSE int ended = find_ended(g->state, NULL, &found);

	for (size_t i = 0; i < found.count; i++)
		if (!has_lived_since(g->list, found.items[i]) &&
		    read_ended(ended, found.items[i], add(g)) < 0)
			g->list->count--;
	list_done(&found);
}

int registry_list(bool has_ended, struct registry_list *ret, struct err *e)
{
	struct err why = { 0 };
	AUTO_CLOSE int state = state_dir_state(false, &why);
	struct gather g = { .state = state, .list = ret };

	if (state < 0 && why.sys != ENOENT) {
		if (e)
			*e = why;
		return -1;
	}
	*ret = (struct registry_list){ 0 };
	if (state < 0)
		return 0;
	if (state_dir_each(state, gather_live, &g, &g.trouble) < 0 || g.trouble.kind) {
		if (e)
			*e = g.trouble;
		registry_list_done(ret);
		return -1;
	}
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), by_name);
	if (has_ended)
		gather_ended(&g);
	return 0;
}

int registry_name_of(const char *id, char ret[REGISTRY_NAME_MAX + 1])
{
	struct registry_list all;
	int found = -1;

	if (registry_list(false, &all, NULL) < 0)
		return -1;
	for (size_t i = 0; i < all.count && found < 0; i++) {
		if (strcmp(all.items[i].id, id) != 0)
			continue;
		memcpy(ret, all.items[i].name, sizeof(all.items[i].name));
		found = 0;
	}
	registry_list_done(&all);
	return found;
}

void registry_list_done(struct registry_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->count; i++)
		registry_item_done(&list->items[i]);
	own_free(&list->items);
	list->count = 0;
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

	if (find_folder(name, &r, &why) < 0) {
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

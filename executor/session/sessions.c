#include "executor/session/sessions.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/process/all_processes.h"
#include "executor/process/processes.h"
#include "executor/process/tree.h"
#include "executor/process/user.h"
#include "executor/session/session.h"
#include "executor/session/session_action.h"
#include "executor/wire/send_queue.h"
#include "protocol/action.h"

void sessions_done(struct sessions *s)
{
	for (size_t i = 0; i < s->count; i++)
		session_free(s->all[i]);
	free(s->all);
	variables_done(&s->variables);
	if (s->epoll > 0)
		own_close(&s->epoll);
	*s = (struct sessions){ 0 };
}

static struct session *find(const struct sessions *s, uint32_t id)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i]->id == id)
			return s->all[i];
	return NULL;
}

static struct session *find_action(const struct sessions *s, uint32_t id)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i]->action.id == id)
			return s->all[i];
	return NULL;
}

bool sessions_has(const struct sessions *s, uint32_t id)
{
	return find(s, id) || find_action(s, id);
}

/* --- work ------------------------------------------------------------------ */

/* Gives a session its share of the work that is left in this turn.  The result is to be
 * passed to spend(). */
static uint64_t share(const struct sessions *s, struct session *one)
{
	/* layer: session-share */
	one->work = s->work < SESSION_WORK ? s->work : SESSION_WORK;
	return one->screen.display.work;
}

static void spend(struct sessions *s, const struct session *one, uint64_t before)
{
	uint64_t did = one->screen.display.work - before;

	s->work -= did < s->work ? did : s->work; /* layer: sessions-turn */
}

bool sessions_have_worked(const struct sessions *s)
{
	return s->work == 0;
}

bool sessions_have_more(const struct sessions *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (session_has_more(s->all[i]))
			return true;
	return false;
}

/* Moves the first `count` sessions, which have had their share in this turn, to the end
 * of the list, so that the others come first in the next turn. */
static void rotate(struct sessions *s, size_t count)
{
	struct session *had[SESSIONS_MAX];

	if (count == s->count)
		return;
	memcpy(had, s->all, count * sizeof(*had));
	memmove(s->all, s->all + count, (s->count - count) * sizeof(*had));
	memcpy(s->all + s->count - count, had, count * sizeof(*had));
}

/* --- requests -------------------------------------------------------------- */

/* Removes the sessions that were ended, and those that could not be started (which have
 * reported that). */
static void sweep(struct sessions *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (!s->all[i]->is_gone) {
			s->all[kept++] = s->all[i];
			continue;
		}
		session_free(s->all[i]);
		processes_release(s->processes, SHELL_FDS);
	}
	s->count = kept;
}

static void refuse(struct sessions *s, uint32_t id, int sys)
{
	struct reply a = { .id = id };
	const struct failed why = { EXEC_STAGE_FORK, (uint32_t)sys };

	buffer_init(&a.end, SEND_QUEUE_END_MAX);
	(void)message_put_failed(&a.end, id, &why, NULL); /* cannot fail: the message fits
							   * into the new buffer */
	send_queue_add(s->replies, &a);
}

static void add(struct sessions *s, struct session *one)
{
	s->all = mem_resize(s->all, s->count + 1, sizeof(*s->all));
	s->all[s->count++] = one;
}

/* Decodes a copy of the message that opens a session; the copy lives as long as the
 * session, which points into it. */
static int decode(const struct frame *f, uint8_t **ret_body, struct exec *ret,
		  struct err *e)
{
	struct frame mine = *f;
	uint8_t *body = mem_copy(f->body, f->len);

	mine.body = body;
	if (message_get_exec(&mine, ret, e) < 0) {
		free(body);
		return -1;
	}
	*ret_body = body;
	return 0;
}

int sessions_env(struct sessions *s, const struct frame *f, struct err *e)
{
	struct list set, unset;

	if (message_get_env(f, &set, &unset, e) < 0)
		return -1;
	int changed = variables_change(&s->variables, &set, &unset, e);
	if (changed < 0)
		e->kind = ERR_PROTOCOL;
	list_done(&set);
	list_done(&unset);
	return changed;
}

int sessions_open(struct sessions *s, const struct frame *f, int64_t now, struct err *e)
{
	struct exec x;
	uint8_t *body;

	if (decode(f, &body, &x, e) < 0)
		return -1;
	bool is_shell = x.flags == EXEC_PTY ||
			(x.flags == (EXEC_PTY | EXEC_TREE) && s->proc >= 0);
	int refused = s->count >= SESSIONS_MAX ? EAGAIN : 0;
	if (!refused && !processes_reserve(s->processes, SHELL_FDS))
		refused = EMFILE;
	const struct session_world world = {
		s->replies,	s->user,       &s->processes->cgroup, s->all_processes,
		s->output_logs, &s->variables, s->processes,	      s->proc
	};
	if (is_shell && !refused) {
		add(s, session_new(f->id, body, &x, &world, now));
		return 0;
	}
	exec_done(&x);
	free(body);
	if (!is_shell)
		return err_set(e, ERR_PROTOCOL, "'open' with flags %u", x.flags);
	refuse(s, f->id, refused);
	return 0;
}

int sessions_run(struct sessions *s, const struct frame *f, int64_t now, struct err *e)
{
	struct run_request r;

	if (action_get_run(f, &r, e) < 0)
		return -1;
	struct session *one = find(s, r.session);
	if (!one || one->is_gone)
		return err_set(e, ERR_PROTOCOL,
			       "'run' in session %u, which does not exist", r.session);
	if (one->action.id)
		return err_set(e, ERR_PROTOCOL, "session %u has an action already",
			       r.session);
	uint64_t before = share(s, one);
	session_run(one, f->id, &r, now);
	spend(s, one, before);
	return 0;
}

int sessions_cancel(struct sessions *s, const struct frame *f, int64_t now,
		    struct err *e)
{
	if (action_get_cancel(f, e) < 0)
		return -1;
	struct session *one = find_action(s, f->id);
	if (one && !one->action.kills)
		session_cancel(one, now);
	return 0;
}

void sessions_hold(struct sessions *s, uint32_t id, bool is_held, int64_t now)
{
	struct session *one = find_action(s, id);

	if (one)
		session_hold(one, is_held, now);
}

int sessions_end(struct sessions *s, uint32_t id, struct err *e)
{
	struct session *one = find(s, id);

	if (!one)
		return 0;
	if (!one->is_opened || one->action.id)
		return err_set(e, ERR_PROTOCOL, "'end' of session %u at the wrong time",
			       id);
	if (one->shell.pid > 0)
		tree_end(s->proc, one->shell.pid);
	one->is_gone = true;
	sweep(s);
	return 0;
}

bool sessions_place(const struct sessions *s, uint32_t id, struct file_place *place)
{
	const struct session *one = id ? find(s, id) : NULL;

	if (one)
		*place = (struct file_place){
			.uid = one->exec.uid,
			.gid = one->exec.gid,
			.cwd = one->cwd && *one->cwd ? one->cwd : one->exec.cwd,
		};
	return !id || one;
}

const struct exec *sessions_exec(const struct sessions *s, uint32_t id)
{
	struct session *one = id ? find(s, id) : NULL;

	if (!one)
		return NULL;
	session_refresh(one);
	return &one->exec;
}

void sessions_add_leaders(const struct sessions *s, struct leaders *to)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct shell *sh = &s->all[i]->shell;
		if (sh->pid > 0)
			leaders_add(to, sh->pid, sh->terminal.master);
	}
}

/* --- poll ------------------------------------------------------------------ */

/* Returns the epoll(7) that watches idle sessions; -1: there is none, and each session
 * has its own entries for poll(2). */
static int epoll_of(struct sessions *s)
{
	if (s->epoll == 0)
		s->epoll = epoll_create1(EPOLL_CLOEXEC);
	return s->epoll;
}

size_t sessions_watch(struct sessions *s, struct pollfd *fds, bool is_full)
{
	size_t count = 0;

	s->has_parked = false;
	for (size_t i = 0; i < s->count; i++) {
		session_park(s->all[i], epoll_of(s));
		s->has_parked = s->has_parked || s->all[i]->parked >= 0;
	}
	if (s->has_parked)
		fds[count++] = (struct pollfd){ .fd = s->epoll, .events = POLLIN };
	for (size_t i = 0; i < s->count; i++)
		count += session_watch(s->all[i], fds + count, is_full);
	return count;
}

static void stir(struct sessions *s, int64_t now)
{
	struct epoll_event events[16];
	int count = epoll_wait(s->epoll, events, ARRAY_LEN(events), 0);

	for (int i = 0; i < count; i++) {
		struct session *one = find(s, events[i].data.u32);
		if (!one || one->parked < 0)
			continue; /* an earlier event of the same session, for its other
				   * descriptor, was handled already */
		uint64_t before = share(s, one);
		session_stir(one, now);
		spend(s, one, before);
	}
}

void sessions_serve(struct sessions *s, const struct pollfd *fds, int64_t now)
{
	const struct pollfd *parked = s->has_parked ? fds++ : NULL;
	size_t had = 0;

	s->work = SESSIONS_WORK;
	if (parked && parked->revents)
		stir(s, now);
	for (size_t i = 0; i < s->count; i++) {
		struct session *one = s->all[i];
		size_t watched = one->watched;
		had += s->work > 0;
		uint64_t before = share(s, one);
		session_serve(one, fds, now);
		spend(s, one, before);
		fds += watched;
	}
	rotate(s, had);
	sweep(s);
}

/* Kills the process tree of a shell that has just died, before it is reaped.  Its
 * orphaned descendants are children of pid 1 by now, like any orphan, but they can still
 * be found by the session of their shell, whose id is the shell's pid. */
void sessions_dying(struct sessions *s, pid_t pid)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i]->shell.pid == pid && s->all[i]->exec.flags & EXEC_TREE)
			tree_end(s->proc, pid);
}

void sessions_reaped(struct sessions *s, pid_t pid, int status, int64_t now)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->all[i]->shell.pid != pid)
			continue;
		uint64_t before = share(s, s->all[i]);
		session_reaped(s->all[i], status, now);
		spend(s, s->all[i], before);
		break;
	}
	sweep(s);
}

int64_t sessions_due(const struct sessions *s)
{
	int64_t due = INT64_MAX;

	for (size_t i = 0; i < s->count; i++) {
		int64_t one = session_due(s->all[i]);
		due = one < due ? one : due;
	}
	return due;
}

void sessions_expire(struct sessions *s, int64_t now)
{
	for (size_t i = 0; i < s->count; i++) {
		struct session *one = s->all[i];
		if (session_due(one) > now)
			continue;
		uint64_t before = share(s, one);
		session_expire(one, now);
		spend(s, one, before);
		if (s->work == 0)
			break; /* the other sessions are still due in the next turn */
	}
	sweep(s);
}

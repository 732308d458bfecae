#include "executor/requests.h"

#include <stddef.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "executor/edit/editor.h"
#include "executor/executor.h"
#include "executor/fileops/errand.h"
#include "executor/fileops/errands.h"
#include "executor/files/files.h"
#include "protocol/action.h"
#include "protocol/message.h"

struct request {
	unsigned one; /* phases in which the request is permitted with an id, such as that
		       * of a command */
	unsigned all; /* phases in which the request is permitted without an id; 0:
		       * never */
	int (*answer)(struct executor *x, const struct frame *f, struct err *e);
};

static bool is_used(struct executor *x, uint32_t id)
{
	return processes_find(&x->processes, id) || sessions_has(&x->sessions, id) ||
	       workers_has(&x->workers, id) || plugins_has(&x->plugins, id);
}

static int in_use(const struct frame *f, struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "id %u is in use", f->id);
}

static void start(struct executor *x, struct command_request *request)
{
	x->phase = request->exec->flags & EXEC_LAST ? PHASE_LAST : PHASE_BUSY;
	processes_start(&x->processes, request, &x->user);
}

static int answer_exec(struct executor *x, const struct frame *f, struct err *e)
{
	struct command_request request = { .id = f->id };
	struct exec exec;

	if (is_used(x, f->id))
		return in_use(f, e);
	if (message_get_exec(f, &exec, e) < 0)
		return -1;
	request.exec = &exec;
	int taken = channel_take_fds(&x->channel, request.fds, e);
	if (taken == 0)
		start(x, &request);
	exec_done(&exec);
	return taken;
}

static int signal_all(struct executor *x, int signo, struct err *e)
{
	struct leaders l = executor_leaders(x);
	int sent = all_processes_signal(&x->all_processes, signo, &l, x->now, e);

	leaders_done(&l);
	return sent;
}

static int answer_signal(struct executor *x, const struct frame *f, struct err *e)
{
	uint32_t signo;

	if (message_get_signal(f, &signo, e) < 0)
		return -1;
	if (f->id == 0)
		return signal_all(x, (int)signo, e);
	processes_signal(&x->processes, f->id, (int)signo);
	return 0;
}

static int answer_end(struct executor *x, const struct frame *f, struct err *e)
{
	if (message_get_end(f, e) < 0)
		return -1;
	if (x->proc < 0)
		return err_set(e, ERR_PROTOCOL,
			       "'end', but there is no procfs to find the tree in");
	processes_end(&x->processes, f->id, x->proc);
	return sessions_end(&x->sessions, f->id, e);
}

static int answer_hold(struct executor *x, const struct frame *f, struct err *e)
{
	bool is_held;

	if (message_get_hold(f, &is_held, e) < 0)
		return -1;
	if (f->id)
		sessions_hold(&x->sessions, f->id, is_held, executor_now(x));
	else
		all_processes_hold(&x->all_processes, is_held, x->now);
	return 0;
}

static int answer_freeze(struct executor *x, const struct frame *f, struct err *e)
{
	uint32_t number;

	return message_get_freeze(f, &number, e) < 0 ? -1 : executor_freeze(x, number, e);
}

static int answer_resize(struct executor *x, const struct frame *f, struct err *e)
{
	uint32_t rows, cols;

	if (message_get_resize(f, &rows, &cols, e) < 0)
		return -1;
	processes_resize(&x->processes, f->id, rows, cols);
	return 0;
}

static int answer_stop(struct executor *x, const struct frame *f, struct err *e)
{
	uint32_t grace_ms;

	if (message_get_stop(f, &grace_ms, e) < 0)
		return -1;
	return executor_stop(x, grace_ms, e);
}

static int answer_cgroup(struct executor *x, const struct frame *f, struct err *e)
{
	int procs;

	if (x->processes.cgroup.procs >= 0)
		return err_set(e, ERR_PROTOCOL, "a second cgroup");
	if (message_get_cgroup(f, e) < 0 || channel_take_fd(&x->channel, &procs, e) < 0)
		return -1;
	cgroup_hold(&x->processes.cgroup, procs);
	return 0;
}

static int answer_open(struct executor *x, const struct frame *f, struct err *e)
{
	if (is_used(x, f->id))
		return in_use(f, e);
	x->phase = PHASE_BUSY;
	return sessions_open(&x->sessions, f, executor_now(x), e);
}

static int answer_env(struct executor *x, const struct frame *f, struct err *e)
{
	if (sessions_env(&x->sessions, f, e) < 0)
		return -1;
	plugins_env(&x->plugins, f);
	return 0;
}

static int answer_plugin(struct executor *x, const struct frame *f, struct err *e)
{
	if (is_used(x, f->id))
		return in_use(f, e);
	x->phase = PHASE_BUSY; /* the plugin's process enters the commands' cgroup, so
				* that it can no longer be replaced (MSG_CGROUP) */
	return plugins_add(&x->plugins, f, executor_now(x), e);
}

static int answer_call(struct executor *x, const struct frame *f, struct err *e)
{
	if (is_used(x, f->id))
		return in_use(f, e);
	return plugins_call(&x->plugins, f, executor_now(x), e);
}

static int answer_run(struct executor *x, const struct frame *f, struct err *e)
{
	if (is_used(x, f->id))
		return in_use(f, e);
	return sessions_run(&x->sessions, f, executor_now(x), e);
}

static int answer_cancel(struct executor *x, const struct frame *f, struct err *e)
{
	if (workers_cancel(&x->workers, f->id, executor_now(x)) ||
	    plugins_cancel(&x->plugins, f->id, executor_now(x)))
		return action_get_cancel(f, e);
	return sessions_cancel(&x->sessions, f, executor_now(x), e);
}

static int answer_dial(struct executor *x, const struct frame *f, struct err *e)
{
	struct dial_request request = { .id = f->id };
	int pipes[2];

	if (port_connect_has(&x->port_connect, f->id))
		return in_use(f, e);
	if (message_get_dial(f, &request.port, e) < 0 ||
	    channel_take_pair(&x->channel, pipes, e) < 0)
		return -1;
	request.in = pipes[0];
	request.out = pipes[1];
	port_connect_start(&x->port_connect, &request);
	return 0;
}

static int answer_finish(struct executor *x, const struct frame *f, struct err *e)
{
	if (message_get_word(f, e) < 0)
		return -1;
	port_connect_finish(&x->port_connect, f->id);
	return 0;
}

static int answer_hangup(struct executor *x, const struct frame *f, struct err *e)
{
	if (message_get_word(f, e) < 0)
		return -1;
	port_connect_hang_up(&x->port_connect, f->id);
	return 0;
}

static int no_session(uint32_t id, struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "a file of session %u, which does not exist", id);
}

static int answer_read(struct executor *x, const struct frame *f, struct err *e)
{
	struct read_request r;

	if (is_used(x, f->id))
		return in_use(f, e);
	if (action_get_read(f, &r, e) < 0)
		return -1;
	if (!sessions_place(&x->sessions, r.session, &r.place))
		return no_session(r.session, e);
	struct files files = { &x->replies, &x->user, &r.place, f->id };
	return files_read(&files, &r, e);
}

static int answer_write(struct executor *x, const struct frame *f, struct err *e)
{
	struct write_request r;

	if (is_used(x, f->id))
		return in_use(f, e);
	if (action_get_write(f, &r, e) < 0)
		return -1;
	if (!sessions_place(&x->sessions, r.session, &r.place))
		return no_session(r.session, e);
	struct files files = { &x->replies, &x->user, &r.place, f->id };
	return files_write(&files, &r, e);
}

/* Answers a request to edit files.  `place` gets the session's working directory; the
 * directory in the request, where the sandbox began, stays in `r`, since the editor needs
 * both. */
static int answer_edit(struct executor *x, const struct frame *f, struct err *e)
{
	struct edit_request r;

	if (is_used(x, f->id))
		return in_use(f, e);
	if (action_get_edit(f, &r, e) < 0)
		return -1;
	struct file_place place = r.place;
	if (!sessions_place(&x->sessions, r.session, &place))
		return no_session(r.session, e);
	struct files files = { &x->replies, &x->user, &place, f->id };
	const struct editor editor = { &x->undo, &x->workers,
				       sessions_exec(&x->sessions, r.session),
				       executor_now(x) };
	return editor_edit(&files, &r, &editor, e);
}

static int answer_errand(struct executor *x, const struct frame *f, struct err *e)
{
	struct errand_request r;

	if (is_used(x, f->id))
		return in_use(f, e);
	if (action_get_errand(f, &r, e) < 0)
		return -1;
	if (!sessions_place(&x->sessions, r.session, &r.place))
		return no_session(r.session, e);
	x->phase = PHASE_BUSY; /* an errand enters the commands' cgroup, as a command
			        * does, so that cgroup can no longer be replaced
			        * (MSG_CGROUP) */
	const struct errand_order order = { f->id, &r,
					    sessions_exec(&x->sessions, r.session) };
	errands_start(&x->workers, &order, errand_run, executor_now(x));
	return 0;
}

/* The phases (enum phase) in which a request is permitted.  PAUSED is added to them: the
 * request is permitted during a pause, too. */
#define READY  PHASE_READY
#define BUSY   PHASE_BUSY
#define LAST   PHASE_LAST
#define ENDING PHASE_ENDING
#define PAUSED (1u << 8)

static const struct request requests[] = {
	[MSG_NONE] = { .answer = NULL },
	[MSG_HELLO] = { .answer = NULL },
	[MSG_EXEC] = { .one = READY | BUSY, .answer = answer_exec },
	[MSG_STARTED] = { .answer = NULL },
	[MSG_FAILED] = { .answer = NULL },
	[MSG_EXITED] = { .answer = NULL },
	[MSG_SIGNAL] = { .one = BUSY | LAST | ENDING | PAUSED,
			 .all = READY | BUSY | LAST | ENDING | PAUSED,
			 .answer = answer_signal },
	[MSG_RESIZE] = { .one = BUSY | LAST | ENDING | PAUSED, .answer = answer_resize },
	[MSG_STOP] = { .all = READY | BUSY | LAST | ENDING | PAUSED,
		       .answer = answer_stop },
	[MSG_CGROUP] = { .all = READY, .answer = answer_cgroup },
	[MSG_OPEN] = { .one = READY | BUSY, .answer = answer_open },
	[MSG_RUN] = { .one = BUSY, .answer = answer_run },
	[MSG_CANCEL] = { .one = BUSY | ENDING | PAUSED, .answer = answer_cancel },
	[MSG_READ] = { .one = READY | BUSY | PAUSED, .answer = answer_read },
	[MSG_WRITE] = { .one = READY | BUSY | PAUSED, .answer = answer_write },
	[MSG_OUTPUT... MSG_DONE] = { .answer = NULL },
	[MSG_END] = { .one = BUSY | LAST | ENDING | PAUSED, .answer = answer_end },
	[MSG_HOLD] = { .one = BUSY | ENDING | PAUSED,
		       .all = READY | BUSY | LAST | ENDING | PAUSED,
		       .answer = answer_hold },
	[MSG_EDIT] = { .one = READY | BUSY | PAUSED, .answer = answer_edit },
	[MSG_EDITED] = { .answer = NULL },
	[MSG_ERRAND] = { .one = READY | BUSY, .answer = answer_errand },
	[MSG_RETURNED] = { .answer = NULL },
	[MSG_ENV] = { .all = READY | BUSY, .answer = answer_env },
	[MSG_PAUSED] = { .answer = NULL },
	[MSG_DIAL] = { .one = READY | BUSY | LAST | PAUSED, .answer = answer_dial },
	[MSG_FINISH] = { .one = READY | BUSY | LAST | ENDING | PAUSED,
			 .answer = answer_finish },
	[MSG_HANGUP] = { .one = READY | BUSY | LAST | ENDING | PAUSED,
			 .answer = answer_hangup },
	[MSG_FINISHED... MSG_CLOSED] = { .answer = NULL },
	[MSG_FREEZE] = { .all = READY | BUSY | LAST | ENDING | PAUSED,
			 .answer = answer_freeze },
	[MSG_FROZEN] = { .answer = NULL },
	[MSG_PLUGIN] = { .one = READY | BUSY, .answer = answer_plugin },
	[MSG_OFFER... MSG_STATE] = { .answer = NULL },
	[MSG_CALL] = { .one = BUSY, .answer = answer_call },
	[MSG_ANSWERED] = { .answer = NULL },
};
_Static_assert(ARRAY_LEN(requests) == MSG_COUNT, "a message has no row");

static bool is_permitted(const struct executor *x, const struct frame *f)
{
	if (f->type >= MSG_COUNT)
		return false;
	unsigned when = f->id ? requests[f->type].one : requests[f->type].all;
	return (when & x->phase) &&
	       (!all_processes_is_paused(&x->all_processes) || (when & PAUSED));
}

int request_answer(struct executor *x, const struct frame *f, struct err *e)
{
	if (!is_permitted(x, f))
		return err_set(e, ERR_PROTOCOL, "'%s' (%u) about %u is not permitted now",
			       message_name(f->type), f->type, f->id);
	return requests[f->type].answer(x, f, e);
}

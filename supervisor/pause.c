#include "supervisor/pause.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd_pass.h"
#include "base/frame.h"
#include "base/json_write.h"
#include "base/own.h"
#include "policy/policy.h"
#include "protocol/message.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "supervisor/records.h"
#include "supervisor/rpc.h"
#include "supervisor/supervisor.h"

/* How long in ms a pause waits until all processes have stopped.  A process may hang in
 * an uninterruptible call, for example on a dead NFS server; then the pause fails after
 * this time.  Pid 1 gives up earlier (executor/process/freezer.c). */
#define STAND_MS 10000

void pause_init(struct pause *t)
{
	*t = (struct pause){ .to = -1, .events = -1 };
}

static void stop_waiting(struct pause *t)
{
	own_free(&t->request);
	own_close(&t->to);
}

static void forget_pauser(struct pause *t)
{
	own_free(&t->pauser.request);
	t->pauser.client = NULL;
}

void pause_done(struct pause *t)
{
	stop_waiting(t);
	forget_pauser(t);
	own_close(&t->events);
	t->reader = NULL;
	t->due_ms = 0;
}

bool pause_is(const struct supervisor *s)
{
	return s->pause.phase != PAUSE_NOT;
}

const char *pause_by(const struct supervisor *s)
{
	static const char *const ways[] = {
		[PAUSE_BY_CGROUP] = "{\"by\":\"cgroup\"}",
		[PAUSE_BY_TRACING] = "{\"by\":\"tracing\"}",
		[PAUSE_BY_SIGNALS] = "{\"by\":\"signals\"}",
	};

	return ways[s->pause.by];
}

/* --- stopped, and let go ---------------------------------------------------------- */

static bool has_cgroup(const struct supervisor *s)
{
	return s->launch->cgroup.procs >= 0;
}

static void sent(struct supervisor *s, int sent, struct err *e)
{
	if (sent < 0)
		instance_broke_protocol(&s->instance, e);
}

static void hold(struct supervisor *s, bool is_held)
{
	struct err e;

	sent(s, channel_send_hold(&s->instance.channel, is_held, &e), &e);
}

/* Freezes or thaws the cgroup of the commands.  The executor is not in that cgroup.  It
 * is told to stop its own time limits before the processes stop, and to continue them
 * when all run again. */
static int freeze(struct supervisor *s, bool is_frozen, struct err *e)
{
	if (is_frozen)
		hold(s, true);
	int done = cgroup_freeze(&s->launch->cgroup, is_frozen, e);
	if (is_frozen != (done == 0))
		hold(s, false);
	return done;
}

static void trace(struct supervisor *s, bool is_frozen)
{
	struct err e;

	s->pause.freezes += is_frozen;
	sent(s,
	     channel_send_freeze(&s->instance.channel, is_frozen ? s->pause.freezes : 0,
				 &e),
	     &e);
}

static void send_all(struct supervisor *s, int signo)
{
	struct err e;

	s->pause.asked += signo == SIGSTOP;
	sent(s, channel_send_signal(&s->instance.channel, 0, (uint32_t)signo, &e), &e);
}

/* Stops all processes, or lets them continue, by the means that was chosen. */
static int apply(struct supervisor *s, bool is_stopped, struct err *e)
{
	switch (s->pause.by) {
	case PAUSE_BY_CGROUP:
		return freeze(s, is_stopped, e);
	case PAUSE_BY_TRACING:
		trace(s, is_stopped);
		return 0;
	case PAUSE_BY_SIGNALS:
		send_all(s, is_stopped ? SIGSTOP : SIGCONT);
	}
	return 0;
}

static int begin(struct supervisor *s, struct err *e)
{
	struct pause *t = &s->pause;

	/* layer: pause-tracing */
	t->by = has_cgroup(s) ? PAUSE_BY_CGROUP : PAUSE_BY_TRACING;
	if (has_cgroup(s) && (t->events = cgroup_events(&s->launch->cgroup, e)) < 0)
		return -1;
	if (apply(s, true, e) < 0) {
		own_close(&t->events);
		return -1;
	}
	t->phase = PAUSE_STOPPING;
	t->since_ms = s->now_ms;
	t->due_ms = s->now_ms + STAND_MS;
	jobs_pause(&s->jobs, s->now_ms);
	return 0;
}

static void let_time_go_on(struct supervisor *s)
{
	s->pause.phase = PAUSE_NOT;
	s->pause.due_ms = 0;
	own_close(&s->pause.events);
	dispatcher_postpone(&s->dispatcher, s->now_ms - s->pause.since_ms);
	jobs_resume(&s->jobs, s->now_ms);
}

/* Lets all processes continue.  If the cgroup cannot be thawed, the status stays
 * `paused`, and a client may try unpause again. */
static int let_go(struct supervisor *s, struct err *e)
{
	if (apply(s, false, e) < 0)
		return -1;
	let_time_go_on(s);
	s->pause.is_for_reader = false;
	if (s->status == REGISTRY_PAUSED)
		supervisor_set_status(s, REGISTRY_READY);
	return 0;
}

/* Lets all processes continue when no client has asked for that.  If it fails no client
 * would try again, so the sandbox is ended. */
static void go_on_or_end(struct supervisor *s)
{
	struct err e;

	if (let_go(s, &e) < 0)
		supervisor_end(s, "error", EXIT_HUTCH, NULL, &e);
}

/* --- requests to pause ---------------------------------------------------------- */

/* Checks that the sandbox can be paused.  Before the sandbox is ready pid 1 may not
 * have begun to listen, and the client that creates it would have to wait for the
 * pause's end. */
static int check_state(const struct supervisor *s, struct err *e)
{
	if (!s->is_stopping && s->status != REGISTRY_STARTED)
		return 0;
	return err_set(e, ERR_BUSY, "the sandbox is %s",
		       s->is_stopping ? "stopping" : "not ready yet");
}

static int check_pauser(const struct supervisor *s, struct err *e)
{
	const struct pause *t = &s->pause;

	if (check_state(s, e) < 0)
		return -1;
	if (t->phase == PAUSE_STOPPING && !t->is_for_reader)
		return err_set(e, ERR_BUSY, "the sandbox is being paused");
	if (t->phase == PAUSE_STANDS && !t->is_for_reader)
		return err_set(e, ERR_USAGE, "the sandbox is paused already");
	return 0;
}

int pause_pause(struct supervisor *s, struct client *c, char *request, struct err *e)
{
	struct pause *t = &s->pause;

	if (check_pauser(s, e) < 0 || (t->phase == PAUSE_NOT && begin(s, e) < 0))
		return -1;
	t->is_for_reader = false; /* the sandbox stays paused */
	if (t->phase == PAUSE_STANDS)
		return 0;
	t->pauser = (struct pause_pauser){ c, request };
	c->under_way++;
	return 0;
}

/* Answers the client that asked for the pause.  `e` is the reason of a failure; NULL:
 * the sandbox is paused. */
static void answer_pauser(struct supervisor *s, const struct err *e)
{
	struct pause_pauser *p = &s->pause.pauser;

	if (!p->client)
		return;
	p->client->under_way--;
	if (e)
		client_error(p->client, p->request, RPC_FAILED, e);
	else
		client_result(p->client, p->request, pause_by(s));
	forget_pauser(&s->pause);
}

/* Drops the client that reads the written files.  If it still waits it gets the error;
 * if it has begun to read, it may now see files change. */
static void drop_reader(struct supervisor *s, const struct err *e)
{
	struct pause *t = &s->pause;

	if (t->request) {
		client_error(t->reader, t->request, RPC_FAILED, e);
		t->reader->under_way--;
	}
	stop_waiting(t);
	t->reader = NULL;
	t->is_for_reader = false;
}

static int refuse_unprotected(const struct err *lost, struct err *e)
{
	(void)err_set(e, ERR_REFUSED, "%.600s, where nothing can be mounted from outside",
		      lost->text);
	return err_remedy(
		e, "make another sandbox; or, if the inside may write to it, hutch "
		   "unpause --force");
}

int pause_unpause(struct supervisor *s, bool is_forced, struct err *e)
{
	struct err why;

	if (s->pause.phase == PAUSE_STOPPING)
		return err_set(e, ERR_BUSY, "the sandbox is being paused");
	if (s->pause.phase == PAUSE_NOT)
		return err_set(e, ERR_USAGE, "the sandbox is not paused");
	if (s->pause.lost.kind != ERR_NONE && !is_forced)
		return refuse_unprotected(&s->pause.lost, e);
	(void)err_set(&why, ERR_BUSY, "another client has unpaused the sandbox");
	drop_reader(s, &why);
	if (let_go(s, e) < 0)
		return -1;
	if (s->pause.lost.kind != ERR_NONE)
		protect_watch_give_up(&s->launch->protect_watch);
	s->pause.lost.kind = ERR_NONE;
	return 0;
}

/* Tells clients that protection was lost.  Called only when all processes have stopped
 * or the sandbox ends. */
static void tell_unprotected(struct supervisor *s)
{
	const struct err *why = &s->pause.lost;
	AUTO_FREE char *message = json_write_quoted(why->text);
	AUTO_FREE char *more = text_format("\"message\":%s", message);

	supervisor_event(s, "unprotected", more);
	records_unprotected(s, why);
}

/* A process can evade a pause by signals, for example with a timer that sends SIGCONT.
 * So a pause by signals is not enough here, and the sandbox ends. */
void pause_unprotected(void *supervisor, const struct err *why)
{
	struct supervisor *s = supervisor;
	struct pause *t = &s->pause;
	struct err e;

	t->lost = *why;
	t->is_for_reader = false;
	/* A sandbox that is not ready, or that is stopping, cannot be paused. */
	bool is_held = t->phase != PAUSE_NOT
			       ? t->by != PAUSE_BY_SIGNALS
			       : check_state(s, &e) == 0 && begin(s, &e) == 0;
	if (!is_held)
		supervisor_end(s, "error", EXIT_HUTCH, NULL, why);
	instance_flush(&s->instance);
	if (!is_held || t->phase == PAUSE_STANDS)
		tell_unprotected(s);
}

void pause_end(struct supervisor *s)
{
	struct err why;

	(void)err_set(&why, ERR_BUSY, "the sandbox is stopping");
	drop_reader(s, &why);
	answer_pauser(s, &why);
	if (s->pause.phase == PAUSE_NOT)
		return;
	/* The message that asks all processes to end also lets them go on.  A main
	 * process gets only its signal.  If thawing a cgroup fails, the end of the sandbox
	 * kills frozen processes too. */
	if (s->main.state != MAIN_NONE)
		(void)apply(s, false, NULL);
	else if (s->pause.by == PAUSE_BY_CGROUP)
		(void)cgroup_freeze(&s->launch->cgroup, false, NULL);
	let_time_go_on(s);
}

/* --- a reader ------------------------------------------------------------------- */

int pause_begin(struct supervisor *s, struct client *reader, char *request, int to,
		struct err *e)
{
	struct pause *t = &s->pause;
	bool is_new = t->phase == PAUSE_NOT;

	if (t->reader)
		return err_set(e, ERR_BUSY, "another client takes a snapshot");
	if (check_state(s, e) < 0 || (is_new && begin(s, e) < 0))
		return -1;
	t->is_for_reader |= is_new;
	t->reader = reader;
	t->request = request;
	t->to = to;
	reader->under_way++;
	return 0;
}

void pause_leave(struct supervisor *s, const struct client *c)
{
	struct pause *t = &s->pause;

	if (t->pauser.client == c)
		forget_pauser(t); /* without that client the sandbox stays paused */
	if (t->reader != c)
		return;
	stop_waiting(t);
	t->reader = NULL;
	if (t->is_for_reader)
		go_on_or_end(s);
}

static int take_paused(struct pause *t, const struct frame *f, struct err *e)
{
	uint32_t number;

	if (message_get_paused(f, &number, e) < 0)
		return -1;
	if (number <= t->stopped || number > t->asked)
		return err_set(e, ERR_PROTOCOL, "it reported stop %u out of order",
			       number);
	t->stopped = number;
	return 0;
}

int pause_frame(struct supervisor *s, const struct frame *f, struct err *e)
{
	struct pause *t = &s->pause;
	struct frozen what;

	if (f->type == MSG_PAUSED)
		return take_paused(t, f, e);
	if (message_get_frozen(f, &what, e) < 0)
		return -1;
	if (what.number <= t->frozen.number || what.number > t->freezes)
		return err_set(e, ERR_PROTOCOL, "it reported freeze %u out of order",
			       what.number);
	t->frozen = what;
	return 0;
}

/* --- all stand ------------------------------------------------------------------- */

/* The remedies that an error text names if processes cannot be traced. */
#define OTHERWISE "; a sandbox with a limit, as --pids-limit, is paused by its cgroup; one made " \
		  "with --best-effort by signals"

static int explain(const struct frozen *what, struct err *e)
{
	const unsigned pid = what->pid;

	switch (what->why) {
	case FREEZE_TRACED:
		(void)err_set(e, ERR_REFUSED,
			      "process %u inside is traced by another one, and "
			      "only one can stop it",
			      pid);
		return err_remedy(e, "end its debugger or strace" OTHERWISE);
	case FREEZE_DENIED:
		(void)err_set(e, ERR_REFUSED,
			      "the kernel lets no process trace process %u inside, "
			      "which would stop it",
			      pid);
		return err_remedy(
			e, "kernel.yama.ptrace_scope has to be below 3, and the program "
			   "readable to its user" OTHERWISE);
	case FREEZE_LATE:
		return pid ? err_set(e, ERR_BUSY,
				     "process %u inside did not stand still in time", pid)
			   : err_set(e, ERR_BUSY,
				     "not every process inside stood still in time");
	default:
		(void)err_set(e, ERR_REFUSED, "no process that stops the others could be "
					      "started inside");
		return err_remedy(e, "end some of its processes" OTHERWISE);
	}
}

static int is_frozen(const struct pause *t, struct err *e)
{
	if (t->frozen.number != t->freezes)
		return 0; /* layer: pause-told */
	return t->frozen.why == FREEZE_STANDS ? 1 : explain(&t->frozen, e);
}

/* Returns 1: all processes have stopped; 0: not yet; -1: they will not stop. */
static int all_stand(const struct supervisor *s, struct err *e)
{
	const struct pause *t = &s->pause;

	switch (t->by) {
	case PAUSE_BY_CGROUP:
		return cgroup_is_frozen(t->events, e);
	case PAUSE_BY_TRACING:
		return is_frozen(t, e);
	case PAUSE_BY_SIGNALS:
		break;
	}
	return t->stopped == t->asked;
}

static void give_reader(struct supervisor *s)
{
	struct pause *t = &s->pause;
	AUTO_FREE char *over = pause_over(s);
	struct err e;

	if (pause_give(s, t->to, &e) < 0) {
		bool is_over = t->is_for_reader;
		drop_reader(s, &e);
		if (is_over)
			go_on_or_end(s);
		return;
	}
	t->reader->under_way--;
	client_result(t->reader, t->request, over);
	stop_waiting(t);
}

static void stand(struct supervisor *s)
{
	s->pause.phase = PAUSE_STANDS;
	s->pause.due_ms = 0;
	own_close(&s->pause.events);
	supervisor_set_status(s, REGISTRY_PAUSED);
	if (s->pause.lost.kind != ERR_NONE)
		tell_unprotected(s);
	answer_pauser(s, NULL);
}

static void stop_by_signals(struct supervisor *s)
{
	s->launch->degraded |= DEGRADED_PAUSE;
	trace(s, false);
	s->pause.by = PAUSE_BY_SIGNALS;
	s->pause.due_ms = s->now_ms + STAND_MS;
	send_all(s, SIGSTOP);
}

/* Gives up a pause because not all processes have stopped.  The clients that asked for
 * it get the error, and all processes continue. */
static void give_up(struct supervisor *s, struct err *why)
{
	struct pause *t = &s->pause;

	if (t->lost.kind != ERR_NONE) {
		supervisor_end(s, "error", EXIT_HUTCH, NULL, &t->lost);
		tell_unprotected(s);
		return;
	}
	if (t->by == PAUSE_BY_TRACING && s->launch->policy->is_best_effort) {
		stop_by_signals(s);
		return;
	}
	drop_reader(s, why);
	answer_pauser(s, why);
	go_on_or_end(s);
}

void pause_look(struct supervisor *s)
{
	struct pause *t = &s->pause;
	struct err e;

	if (s->ending.reason)
		return;
	if (t->phase == PAUSE_STOPPING) {
		int are_stopped = all_stand(s, &e);
		if (are_stopped == 0 && !clock_is_due(t->due_ms, s->now_ms))
			return;
		if (are_stopped == 0)
			(void)err_set(&e, ERR_BUSY,
				      "not every process inside stood still within "
				      "%d s",
				      STAND_MS / 1000);
		if (are_stopped > 0)
			stand(s);
		else
			give_up(s, &e);
	}
	if (t->phase == PAUSE_STANDS && t->request)
		give_reader(s);
}

void pause_watch(const struct pause *t, struct pollfd *w)
{
	*w = (struct pollfd){ .fd = t->events, .events = POLLPRI };
}

/* --- what was written --------------------------------------------------------- */

int pause_give(const struct supervisor *s, int to, struct err *e)
{
	if (fd_pass_send(to, "", 1, &s->launch->sandbox.upper, 1) == 1)
		return 0;
	return err_sys(e, "send the folder over the descriptor beside the request");
}

char *pause_over(const struct supervisor *s)
{
	const struct policy *p = s->launch->policy;
	const struct store_image *store_image = &s->launch->store_image;
	const struct plan *plan = &s->launch->plan;
	bool is_stored = p->image == IMAGE_STORE;
	AUTO_FREE char *ids = plan->has_ranges ? idmaps_print(&plan->ids) : NULL;
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "image", is_stored ? store_image->name : NULL);
	json_write_text(&b, "digest", is_stored ? store_image->image.hex : NULL);
	json_write_text(&b, "ids", ids);
	json_write_open(&b, "lowers", "[");
	if (!is_stored)
		json_write_text(&b, NULL, p->image_path);
	for (size_t i = 0; i < store_image->lowers.count; i++)
		json_write_text(&b, NULL, store_image->lowers.items[i]);
	json_write_close(&b, "]}");
	return json_write_end(&b);
}

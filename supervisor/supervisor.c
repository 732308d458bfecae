#include "supervisor/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actions/redact_json.h"
#include "base/arena.h"
#include "base/fd_keep.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/lean.h"
#include "base/list.h"
#include "base/own.h"
#include "egress/launch/egress_news.h"
#include "policy/egress_policy.h"
#include "policy/policy.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/cgroup/watchdog.h"
#include "sandbox/kernel/listener.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "sandbox/state/saved_spec.h"
#include "sandbox/state/state_dir.h"
#include "supervisor/confine.h"
#include "supervisor/records.h"

enum {
	WATCH_INSTANCE,
	WATCH_SIGNALS = WATCH_INSTANCE + INSTANCE_POLLS,
	WATCH_LISTENER,
	WATCH_READY,
	WATCH_PAUSE,
	WATCH_CLIENTS
};

/* --- what it is and how it is -------------------------------------------------- */

static bool is_idle(const struct supervisor *s)
{
	if (s->clocks.start_due || s->lease.is_waiting) /* it is not ready yet, or waits
							 * for its first client */
		return false;
	for (size_t i = 0; i < s->client_count; i++)
		if (s->clients[i]->is_user)
			return false;
	/* The main process runs as long as the sandbox lives, so it is no use of it. */
	const size_t alive = s->jobs.alive - main_process_is_alive(s);
	return alive == 0 && s->launch->ports.visit_count == 0 &&
	       s->dispatcher.queue.count == 0;
}

/* Reads the clock.  If the sandbox is in use, restarts its idle time.  That must be
 * done in each turn: while the sandbox is in use no idle time-out wakes the loop, and
 * the use may end in the same turn in which the loop learns of it. */
void supervisor_look_at_clock(struct supervisor *s)
{
	s->dispatcher.now_us = clock_us();
	s->now_ms = dispatcher_now(&s->dispatcher);
	if (!is_idle(s))
		clocks_use(&s->clocks, s->now_ms);
}

void supervisor_event(struct supervisor *s, const char *name, const char *more)
{
	(void)events_add(&s->events, name, more);
	supervisor_log_add_event(&s->supervisor_log, name, more);
}

void supervisor_set_status(struct supervisor *s, enum registry_status status)
{
	AUTO_FREE char *more =
		text_format("\"status\":\"%s\"", registry_status_name(status));
	struct err e;

	s->status = status;
	if (registry_set_status(s->entry, status, &e) < 0) /* on failure: the registry
							    * still shows the old
							    * status */
		supervisor_log_add_err(&s->supervisor_log, LOG_LEVEL_WARN, "supervisor",
				       &e);
	supervisor_event(s, "status", more);
}

/* Renames the sandbox in the saved spec and in the registry.  The saved spec comes
 * first, so that after a kill in between it has either the old or the new name. */
static int rename_all(struct supervisor *s, const char *name, struct err *e)
{
	struct saved_spec *d = s->saved_spec;
	AUTO_FREE char *old = text_copy(s->entry->name);

	if (registry_check_name(name, e) < 0)
		return -1;
	if ((d ? saved_spec_rename(d, name, e) : saved_spec_check_free(name, e)) < 0)
		return -1;
	if (registry_rename(s->entry, name, e) == 0)
		return 0;
	if (d)
		(void)saved_spec_rename(d, old, NULL); /* if that fails too the saved
							* spec keeps the new name */
	return -1;
}

/* Renames the sandbox for a client.  If the disk is full the old name is restored, so
 * that its files agree with the error that the client gets.  If another sandbox has
 * taken the old name meanwhile, the rename succeeds after all. */
int supervisor_rename(struct supervisor *s, const char *name, struct err *e)
{
	AUTO_FREE char *old = text_copy(s->entry->name);

	if (egress_policy_check_name(s->launch->policy, name, e) < 0)
		return -1;
	if (rename_all(s, name, e) < 0)
		return -1;
	AUTO_FREE char *info = supervisor_info(s);
	if (registry_set_info(s->entry, info, e) == 0)
		return 0;
	return rename_all(s, old, NULL) == 0 ? -1 : 0;
}

/* --- its end ---------------------------------------------------------------------- */

void supervisor_end(struct supervisor *s, const char *reason, int exit_code,
		    const char *limit, const struct err *e)
{
	if (!s->ending.reason) {
		s->ending = (struct ending){ .reason = reason, .exit_code = exit_code,
					     .limit = limit };
		if (!strcmp(reason, "stopped"))
			s->ending.exit_code = main_process_code(s);
		if (e)
			s->ending.error = *e;
	}
	instance_end(&s->instance);
}

/* Notes the reason when the instance has ended by itself.  supervisor_end() ignores it
 * if another reason was noted before. */
static void judge(struct supervisor *s)
{
	const struct instance *g = &s->instance;

	if (s->is_stopping)
		supervisor_end(s, "stopped", 0, NULL, NULL);
	else if (g->cause == INSTANCE_OUT_OF_MEMORY)
		supervisor_end(s, "oom", 137, "memory", &g->error);
	else if (g->cause == INSTANCE_DIED && WIFSIGNALED(g->status))
		supervisor_end(s, "killed", 128 + WTERMSIG(g->status), NULL, &g->error);
	else
		supervisor_end(s, "error", EXIT_HUTCH, NULL, &g->error);
}

static char *record_of(struct supervisor *s)
{
	struct ending *x = &s->ending;

	redact_err(&s->dispatcher.secrets, &x->error);
	bool has_error = x->error.kind != ERR_NONE;
	AUTO_FREE char *now = events_time(events_now());
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "reason", x->reason);
	json_write_number(&b, "exit_code", x->exit_code);
	json_write_text(&b, "limit", x->limit);
	json_write_text(&b, "message", has_error ? x->error.text : NULL);
	json_write_text(&b, "remedy", x->error.remedy[0] ? x->error.remedy : NULL);
	json_write_text(&b, "ended", now);
	json_write_close(&b, "}");
	return json_write_end(&b);
}

static void answer_mourners(struct supervisor *s)
{
	for (struct mourner *m = s->mourners, *next; m; m = next) {
		next = m->next;
		client_result(m->client, m->request, "{}");
		m->client->under_way--;
		free(m->request);
		free(m);
	}
	s->mourners = NULL;
}

/* --- the loop --------------------------------------------------------------------- */

/* Tells the outcome of the start to the process that waits for it, such as hutch
 * create. */
static void tell_ready(struct supervisor *s, const struct start_report *x)
{
	if (s->ready < 0)
		return;
	(void)io_write_all(s->ready, x, sizeof(*x)); /* on failure: the waiting process
						      * has ended */
	own_close(&s->ready);
}

static int take_frame(void *context, const struct frame *f, struct err *e)
{
	struct supervisor *s = context;

	if (f->type == MSG_PAUSED || f->type == MSG_FROZEN)
		return pause_frame(s, f, e);
	int taken = jobs_frame(&s->jobs, f, e);
	return taken != 0 ? taken : dispatcher_frame(&s->dispatcher, f, e);
}

/* Reports a refused system call as an event: the 1st, 10th, 100th and so on of each
 * kind of call, so that processes inside cannot displace other events. */
static void on_refused(void *context, const struct refused_call *c, pid_t session)
{
	struct supervisor *s = context;

	dispatcher_refused(&s->dispatcher, c, session, s->jobs.alive == 0);
	if (!refused_call_is_news(c))
		return;
	AUTO_FREE char *members = refused_call_members(c);
	supervisor_event(s, "refused", members);
	audit_refused_call(s->dispatcher.audit, c);
}

/* Reports a refused host as an event, as often as a refused call. */
static void on_egress_news(void *context, const struct egress_news *n, int64_t now)
{
	struct supervisor *s = context;
	const struct refused_host *host = launch_hear(s->launch, n, now);

	if (n->kind == EGRESS_NEWS_LOST)
		supervisor_event(s, "egress-lost", "");
	net_news(s, n);
	if (!host)
		return;
	dispatcher_refused_host(&s->dispatcher, host, s->jobs.alive == 0);
	if (!refused_host_is_news(host))
		return;
	AUTO_FREE char *members = refused_host_members(host);
	supervisor_event(s, "refused", members);
}

static void tell_plugin(void *context, const struct known_plugin *p)
{
	struct supervisor *s = context;
	struct buffer b;

	json_write_begin(&b);
	plugin_table_put(&b, p);
	AUTO_FREE char *members = json_write_end(&b);
	redact_json_text(&s->dispatcher.secrets, &members);
	supervisor_event(s, "plugin", members);
}

static void on_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->launch->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT ||
		    info.ssi_signo == SIGHUP || info.ssi_signo == SIGQUIT)
			supervisor_end(s, "stopped", 0, NULL, NULL);
}

static int64_t due(const struct supervisor *s)
{
	int64_t due = instance_due(&s->instance);

	if (!pause_is(s))
		due = clock_sooner(due, jobs_due(&s->jobs));
	due = clock_sooner(due, clocks_due(&s->clocks, is_idle(s)));
	due = clock_sooner(due, clock_sooner(s->deaf_ms, samples_due(s)));
	due = clock_sooner(due, clock_sooner(s->outputs.look_ms, s->pause.due_ms));
	if (pause_is(s))
		return due;
	return clock_sooner(due, clock_sooner(dispatcher_deadline(&s->dispatcher),
					      dispatcher_due(&s->dispatcher)));
}

/* How the sandbox ends when a clock has run out.  A row is no struct ending, whose error
 * takes a kibibyte: a start of the program writes the addresses in this table, and so
 * copies each page that the table takes. */
static const struct clock_end {
	const char *reason;
	int exit_code;
	const char *limit;
} ends[] = {
	[CLOCKS_START] = { .reason = "error", .exit_code = EXIT_HUTCH },
	[CLOCKS_STOP] = { .reason = "stopped" },
	[CLOCKS_TIMEOUT] = { .reason = "timeout",
			     .exit_code = EXIT_TIMED_OUT,
			     .limit = "timeout" },
	[CLOCKS_TTL] = { .reason = "timeout",
			 .exit_code = EXIT_TIMED_OUT,
			 .limit = "ttl" },
	[CLOCKS_IDLE] = { .reason = "idle", .limit = "idle-timeout" },
	[CLOCKS_RESTART] = { 0 },
};
_Static_assert(ARRAY_LEN(ends) == CLOCKS_COUNT, "an end has no row");

static void look_at_clocks(struct supervisor *s, int64_t now)
{
	const enum clocks_end why = clocks_look(&s->clocks, is_idle(s), now);
	const struct clock_end *x = &ends[why];
	struct err late;

	if (why == CLOCKS_RESTART)
		main_process_again(s);
	if (!x->reason)
		return;
	(void)err_set(&late, ERR_SYSTEM, "the sandbox was not ready after %d s",
		      CLOCKS_START_MS / 1000);
	supervisor_end(s, x->reason, x->exit_code, x->limit,
		       why == CLOCKS_START ? &late : NULL);
}

/* Ends everything whose deadline has passed by `now`, the time when poll(2) returned.
 * Messages of the executor that came later are still unread, so a later time would be
 * wrong. */
static void on_deadline(struct supervisor *s, int64_t now)
{
	struct err e;

	instance_expire(&s->instance, now);
	if (!pause_is(s))
		jobs_expire(&s->jobs, now);
	samples_tell(s);
	if (!pause_is(s) && clock_is_due(dispatcher_deadline(&s->dispatcher), now)) {
		(void)err_set(&e, ERR_PROTOCOL, "it did not answer in time");
		instance_broke_protocol(&s->instance, &e);
	}
	look_at_clocks(s, now);
}

static void send_requests(struct supervisor *s)
{
	while (!instance_is_over(&s->instance) && !s->is_stopping && !pause_is(s) &&
	       dispatcher_start(&s->dispatcher))
		instance_flush(&s->instance);
	supervisor_look_at_clock(s); /* writing to the audit log may have taken long */
	jobs_send(&s->jobs, s->now_ms);
	instance_flush(&s->instance);
}

void supervisor_ready(struct supervisor *s)
{
	const struct start_report ready = { 0 };

	if (s->status != REGISTRY_STARTED)
		return;
	supervisor_set_status(s, REGISTRY_READY);
	clocks_ready(&s->clocks, s->now_ms);
	tell_ready(s, &ready);
}

static void look_at_instance(struct supervisor *s)
{
	if (instance_is_over(&s->instance))
		judge(s);
	else if (s->instance.state == INSTANCE_READY && s->main.state == MAIN_NONE)
		supervisor_ready(s);
}

static void work(struct supervisor *s)
{
	bool has_more = true;

	s->has_left = false;
	while (has_more && !s->has_left) {
		has_more = instance_take(&s->instance);
		look_at_instance(
			s); /* before clients_work(), which tells the clients the
			     * result */
		pause_look(s);
		main_process_look(s);
		send_requests(s);
		has_more = clients_work(s) || has_more;
	}
}

/* The descriptors for which one turn of the loop waits. */
struct watch {
	struct pollfd fds[WATCH_CLIENTS + CLIENTS_MAX + OUTPUTS_POLLS];
	struct pollfd *pipes; /* the entries for processes' pipes, after those of the
			       * clients */
	size_t count;
};

static void watch_all(struct supervisor *s, struct watch *w)
{
	/* Connections to published ports get at most half of the free descriptors; the
	 * others are reserved for processes that clients start. */
	ports_allow(&s->launch->ports, outputs_left(s) / 2);
	instance_watch(&s->instance, w->fds + WATCH_INSTANCE);
	w->fds[WATCH_SIGNALS] =
		(struct pollfd){ .fd = s->launch->signals, .events = POLLIN };
	if (clock_is_due(s->deaf_ms, s->now_ms))
		s->deaf_ms = 0;
	w->fds[WATCH_LISTENER] = (struct pollfd){ .fd = s->deaf_ms ? -1 : s->listener,
						  .events = POLLIN };
	/* No event is asked for.  poll(2) reports POLLERR when the waiting process has
	 * ended. */
	w->fds[WATCH_READY] = (struct pollfd){ .fd = s->ready };
	pause_watch(&s->pause, w->fds + WATCH_PAUSE);
	clients_watch(s, w->fds + WATCH_CLIENTS);
	w->pipes = w->fds + WATCH_CLIENTS + s->client_count;
	w->count = WATCH_CLIENTS + s->client_count + outputs_watch(s, w->pipes);
}

static void serve_all(struct supervisor *s, struct watch *w)
{
	outputs_serve(s, w->pipes);
	instance_serve(&s->instance, w->fds + WATCH_INSTANCE, s->now_ms);
	clients_serve(s, w->fds + WATCH_CLIENTS);
	if (w->fds[WATCH_LISTENER].revents)
		clients_accept(s);
	if (w->fds[WATCH_SIGNALS].revents)
		on_signals(s);
	if (w->fds[WATCH_READY].revents)
		supervisor_end(s, "stopped", 0, NULL, NULL);
}

static void turn(struct supervisor *s)
{
	struct watch w;

	supervisor_look_at_clock(s);
	watch_all(s, &w);
	const int ready =
		poll(w.fds, w.count, s->has_left ? 0 : clock_wait(due(s), s->now_ms));
	supervisor_look_at_clock(s);
	const int64_t now = s->now_ms;
	if (ready < 0)
		return; /* EINTR: the process was stopped and continued by signals */
	serve_all(s, &w);
	if (!pause_is(s))
		dispatcher_expire(&s->dispatcher, now);
	work(s);
	on_deadline(s, now);
	look_at_instance(s);
}

/* --- its beginning ------------------------------------------------------------- */

/* Writes to the supervisor's log what the caller got on stderr, where it may have been
 * lost, and the result of the launch. */
static void tell_of_launch(struct supervisor *s)
{
	const struct launch *l = s->launch;
	const bool is_stored = l->policy->image == IMAGE_STORE;
	struct buffer b;

	json_write_begin(&b);
	json_write_text(&b, "version", HUTCH_VERSION);
	json_write_number(&b, "pid", l->sandbox.pid);
	json_write_text(&b, "image",
			is_stored ? l->store_image.name : l->policy->image_path);
	json_write_text(&b, "upper", l->upper.path);
	json_write_number(&b, "steps", (int64_t)l->plan.count);
	result_write_degraded(&b, l->degraded);
	AUTO_FREE char *fields = json_write_end(&b);
	supervisor_log_add(&s->supervisor_log,
			   l->degraded ? LOG_LEVEL_WARN : LOG_LEVEL_DEBUG, "launcher",
			   l->degraded	   ? "made, but not with all that was asked for"
			   : s->is_restart ? "started again"
					   : "made",
			   fields);
}

static void look_at_clock(void *context)
{
	supervisor_look_at_clock(context);
}

static void init(struct supervisor *s)
{
	dispatcher_init(&s->dispatcher);
	s->dispatcher.look_at_clock = look_at_clock;
	s->dispatcher.tell_plugin = tell_plugin;
	s->dispatcher.context = s;
	supervisor_look_at_clock(s);
	s->limits = s->launch->policy->limits;
	s->instance = (struct instance){ .context = s,
					 .take = take_frame,
					 .unprotected = pause_unprotected,
					 .refused = on_refused,
					 .egress_news = on_egress_news };
	dispatcher_attach(&s->dispatcher, s->launch, &s->instance);
	pause_init(&s->pause);
	net_init(&s->net, &s->launch->policy->egress);
	methods_init_jobs(s);
	outputs_init(s);
	peer_self_init(&s->self);
	listener_expect_shared(); /* sets a handler for port.add; later the seccomp
				   * filter forbids sigaction(2) */
	supervisor_log_init(&s->supervisor_log, s->entry, &s->dispatcher.secrets,
			    &s->now_ms);
	tell_of_launch(s);
	s->created = events_time(events_now());
	clocks_begin(&s->clocks, s->now_ms);
	if (!s->lease.is_waiting)
		clocks_run(&s->clocks, s->now_ms);
}

/* Collects the descriptors that a confined supervisor keeps: all but two, which only the
 * start needed.  Returns their number. */
static size_t keep_fds(const struct supervisor *s, int keep[FD_KEEP_MAX])
{
	const struct launch *l = s->launch;
	const int own[] = {
		s->ready,
		s->listener,
		l->signals,
		l->janitor.dismiss,
		l->upper.lock,
		l->etc.entry.lock,
		l->cow.folder,
		l->sandbox.pidfd,
		l->sandbox.channel,
		l->sandbox.failure,
		l->sandbox.fuse.pidfd,
		l->sandbox.fuse.words,
		l->sandbox.broker.socket,
		l->protect_watch.fd,
		l->cgroup.parent.fd,
		l->cgroup.folder,
		l->cgroup.cmds,
		l->cgroup.procs,
		s->entry->state,
		s->entry->folder,
		s->entry->alive,
		s->entry->lock,
		s->saved_spec ? s->saved_spec->folder : -1,
		s->lease.fd,
		s->outputs.log.folder,
		s->supervisor_log.log.folder,
		s->supervisor_log.log.now,
		l->store_image.lock,
		l->audit.ledger.folder,
		l->audit.ledger.file,
		l->egress.gate_control,
		l->egress.control,
		l->egress.space,
		l->peers.answer,
		l->peers.leash,
		l->peers.shared,
	};

	_Static_assert(ARRAY_LEN(own) + PORTS_FDS <= FD_KEEP_MAX,
		       "there are more to keep");
	memcpy(keep, own, sizeof(own));
	return ARRAY_LEN(own) + ports_fds(&l->ports, keep + ARRAY_LEN(own));
}

static int confine(struct supervisor *s, struct err *e)
{
	struct launch *l = s->launch;
	int keep[FD_KEEP_MAX];
	const size_t count = keep_fds(s, keep);
	const struct confine c = {
		.has_landlock = s->has_landlock,
		.child = l->sandbox.pid,
		.server = l->sandbox.fuse.pid,
		.broker = l->sandbox.broker.pid,
		.gate = l->egress.gate,
		.egress = l->egress.egress,
		.peers = l->peers.pid,
		.entry = s->entry,
		.saved_spec = s->saved_spec,
		.cgroup = &l->cgroup,
		.audit = l->audit.ledger.folder,
		.keep = keep,
		.keep_count = count,
	};

	program_done(&l->executor);
	root_fuse_overlayfs_done(&l->server);
	own_close(&l->cgroup.into);
	l->janitor.is_heir = true;
	return confine_enter(&c, e);
}

static int open_doors(struct supervisor *s, struct err *e)
{
	int procs = s->launch->cgroup.procs;

	if (procs >= 0 && channel_send_cgroup(&s->instance.channel, procs, e) < 0)
		return -1;
	s->has_landlock = confine_has_landlock(&s->self, s->instance.watched_memory > 0);
	AUTO_FREE char *info = supervisor_info(s);
	if (registry_set_info(s->entry, info, e) < 0)
		return -1;
	s->listener = registry_listen(s->entry, e);
	if (s->listener < 0)
		return -1;
	supervisor_set_status(s, REGISTRY_STARTED); /* from now on clients find the
						     * sandbox and can connect */
	if (confine(s, e) < 0)
		return -1;
	s->self.is_in_domain = s->has_landlock;
	lease_serve(s);
	return 0;
}

/* Closes files and releases locks of a kept sandbox.  This must happen before clients
 * learn of the end, since they may start the sandbox again at once.  The lock of the
 * upper layer is released explicitly, since the janitor has inherited the descriptor. */
static void let_go_of_files(struct supervisor *s)
{
	if (!s->saved_spec)
		return;
	if (s->launch->upper.lock >= 0)
		(void)state_dir_lock(s->launch->upper.lock, LOCK_UN);
	own_close(&s->saved_spec->folder);
}

/* Cleans up after the sandbox's end and tells every waiting client.  A client that does
 * not read is not waited for. */
static void finish(struct supervisor *s)
{
	AUTO_FREE char *record = record_of(s);
	AUTO_FREE char *members = text_format("\"record\":%s", record);
	const bool was_ready = s->ready < 0, leaves_nothing = !was_ready ||
							      s->lease.is_waiting ||
							      s->leaves_nothing;
	struct err e;

	if (!was_ready && s->ending.error.kind == ERR_NONE)
		(void)err_set(&s->ending.error, ERR_GONE,
			      "the sandbox was ended before it was "
			      "ready");
	if (!was_ready && s->saved_spec && !s->is_restart)
		/* The removal first renames the saved spec: if only deleting its files
		 * fails, no start finds it. */
		(void)saved_spec_remove(s->saved_spec, NULL);
	s->has_ended = true;
	dispatcher_end(&s->dispatcher, s->ending.error.kind != ERR_NONE
					       ? s->ending.error.text
					       : "the sandbox was ended");
	outputs_end(s);
	methods_end_jobs(s);
	net_end(s);
	if (s->ending.error.kind != ERR_NONE)
		supervisor_log_add_err(&s->supervisor_log, LOG_LEVEL_ERROR, "supervisor",
				       &s->ending.error);
	supervisor_event(s, "ended", members);
	records_finish(s);
	sandbox_done(&s->launch->sandbox);
	/* This comes before clients learn of the end, since they may look at the
	 * changed files then. */
	cow_done(&s->launch->cow);
	let_go_of_files(s);
	if (registry_end(s->entry, record,
			 leaves_nothing ? REGISTRY_REMOVE : REGISTRY_KEEP, &e) < 0) {
		supervisor_log_add_err(&s->supervisor_log, LOG_LEVEL_ERROR, "supervisor",
				       &e);
		supervisor_event(s, "error", "");
	}
	const struct start_report x = { s->ending.error, s->ending.exit_code };
	tell_ready(s, &x); /* after registry_end(), which makes the sandbox's name free
			    * again */
	outputs_end_logs(s);
	pause_done(&s->pause);
	answer_mourners(s);
	clients_part(s);
}

void supervisor_run(struct supervisor *s)
{
	struct err e;

	lean_heap(); /* before the filter, which refuses setrlimit(2) */
	init(s);
	if (open_doors(s, &e) < 0)
		supervisor_end(s, "error", EXIT_HUTCH, NULL, &e);
	arena_close(); /* the supervisor lives on: what it frees from now on is used
			* again */
	while (!instance_is_over(&s->instance))
		turn(s);
	judge(s);
	finish(s);
	own_close(&s->listener);
	if (s->lease.fd > 0)
		own_close(&s->lease.fd);
	jobs_done(&s->jobs);
	outputs_done(s);
	dispatcher_done(&s->dispatcher);
	instance_done(&s->instance);
	net_done(&s->net);
	events_done(&s->events);
	supervisor_log_done(&s->supervisor_log);
	peer_self_done(&s->self);
	free(s->created);
}

void supervisor_consumption(const struct supervisor *s, struct consumption *ret)
{
	if (s->launch->cgroup.procs >= 0)
		cgroup_consumption(&s->launch->cgroup, ret);
	else
		watchdog_consumption(s->launch->sandbox.pid, ret);
}

char *supervisor_stats(const struct supervisor *s)
{
	const struct limits *limits = &s->limits;
	bool has_cgroup = s->launch->cgroup.procs >= 0;
	struct consumption now;
	struct buffer b;

	supervisor_consumption(s, &now);
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_format(&b, "cpu_s", "%.6f", (double)now.cpu_us / 1e6);
	json_write_number(&b, "memory_bytes", (int64_t)now.memory);
	json_write_count(&b, "memory_limit", limits->memory);
	json_write_number(&b, "pids", (int64_t)now.pids);
	json_write_count(&b, "pids_limit", limits->pids);
	json_write_text(&b, "by", has_cgroup ? "cgroup" : "processes");
	json_write_close(&b, "}");
	return json_write_end(&b);
}

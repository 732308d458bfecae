#include "sandbox/control/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/quote.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "sandbox/cgroup.h"
#include "sandbox/control/rpc.h"
#include "sandbox/launch.h"

/* No more small requests while this much has not been sent. */
#define CHANNEL_BUSY (1u << 20)

/* How much longer than its grace an executor may take to end. */
#define STOP_MS 2000

/* What a method gets, and what it fills in when it fails. */
struct call {
	struct supervisor *s;
	struct client *client;
	struct rpc_request *request;
	struct wire_fds *fds;
	struct err *e;
};

/* The request is answered later, by whoever gets its id. */
static char *take_id(const struct call *call)
{
	char *id = call->request->id;

	call->request->id = text_copy("null");
	return id;
}

static int answer(const struct call *call, const char *result)
{
	client_result(call->client, call->request->id, result);
	return 0;
}

/* --- params ------------------------------------------------------------------ */

static int get_text(const struct call *call, const char *key, const char **ret)
{
	struct json_at at;

	if (!json_member(&call->request->params, key, &at))
		return 0;
	return json_string(&at, ret, call->e);
}

static int get_bool(const struct call *call, const char *key, bool *ret)
{
	struct json_at at;

	return json_member(&call->request->params, key, &at) ? json_bool(&at, ret, call->e) : 0;
}

static int get_uint(const struct call *call, const char *key, uint64_t max, uint64_t *ret)
{
	struct json_at at;

	if (!json_member(&call->request->params, key, &at))
		return 0;
	if (json_uint(&at, ret, call->e) < 0)
		return -1;
	if (*ret > max)
		return err_set(call->e, ERR_USAGE, "params.%s: more than %llu", key,
			       (unsigned long long)max);
	return 0;
}

/* Seconds, of which parts may be asked for; 0: none was given. */
static int get_seconds(const struct call *call, const char *key, uint64_t *ret_ms)
{
	struct json_at at;
	double seconds = 0;

	*ret_ms = 0;
	if (!json_member(&call->request->params, key, &at))
		return 0;
	if (json_number(&at, &seconds, call->e) < 0)
		return -1;
	if (!(seconds >= 0 && seconds <= 1e6))
		return err_set(call->e, ERR_USAGE, "params.%s: seconds from 0 to 1000000 were "
						   "expected", key);
	*ret_ms = seconds * 1000 < 1 ? 1 : (uint64_t)(seconds * 1000);
	return 0;
}

static int get_process(const struct call *call, struct job **ret)
{
	struct json_at at;
	uint64_t id;

	if (!json_member(&call->request->params, "process", &at)) {
		(void)err_set(call->e, ERR_USAGE, "params.process: missing");
		return RPC_PARAMS;
	}
	if (json_uint(&at, &id, call->e) < 0)
		return RPC_PARAMS;
	*ret = id <= UINT32_MAX ? jobs_find(&call->s->jobs, (uint32_t)id) : NULL;
	/* Before its start is answered nobody knows of it, and it may come to nothing. */
	if (*ret && ((*ret)->state == JOB_RUNNING || (*ret)->state == JOB_ENDED))
		return 0;
	(void)err_set(call->e, ERR_NOT_FOUND, "no process %llu", (unsigned long long)id);
	return RPC_FAILED;
}

/* --- the sandbox ------------------------------------------------------------ */

static int do_hello(const struct call *call)
{
	const struct supervisor *s = call->s;
	uint64_t protocol = 1;

	if (get_uint(call, "protocol", UINT32_MAX, &protocol) < 0)
		return RPC_PARAMS;
	if (protocol != 1) {
		(void)err_set(call->e, ERR_UNSUPPORTED, "this sandbox speaks protocol 1, not %llu",
			      (unsigned long long)protocol);
		(void)err_remedy(call->e, "it was started by hutch " HUTCH_VERSION);
		call->client->is_closing = true;
		return RPC_FAILED;
	}
	call->client->has_hello = true;
	AUTO_FREE char *text = text_format(
		"{\"protocol\":1,\"version\":\"" HUTCH_VERSION "\",\"name\":\"%s\",\"id\":\"%s\","
		"\"state\":\"%s\"}", s->entry->name, s->entry->id, registry_status_name(s->status));
	return answer(call, text);
}

static int do_info(const struct call *call)
{
	AUTO_FREE char *info = supervisor_info(call->s);

	return answer(call, info);
}

static int do_stats(const struct call *call)
{
	AUTO_FREE char *stats = supervisor_stats(call->s);

	return answer(call, stats);
}

static void mourn(const struct call *call)
{
	struct mourner *m = mem_zeroed(1, sizeof(*m));

	*m = (struct mourner){ .client = call->client, .request = take_id(call),
			       .next = call->s->mourners };
	call->s->mourners = m;
	call->client->under_way++;
}

static int do_stop(const struct call *call)
{
	struct supervisor *s = call->s;
	uint64_t grace_ms = 10000;
	struct json_at at;

	if (json_member(&call->request->params, "grace", &at) &&
	    get_seconds(call, "grace", &grace_ms) < 0)
		return RPC_PARAMS;
	mourn(call);
	s->is_stopping = true;
	s->stop_ms = clock_ms() + (int64_t)grace_ms + STOP_MS;
	if (s->status == REGISTRY_PAUSED && s->launch->cgroup.procs >= 0)
		(void)cgroup_freeze(&s->launch->cgroup, false, NULL); /* else: killed in the end */
	supervisor_set_status(s, REGISTRY_STOPPING);
	if (channel_send_stop(&s->guest.channel, (uint32_t)grace_ms, call->e) < 0)
		guest_broke_protocol(&s->guest, call->e);
	return 0;
}

static int do_kill(const struct call *call)
{
	mourn(call);
	supervisor_end(call->s, "killed", 137, NULL, NULL);
	return 0;
}

static int busy(const struct call *call)
{
	if (!call->s->is_stopping && call->s->status != REGISTRY_PAUSED)
		return 0;
	return err_set(call->e, ERR_BUSY, "the sandbox is %s",
		       call->s->is_stopping ? "stopping" : "paused");
}

/* With a cgroup the kernel does it, and nobody inside can tell; without one pid 1
 * sends signals. */
static int set_paused(const struct call *call, bool is_paused)
{
	struct supervisor *s = call->s;
	bool has_cgroup = s->launch->cgroup.procs >= 0;

	if (has_cgroup && cgroup_freeze(&s->launch->cgroup, is_paused, call->e) < 0)
		return RPC_FAILED;
	if (!has_cgroup && channel_send_signal(&s->guest.channel, 0,
					       is_paused ? SIGSTOP : SIGCONT, call->e) < 0)
		guest_broke_protocol(&s->guest, call->e);
	if (is_paused) {
		s->paused_ms = clock_ms();
	} else {
		desk_postpone(&s->desk, clock_ms() - s->paused_ms);
		jobs_postpone(&s->jobs, clock_ms() - s->paused_ms);
	}
	supervisor_set_status(s, is_paused ? REGISTRY_PAUSED : REGISTRY_READY);
	return answer(call, has_cgroup ? "{\"by\":\"cgroup\"}" : "{\"by\":\"signals\"}");
}

static int do_pause(const struct call *call)
{
	if (call->s->is_stopping) {
		(void)err_set(call->e, ERR_BUSY, "the sandbox is stopping");
		return RPC_FAILED;
	}
	if (call->s->status != REGISTRY_PAUSED)
		return set_paused(call, true);
	(void)err_set(call->e, ERR_USAGE, "the sandbox is paused already");
	return RPC_FAILED;
}

static int do_unpause(const struct call *call)
{
	if (call->s->status == REGISTRY_PAUSED)
		return set_paused(call, false);
	(void)err_set(call->e, ERR_USAGE, "the sandbox is not paused");
	return RPC_FAILED;
}

static int do_rename(const struct call *call)
{
	const char *name = NULL;

	if (get_text(call, "name", &name) < 0)
		return RPC_PARAMS;
	if (!name) {
		(void)err_set(call->e, ERR_USAGE, "params.name: missing");
		return RPC_PARAMS;
	}
	if (registry_rename(call->s->entry, name, call->e) < 0)
		return RPC_FAILED;
	AUTO_FREE char *info = supervisor_info(call->s);
	if (registry_set_info(call->s->entry, info, call->e) < 0)
		return RPC_FAILED;
	return answer(call, "{}");
}

static int do_subscribe(const struct call *call)
{
	struct client *c = call->client;
	uint64_t since = call->s->events.next;

	if (get_uint(call, "since", 1ull << 53, &since) < 0)
		return RPC_PARAMS;
	c->has_events = true;
	c->next_event = since < call->s->events.next ? since : call->s->events.next;
	AUTO_FREE char *next = text_format("{\"next\":%llu}",
					   (unsigned long long)call->s->events.next);
	return answer(call, next);
}

/* --- processes ---------------------------------------------------------------- */

static int get_argv(const struct call *call, struct job *j)
{
	struct json_at list, item = { 0 };
	const char *word;

	if (!json_member(&call->request->params, "argv", &list))
		return err_set(call->e, ERR_USAGE, "params.argv: missing");
	if (json_expect(&list, JSON_ARRAY, call->e) < 0)
		return -1;
	while (json_step(&list, &item)) {
		if (json_string(&item, &word, call->e) < 0)
			return -1;
		list_add(&j->argv, word);
	}
	return j->argv.count ? 0 : err_set(call->e, ERR_USAGE, "params.argv: empty");
}

/* `count` variables are the sandbox's own.  Those of the request differ from each
 * other, so only these are looked through: a request may have a hundred thousand. */
static void set_env(struct list *env, size_t count, const char *key, const char *value)
{
	const struct list own = { .items = env->items, .count = count }; /* a view */
	AUTO_FREE char *word = text_format("%s=%s", key, value);

	if (list_get_env(&own, key))
		list_set_env(env, word);
	else
		list_add(env, word);
}

/* As -u of hutch run: a name or number that the id map has. */
static int get_user(const struct call *call, struct job *j)
{
	struct policy p = *call->s->launch->policy; /* a view: nothing is added to it */
	const char *user = NULL;
	AUTO_FREE char *copy = NULL;

	if (get_text(call, "user", &user) < 0)
		return -1;
	if (!user)
		return 0;
	p.user = copy = text_copy(user);
	if (policy_check(&p, call->e) < 0)
		return -1;
	return policy_user(&p, &j->exec.uid, &j->exec.gid, call->e);
}

static int get_env(const struct call *call, struct job *j)
{
	const struct plan *plan = &call->s->launch->plan;
	struct json_at env, item = { 0 };
	const char *key, *value;

	if (j->exec.uid == plan->uid) {
		for (size_t i = 0; i < plan->env.count; i++)
			list_add(&j->env, plan->env.items[i]);
	} else {
		const char *shell = list_get_env(&plan->env, "SHELL");
		const char *zone = list_get_env(&plan->env, "TZ");
		environment_build(call->s->launch->policy, j->exec.uid, shell ? shell : "/bin/sh",
				  zone ? zone : "UTC", &j->env);
	}
	if (j->has_terminal && !list_get_env(&j->env, "TERM"))
		list_add(&j->env, "TERM=xterm-256color");
	const size_t own = j->env.count;
	if (!json_member(&call->request->params, "env", &env))
		return 0;
	if (json_expect(&env, JSON_OBJECT, call->e) < 0)
		return -1;
	while (json_step_key(&env, &item, &key)) {
		if (json_string(&item, &value, call->e) < 0)
			return -1;
		if (!*key || strchr(key, '='))
			return err_set(call->e, ERR_USAGE, "params.env: '%.100s' is no name", key);
		set_env(&j->env, own, key, value);
	}
	return 0;
}

static int get_place(const struct call *call, struct job *j)
{
	const char *cwd = j->exec.cwd;
	uint64_t rows = 24, cols = 80;

	if (get_text(call, "cwd", &cwd) < 0 || get_uint(call, "rows", 65535, &rows) < 0 ||
	    get_uint(call, "cols", 65535, &cols) < 0)
		return -1;
	if (cwd[0] != '/')
		return err_set(call->e, ERR_USAGE, "params.cwd: not an absolute path");
	j->cwd = text_copy(cwd);
	j->exec.cwd = j->cwd;
	j->exec.rows = (uint32_t)rows;
	j->exec.cols = (uint32_t)cols;
	return 0;
}

static int get_job(const struct call *call, struct job *j)
{
	j->exec = launch_command(call->s->launch);
	if (get_argv(call, j) < 0 || get_bool(call, "tty", &j->has_terminal) < 0 ||
	    get_bool(call, "detach", &j->is_detached) < 0 ||
	    get_seconds(call, "timeout", &j->timeout_ms) < 0 || get_user(call, j) < 0 ||
	    get_env(call, j) < 0 || get_place(call, j) < 0)
		return -1;
	j->exec.argv = j->argv.items;
	j->exec.env = j->env.items;
	j->exec.flags = j->has_terminal ? EXEC_PTY : 0;
	return 0;
}

static int check_fds(const struct call *call, bool *ret_has_stdin)
{
	unsigned count = call->fds->count;

	*ret_has_stdin = false;
	if (count != 0 && count != WIRE_FDS)
		return err_set(call->e, ERR_USAGE, "three descriptors were expected, or none");
	if (get_bool(call, "stdin", ret_has_stdin) < 0)
		return -1;
	if (count != 0 && *ret_has_stdin)
		return err_set(call->e, ERR_USAGE, "params.stdin: the descriptors have one");
	return 0;
}

/* The client's, or else pipes of ours. */
static int take_fds(const struct call *call, struct job *j, bool has_stdin)
{
	if (outputs_reserve(call->s, call->e) < 0)
		return -1;
	if (call->fds->count) {
		j->fds = *call->fds;
		*call->fds = (struct wire_fds){ 0 };
		return 0;
	}
	j->capture = capture_new(has_stdin, j->has_terminal, &j->fds, call->e);
	return j->capture ? 0 : -1;
}

static int do_start(const struct call *call)
{
	struct supervisor *s = call->s;
	struct job *j;
	bool has_stdin;

	if (busy(call) < 0)
		return RPC_FAILED;
	j = mem_zeroed(1, sizeof(*j));
	if (get_job(call, j) < 0 || check_fds(call, &has_stdin) < 0) {
		job_free(j);
		return RPC_PARAMS;
	}
	if (take_fds(call, j, has_stdin) < 0) {
		job_free(j);
		return RPC_FAILED;
	}
	j->id = queue_new_id(&s->desk.queue);
	while (jobs_find(&s->jobs, j->id))
		j->id = queue_new_id(&s->desk.queue);
	j->owner = call->client;
	j->begun_ms = events_now();
	if (jobs_add(&s->jobs, j, call->e) < 0) {
		job_free(j);
		return RPC_FAILED;
	}
	if (j->capture)
		outputs_view(call->client, j);
	j->request = take_id(call);
	call->client->under_way++;
	jobs_send(&s->jobs);
	return 0;
}

static char *exit_members(const struct job *j)
{
	const struct exited *x = &j->exited;
	int code = x->is_signaled ? 128 + (int)x->status : (int)x->status;
	AUTO_FREE char *signal = x->is_signaled ? text_format("%u", x->status)
						: text_copy("null");

	return text_format("\"process\":%u,\"exit_code\":%d,\"signal\":%s,\"timed_out\":%s,"
			   "\"user_s\":%.6f,\"sys_s\":%.6f", j->id, code, signal,
			   j->has_timed_out ? "true" : "false", (double)x->user_us / 1e6,
			   (double)x->sys_us / 1e6);
}

static void on_started(void *who, struct job *j)
{
	struct supervisor *s = who;
	AUTO_FREE char *program = quote_json(j->argv.items[0]);
	AUTO_FREE char *result = text_format("{\"process\":%u,\"pid\":%u}", j->id, j->pid);
	AUTO_FREE char *more = text_format("\"process\":%u,\"pid\":%u,\"program\":%s", j->id,
					   j->pid, program);

	supervisor_event(s, "started", more);
	if (!j->owner)
		return;
	client_result(j->owner, j->request, result);
	j->owner->under_way--;
}

/* 126: found but not run, 127: not found, as shells say it. */
static int exit_code_for(const struct failed *f)
{
	if (f->stage == EXEC_STAGE_EXECVE)
		return 126;
	if (f->stage != EXEC_STAGE_LOOKUP)
		return 125;
	return f->sys == EACCES ? 126 : 127;
}

static void on_failed(void *who, struct job *j, const struct failed *f)
{
	bool is_folder = f->stage == EXEC_STAGE_CWD;
	struct err e;

	(void)who;
	if (!j->owner)
		return;
	errno = (int)f->sys;
	(void)err_sys(&e, "%s: %.200s", exec_stage_name(f->stage),
		      is_folder ? j->exec.cwd : j->argv.items[0]);
	rpc_put_not_started(&j->owner->wire.out, j->request, exit_code_for(f), &e);
	j->owner->under_way--;
}

static void on_ended(void *who, struct job *j)
{
	AUTO_FREE char *more = exit_members(j);
	struct supervisor *s = who;

	outputs_exited(s, j);
	j->exit_event = s->events.next;
	supervisor_event(s, "exited", more);
	j->owes_event = j->owner != NULL;
	s->jobs.owed += j->owes_event;
}

static bool may_tell(void *who, const struct client *c, const struct job *j)
{
	(void)who;
	return !outputs_is_behind(c, j);
}

static void on_gone(void *who, struct job *j)
{
	struct supervisor *s = who;

	outputs_forget(s, j);
	if (!j->owes_event)
		return;
	client_exited(s, j->owner, j);
	s->jobs.owed--;
}

static void on_waited(void *who, const struct waiter *w, const struct job *j)
{
	AUTO_FREE char *members = exit_members(j);
	AUTO_FREE char *result = text_format("{%s}", members);

	(void)who;
	client_result(w->client, w->request, result);
	w->client->under_way--;
}

void methods_init_jobs(struct supervisor *s)
{
	s->jobs = (struct jobs){ .guest = &s->guest, .who = s, .on_started = on_started,
				 .on_failed = on_failed, .on_ended = on_ended,
				 .on_waited = on_waited, .may_tell = may_tell,
				 .on_gone = on_gone };
}

void methods_end_jobs(struct supervisor *s)
{
	struct err e;

	(void)err_set(&e, ERR_GONE, "the sandbox has ended");
	for (struct job *j = s->jobs.first; j; j = j->next)
		if (j->owner && (j->state == JOB_WAITING || j->state == JOB_ASKED))
			client_error(j->owner, j->request, RPC_FAILED, &e);
	for (struct waiter *w = s->jobs.waiters; w; w = w->next)
		client_error(w->client, w->request, RPC_FAILED, &e);
}

static int do_wait(const struct call *call)
{
	struct job *j;
	int code = get_process(call, &j);

	if (code != 0)
		return code;
	call->client->under_way++;
	return jobs_wait(&call->s->jobs, j->id, call->client, take_id(call), call->e);
}

/* "TERM", "SIGTERM" or 15. */
static int get_signal(const struct json_at *at, uint64_t *ret, struct err *e)
{
	static const struct {
		const char *name;
		int signo;
	} names[] = {
		{ "HUP", SIGHUP },   { "INT", SIGINT },	  { "QUIT", SIGQUIT }, { "KILL", SIGKILL },
		{ "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "PIPE", SIGPIPE }, { "ALRM", SIGALRM },
		{ "TERM", SIGTERM }, { "CHLD", SIGCHLD }, { "CONT", SIGCONT }, { "STOP", SIGSTOP },
		{ "TSTP", SIGTSTP }, { "TTIN", SIGTTIN }, { "TTOU", SIGTTOU }, { "WINCH", SIGWINCH },
		{ "ABRT", SIGABRT }, { "SEGV", SIGSEGV },
	};
	const char *name;

	if (json_type(at) == JSON_NUMBER) {
		if (json_uint(at, ret, e) < 0)
			return -1;
		return *ret >= 1 && *ret <= 64 ? 0 : err_set(e, ERR_USAGE, "params.signal: a number "
								"from 1 to 64 was expected");
	}
	if (json_string(at, &name, e) < 0)
		return -1;
	const char *bare = strncmp(name, "SIG", 3) ? name : name + 3;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i].name, bare)) {
			*ret = (uint64_t)names[i].signo;
			return 0;
		}
	return err_set(e, ERR_USAGE, "params.signal: there is no signal '%.20s'", name);
}

/* What is small is sent beside everything else, and could fill the channel if nobody
 * counted. */
static bool is_flooded(const struct call *call)
{
	if (buffer_len(&call->s->guest.channel.out) <= CHANNEL_BUSY)
		return false;
	(void)err_set(call->e, ERR_BUSY, "more has been asked for than the sandbox takes now");
	return true;
}

static int do_signal(const struct call *call)
{
	struct guest *g = &call->s->guest;
	struct json_at at;
	struct job *j;
	int code = get_process(call, &j);
	uint64_t signo = 0;

	if (code != 0)
		return code;
	if (!json_member(&call->request->params, "signal", &at)) {
		(void)err_set(call->e, ERR_USAGE, "params.signal: missing");
		return RPC_PARAMS;
	}
	if (get_signal(&at, &signo, call->e) < 0)
		return RPC_PARAMS;
	if (is_flooded(call))
		return RPC_FAILED;
	if (j->state == JOB_RUNNING &&
	    channel_send_signal(&g->channel, j->id, (uint32_t)signo, call->e) < 0)
		guest_broke_protocol(g, call->e);
	return answer(call, "{}");
}

static int do_resize(const struct call *call)
{
	struct guest *g = &call->s->guest;
	struct job *j;
	int code = get_process(call, &j);
	uint64_t rows = 24, cols = 80;

	if (code != 0)
		return code;
	if (get_uint(call, "rows", 65535, &rows) < 0 || get_uint(call, "cols", 65535, &cols) < 0)
		return RPC_PARAMS;
	if (is_flooded(call))
		return RPC_FAILED;
	if (j->state == JOB_RUNNING && j->has_terminal &&
	    channel_send_resize(&g->channel, j->id, (uint32_t)rows, (uint32_t)cols, call->e) < 0)
		guest_broke_protocol(g, call->e);
	return answer(call, "{}");
}

static int do_attach(const struct call *call)
{
	struct job *j;
	int code = get_process(call, &j);
	AUTO_FREE char *result = NULL;

	if (code != 0)
		return code;
	if (outputs_attach(call->client, j, &result, call->e) < 0)
		return RPC_FAILED;
	return answer(call, result);
}

/* What is to be written, allocated: the one of the two params that is there. */
static int get_bytes(const struct call *call, struct bytes *ret, uint8_t **ret_owned)
{
	const char *data = NULL, *text = NULL;

	if (get_text(call, "data", &data) < 0 || get_text(call, "base64", &text) < 0)
		return -1;
	if (data && text)
		return err_set(call->e, ERR_USAGE, "params.base64: beside params.data");
	*ret = (struct bytes){ (const uint8_t *)data, data ? strlen(data) : 0 };
	if (!text)
		return 0;
	*ret_owned = mem_new(strlen(text) / 4 * 3);
	if (!base64_decode(text, strlen(text), *ret_owned, &ret->len))
		return err_set(call->e, ERR_USAGE, "params.base64: not base64 (RFC 4648, with "
						   "padding and without line ends)");
	ret->data = *ret_owned;
	return 0;
}

static int do_write(const struct call *call)
{
	struct job *j;
	int code = get_process(call, &j);
	AUTO_FREE uint8_t *owned = NULL;
	AUTO_FREE char *id = NULL;
	struct bytes bytes;
	bool has_eof = false;

	if (code != 0)
		return code;
	if (get_bytes(call, &bytes, &owned) < 0 || get_bool(call, "eof", &has_eof) < 0)
		return RPC_PARAMS;
	id = text_copy(call->request->id);
	int taken = outputs_write(j, call->client, bytes, has_eof, &id, call->e);
	if (taken < 0)
		return RPC_FAILED;
	return taken ? answer(call, "{}") : 0;
}

static int do_logs(const struct call *call)
{
	uint64_t tail = UINT64_MAX;
	bool follows = false;

	if (get_bool(call, "follow", &follows) < 0 ||
	    get_uint(call, "tail", 1ull << 53, &tail) < 0)
		return RPC_PARAMS;
	outputs_logs(call->s, call->client, take_id(call), follows, tail);
	return 0;
}

/* Grows *list by one object. */
static void add_job(char **list, const struct job *j)
{
	AUTO_FREE char *program = quote_json(j->argv.items[0]);
	AUTO_FREE char *started = events_time(j->begun_ms);
	const struct exited *x = &j->exited;
	AUTO_FREE char *code = j->state != JOB_ENDED ? text_copy("null")
		: text_format("%d", x->is_signaled ? 128 + (int)x->status : (int)x->status);
	char *longer = text_format("%s%s{\"process\":%u,\"pid\":%u,\"program\":%s,\"tty\":%s,"
				   "\"started\":\"%s\",\"state\":\"%s\",\"exit_code\":%s,"
				   "\"detached\":%s}", *list, **list ? "," : "", j->id, j->pid,
				   program, j->has_terminal ? "true" : "false", started,
				   j->state == JOB_ENDED ? "exited" : "running", code,
				   j->is_detached ? "true" : "false");

	free(*list);
	*list = longer;
}

static int do_list(const struct call *call)
{
	AUTO_FREE char *list = text_copy("");

	for (const struct job *j = call->s->jobs.first; j; j = j->next)
		if (j->state == JOB_RUNNING || j->state == JOB_ENDED)
			add_job(&list, j);
	AUTO_FREE char *result = text_format("[%s]", list);
	return answer(call, result);
}

/* --- actions -------------------------------------------------------------------- */

static int do_act_stream(const struct call *call)
{
	struct client *c = call->client;

	if (get_bool(call, "stream", &c->desk.streams) < 0)
		return RPC_PARAMS;
	c->is_stream = true;
	c->desk.is_rpc = false;
	return answer(call, "{}");
}

static int do_cancel(const struct call *call)
{
	struct json_at at;
	uint64_t id = 0;

	if (!json_member(&call->request->params, "id", &at)) {
		(void)err_set(call->e, ERR_USAGE, "params.id: missing");
		return RPC_PARAMS;
	}
	if (json_uint(&at, &id, call->e) < 0)
		return RPC_PARAMS;
	if (desk_cancel(&call->s->desk, &call->client->desk, id))
		return answer(call, "{}");
	(void)err_set(call->e, ERR_NOT_FOUND, "no action %llu is under way",
		      (unsigned long long)id);
	return RPC_FAILED;
}

/* The desk takes an action as its text, by which it also knows a repeat. */
static int do_act(const struct call *call)
{
	struct json_at action;
	bool streams = false;

	if (busy(call) < 0)
		return RPC_FAILED;
	if (get_bool(call, "stream", &streams) < 0)
		return RPC_PARAMS;
	if (!json_member(&call->request->params, "action", &action)) {
		(void)err_set(call->e, ERR_USAGE, "params.action: missing");
		return RPC_PARAMS;
	}
	if (json_expect(&action, JSON_OBJECT, call->e) < 0)
		return RPC_PARAMS;
	if (desk_is_full(&call->s->desk)) {
		(void)err_set(call->e, ERR_LIMIT, "too many actions wait, of all clients");
		return RPC_FAILED;
	}
	AUTO_FREE char *line = json_text(&action);
	call->client->desk.streams = call->client->desk.streams || streams;
	desk_request(&call->s->desk, &call->client->desk, take_id(call), line, strlen(line));
	return 0;
}

/* Of versions to come. */
static int do_later(const struct call *call)
{
	(void)err_set(call->e, ERR_UNSUPPORTED, "%.60s is not in this version",
		      call->request->method);
	return RPC_FAILED;
}

/* --- the table -------------------------------------------------------------------- */

static const char *const no_keys[] = { NULL };
static const char *const hello_keys[] = { "protocol", NULL };
static const char *const stop_keys[] = { "grace", NULL };
static const char *const rename_keys[] = { "name", NULL };
static const char *const since_keys[] = { "since", NULL };
static const char *const start_keys[] = { "argv", "env", "cwd", "user", "tty", "rows", "cols",
					  "stdin", "timeout", "detach", NULL };
static const char *const process_keys[] = { "process", NULL };
static const char *const signal_keys[] = { "process", "signal", NULL };
static const char *const resize_keys[] = { "process", "rows", "cols", NULL };
static const char *const write_keys[] = { "process", "data", "base64", "eof", NULL };
static const char *const logs_keys[] = { "follow", "tail", NULL };
static const char *const act_keys[] = { "action", "stream", NULL };
static const char *const stream_keys[] = { "stream", NULL };
static const char *const cancel_keys[] = { "id", NULL };

static const struct method {
	const char *name;
	int (*call)(const struct call *call);
	const char *const *keys; /* NULL: any */
	bool takes_fds;
} methods[] = {
	{ "hello", do_hello, hello_keys, false },
	{ "info", do_info, no_keys, false },
	{ "stats", do_stats, no_keys, false },
	{ "stop", do_stop, stop_keys, false },
	{ "kill", do_kill, no_keys, false },
	{ "pause", do_pause, no_keys, false },
	{ "unpause", do_unpause, no_keys, false },
	{ "rename", do_rename, rename_keys, false },
	{ "events.subscribe", do_subscribe, since_keys, false },
	{ "exec.start", do_start, start_keys, true },
	{ "exec.wait", do_wait, process_keys, false },
	{ "exec.signal", do_signal, signal_keys, false },
	{ "exec.resize", do_resize, resize_keys, false },
	{ "exec.list", do_list, no_keys, false },
	{ "act", do_act, act_keys, false },
	{ "act.stream", do_act_stream, stream_keys, false },
	{ "cancel", do_cancel, cancel_keys, false },
	{ "exec.attach", do_attach, process_keys, false },
	{ "exec.write", do_write, write_keys, false },
	{ "logs", do_logs, logs_keys, false },
	{ "update", do_later, NULL, false },
	{ "copy.in", do_later, NULL, true },
	{ "copy.out", do_later, NULL, true },
	{ "port.add", do_later, NULL, false },
	{ "port.remove", do_later, NULL, false },
	{ "port.list", do_later, NULL, false },
	{ "diff", do_later, NULL, false },
	{ "apply", do_later, NULL, false },
	{ "discard", do_later, NULL, false },
	{ "snapshot", do_later, NULL, false },
};

static const struct method *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (!strcmp(methods[i].name, name))
			return &methods[i];
	return NULL;
}

int methods_call(struct supervisor *s, struct client *c, struct rpc_request *r,
		 struct wire_fds *fds, struct err *e)
{
	const struct call call = { s, c, r, fds, e };
	const struct method *m = find(r->method);

	if (!m) {
		(void)err_set(e, ERR_USAGE, "there is no method '%.60s'", r->method);
		return RPC_METHOD;
	}
	if (!c->has_hello && m->call != do_hello) {
		(void)err_set(e, ERR_USAGE, "the first request is 'hello'");
		return RPC_REQUEST;
	}
	if (fds->count && !m->takes_fds) {
		(void)err_set(e, ERR_USAGE, "%s takes no descriptors", m->name);
		return RPC_PARAMS;
	}
	if (m->keys && r->params.value && json_only(&r->params, m->keys, e) < 0)
		return RPC_PARAMS;
	return m->call(&call);
}

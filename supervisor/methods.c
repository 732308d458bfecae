#include "supervisor/methods.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "sandbox/state/saved_spec.h"
#include "supervisor/records.h"
#include "supervisor/request.h"
#include "supervisor/supervisor.h"

/* --- the sandbox ------------------------------------------------------------ */

static int do_hello(const struct request *call)
{
	const struct supervisor *s = call->s;
	uint64_t protocol = 1;

	if (request_uint(call, "protocol", UINT32_MAX, &protocol) < 0)
		return RPC_PARAMS;
	if (protocol != 1) {
		(void)err_set(call->e, ERR_UNSUPPORTED,
			      "this sandbox speaks protocol 1, not %llu",
			      (unsigned long long)protocol);
		(void)err_remedy(call->e, "it was started by hutch " HUTCH_VERSION);
		call->client->is_closing = true;
		return RPC_FAILED;
	}
	call->client->has_hello = true;
	lease_take(call->s, call->client);
	call->client->early = *call->fds;
	*call->fds = (struct connection_fds){ 0 };
	AUTO_FREE char *text = text_format("{\"protocol\":1,\"version\":\"" HUTCH_VERSION
					   "\",\"name\":\"%s\",\"id\":\"%s\","
					   "\"state\":\"%s\"}",
					   s->entry->name, s->entry->id,
					   registry_status_name(s->status));
	return request_answer(call, text);
}

static int do_info(const struct request *call)
{
	AUTO_FREE char *info = supervisor_info(call->s);
	const size_t end = strlen(info) - 1; /* the copy of the info in the registry has
					      * no member "lease", so it is added here */
	AUTO_FREE char *all = text_format("%.*s,\"lease\":%s}", (int)end, info,
					  lease_state(&call->s->lease));

	return request_answer(call, all);
}

static int do_stats(const struct request *call)
{
	AUTO_FREE char *stats = supervisor_stats(call->s);

	return request_answer(call, stats);
}

static void mourn(const struct request *call)
{
	struct mourner *m = mem_zeroed(1, sizeof(*m));

	*m = (struct mourner){ .client = call->client, .request = request_take_id(call),
			       .next = call->s->mourners };
	call->s->mourners = m;
	call->client->under_way++;
}

static int do_stop(const struct request *call)
{
	struct supervisor *s = call->s;
	uint64_t grace_ms = s->main.state != MAIN_NONE ? s->main.stop_ms : MAIN_STOP_MS;
	struct json_at at;

	if (json_member(&call->request->params, "grace", &at) &&
	    request_seconds(call, "grace", &grace_ms) < 0)
		return RPC_PARAMS;
	mourn(call);
	if (s->pause.lost.kind != ERR_NONE) {
		/* The processes were stopped because a protected file was replaced.
		 * They are killed without a grace, in which they could still write to
		 * it. */
		supervisor_end(s, "stopped", 0, NULL, NULL);
		return 0;
	}
	s->is_stopping = s->jobs.is_closed = true;
	ports_close(&s->launch->ports);
	if (s->main.state != MAIN_NONE)
		main_process_stop(s, grace_ms);
	pause_end(s);
	supervisor_set_status(s, REGISTRY_STOPPING);
	if (s->main.state != MAIN_NONE)
		return 0;
	clocks_stop(&s->clocks, grace_ms, s->now_ms);
	if (channel_send_stop(&s->instance.channel, (uint32_t)grace_ms, call->e) < 0)
		instance_broke_protocol(&s->instance, call->e);
	return 0;
}

static int do_kill(const struct request *call)
{
	mourn(call);
	supervisor_end(call->s, "killed", 137, NULL, NULL);
	return 0;
}

/* The method `pause`; it is answered when all processes have stopped. */
static int do_pause(const struct request *call)
{
	if (pause_pause(call->s, call->client, call->request->id, call->e) < 0)
		return RPC_FAILED;
	if (call->s->pause.pauser.request == call->request->id)
		(void)request_take_id(call);
	else
		(void)request_answer(call, pause_by(call->s));
	pause_look(call->s);
	return 0;
}

static int do_unpause(const struct request *call)
{
	bool is_forced = false;

	if (request_bool(call, "force", &is_forced) < 0)
		return RPC_PARAMS;
	return pause_unpause(call->s, is_forced, call->e) < 0
		       ? RPC_FAILED
		       : request_answer(call, pause_by(call->s));
}

/* --- what was written to the root ------------------------------------------------- */

static void say_not_over(const struct request *call)
{
	if (call->s->launch->degraded & DEGRADED_IMAGE) {
		bool is_served = call->s->launch->plan.steps[0].is_served;
		(void)err_set(call->e, ERR_UNSUPPORTED,
			      "the root of this sandbox is %s, since "
			      "there is no overlayfs here: nothing tells "
			      "what was written to it",
			      is_served ? "served by fuse-overlayfs"
					: "a copy of the image");
		(void)err_remedy(call->e,
				 "hutch doctor says how to get overlayfs; hutch cp takes "
				 "files out");
		return;
	}
	(void)err_set(call->e, ERR_UNSUPPORTED,
		      "the root of this sandbox is not written over an image, so it "
		      "has no changes that could be listed or kept");
	(void)err_remedy(
		call->e,
		"hutch create --image REF has one; and --workspace DIR:cow keeps "
		"what is changed in a folder");
}

/* Takes the socket that must come with the request as its only descriptor. */
static int take_socket(const struct request *call, int *ret)
{
	if (call->fds->count != 1) {
		(void)err_set(call->e, ERR_USAGE, "%s takes one descriptor, a socket",
			      call->request->method);
		return RPC_PARAMS;
	}
	if (call->s->launch->sandbox.upper < 0) {
		say_not_over(call);
		return RPC_FAILED;
	}
	*ret = fd_take(&call->fds->fds[0]);
	call->fds->count = 0;
	return 0;
}

static int do_diff(const struct request *call)
{
	AUTO_FREE char *over = pause_over(call->s);
	AUTO_CLOSE int to = -1;
	int code = take_socket(call, &to);

	if (code != 0)
		return code;
	return pause_give(call->s, to, call->e) < 0 ? RPC_FAILED
						    : request_answer(call, over);
}

static int do_snapshot(const struct request *call)
{
	AUTO_CLOSE int to = -1;
	int code = take_socket(call, &to);

	if (code != 0)
		return code;
	if (pause_begin(call->s, call->client, call->request->id, to, call->e) < 0)
		return RPC_FAILED;
	to = -1; /* pause_begin() owns the socket and the id now */
	(void)request_take_id(call);
	pause_look(call->s);
	return 0;
}

static int do_rename(const struct request *call)
{
	const char *name = NULL;

	if (request_text(call, "name", &name) < 0)
		return RPC_PARAMS;
	if (!name) {
		(void)err_set(call->e, ERR_USAGE, "params.name: missing");
		return RPC_PARAMS;
	}
	if (supervisor_rename(call->s, name, call->e) < 0)
		return RPC_FAILED;
	return request_answer(call, "{}");
}

static int do_subscribe(const struct request *call)
{
	struct client *c = call->client;
	uint64_t since = call->s->events.next;

	if (request_uint(call, "since", 1ull << 53, &since) < 0 ||
	    request_bool(call, "asks", &c->answers_asks) < 0)
		return RPC_PARAMS;
	c->has_events = true;
	c->next_event = since < call->s->events.next ? since : call->s->events.next;
	AUTO_FREE char *next = text_format("{\"next\":%llu}",
					   (unsigned long long)call->s->events.next);
	(void)request_answer(call, next);
	net_tell(call->s, c);
	return 0;
}

/* The method `logs`: sends the log of the processes' output, or the supervisor's own. */
static int do_logs(const struct request *call)
{
	struct log_reader r = { .of = &call->s->outputs.log, .method = "output" };
	uint64_t tail = UINT64_MAX;
	const char *of = "output";

	if (request_bool(call, "follow", &r.follows) < 0 ||
	    request_bool(call, "hold", &r.holds) < 0 ||
	    request_text(call, "of", &of) < 0 ||
	    request_uint(call, "tail", 1ull << 53, &tail) < 0)
		return RPC_PARAMS;
	if (!strcmp(of, "supervisor")) {
		r.of = &call->s->supervisor_log.log;
		r.method = "log";
	} else if (strcmp(of, "output") != 0) {
		(void)err_set(call->e, ERR_USAGE,
			      "params.of: output or supervisor was expected");
		return RPC_PARAMS;
	}
	if (r.holds && (!r.follows || r.method[0] != 'o')) {
		(void)err_set(call->e, ERR_USAGE,
			      "params.hold: only with \"follow\":true, of the output");
		return RPC_PARAMS;
	}
	r.request = request_take_id(call);
	outputs_logs(call->client, &r, tail);
	return 0;
}

/* --- actions -------------------------------------------------------------------- */

static int do_act_stream(const struct request *call)
{
	struct client *c = call->client;

	if (request_bool(call, "stream", &c->dispatcher.streams) < 0 ||
	    request_bool(call, "confirm", &c->dispatcher.confirms) < 0)
		return RPC_PARAMS;
	c->is_stream = true;
	c->dispatcher.is_rpc = false;
	return request_answer(call, "{}");
}

static int do_cancel(const struct request *call)
{
	struct json_at at;
	uint64_t id = 0;

	if (!json_member(&call->request->params, "id", &at)) {
		(void)err_set(call->e, ERR_USAGE, "params.id: missing");
		return RPC_PARAMS;
	}
	if (json_uint(&at, &id, call->e) < 0)
		return RPC_PARAMS;
	if (dispatcher_cancel(&call->s->dispatcher, &call->client->dispatcher, id))
		return request_answer(call, "{}");
	(void)err_set(call->e, ERR_NOT_FOUND, "no action %llu is under way",
		      (unsigned long long)id);
	return RPC_FAILED;
}

/* Does an action.  The dispatcher gets the action as JSON text, since it also
 * recognizes a repeated action by its text. */
static int do_act(const struct request *call)
{
	struct json_at action;
	bool streams = false, confirms = false;
	size_t len;

	if (request_busy(call) < 0)
		return RPC_FAILED;
	if (request_bool(call, "stream", &streams) < 0 ||
	    request_bool(call, "confirm", &confirms) < 0)
		return RPC_PARAMS;
	if (!json_member(&call->request->params, "action", &action)) {
		(void)err_set(call->e, ERR_USAGE, "params.action: missing");
		return RPC_PARAMS;
	}
	if (json_expect(&action, JSON_OBJECT, call->e) < 0)
		return RPC_PARAMS;
	if (dispatcher_is_full(&call->s->dispatcher)) {
		(void)err_set(call->e, ERR_LIMIT,
			      "too many actions wait, of all clients");
		return RPC_FAILED;
	}
	const char *line = json_source(&action, &len);
	call->client->dispatcher.streams = call->client->dispatcher.streams || streams;
	call->client->dispatcher.confirms = call->client->dispatcher.confirms || confirms;
	dispatcher_request(&call->s->dispatcher, &call->client->dispatcher,
			   request_take_id(call), line, len);
	return 0;
}

/* Refuses a method that only later versions will have. */
static int do_later(const struct request *call)
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
static const char *const release_keys[] = { "name", NULL };
static const char *const since_keys[] = { "since", "asks", NULL };
static const char *const start_keys[] = { "argv",  "env",     "cwd",	"user",
					  "tty",   "rows",    "cols",	"secret",
					  "stdin", "timeout", "detach", NULL };
static const char *const copy_in_keys[] = { "path", "name", "file", "parents", NULL };
static const char *const copy_out_keys[] = { "path", "follow", "contents", NULL };
static const char *const process_keys[] = { "process", NULL };
static const char *const signal_keys[] = { "process", "signal", NULL };
static const char *const resize_keys[] = { "process", "rows", "cols", NULL };
static const char *const write_keys[] = { "process", "data", "base64", "eof", NULL };
static const char *const update_keys[] = { "memory", "cpus", "pids", "disk", NULL };
static const char *const unpause_keys[] = { "force", NULL };
static const char *const logs_keys[] = { "follow", "tail", "of", "hold", NULL };
static const char *const act_keys[] = { "action", "stream", "confirm", NULL };
static const char *const stream_keys[] = { "stream", "confirm", NULL };
static const char *const cancel_keys[] = { "id", NULL };
static const char *const add_keys[] = { "guest", NULL };
static const char *const remove_keys[] = { "host", NULL };
static const char *const net_set_keys[] = { "rules", NULL };
static const char *const net_add_keys[] = { "rule", "at", NULL };
static const char *const net_remove_keys[] = { "rule", NULL };
static const char *const net_connect_keys[] = { "network", "port", "from", NULL };
static const char *const net_answer_keys[] = { "id", "verdict", "remember", NULL };

/* Properties of a method.  FDS: takes descriptors.  LOOKS: only reads the sandbox's
 * state, which does not count as use of the sandbox.  STEERS: is refused if the audit
 * log cannot record it.  ENDS: ends the sandbox, even if the audit log cannot record
 * it.  KNOWS: may have an answer after the sandbox's end, too. */
enum { FDS = 1, LOOKS = 2, STEERS = 4, ENDS = 8, KNOWS = 16 };

static const struct method {
	const char *name;
	int (*call)(const struct request *call);
	const char *const *keys; /* the keys that params may have; NULL: do_later()
				  * refuses the method anyway */
	unsigned flags;
} methods[] = {
	{ "hello", do_hello, hello_keys, FDS | LOOKS },
	{ "info", do_info, no_keys, LOOKS },
	{ "stats", do_stats, no_keys, LOOKS },
	{ "stop", do_stop, stop_keys, ENDS },
	{ "kill", do_kill, no_keys, ENDS },
	{ "pause", do_pause, no_keys, STEERS },
	{ "unpause", do_unpause, unpause_keys, STEERS },
	{ "rename", do_rename, rename_keys, STEERS },
	{ "release", lease_release, release_keys, STEERS },
	{ "events.subscribe", do_subscribe, since_keys, 0 },
	{ "exec.start", methods_start, start_keys, FDS },
	{ "copy.in", methods_copy_in, copy_in_keys, FDS },
	{ "copy.out", methods_copy_out, copy_out_keys, FDS },
	{ "exec.wait", methods_wait, process_keys, KNOWS },
	{ "exec.signal", methods_signal, signal_keys, 0 },
	{ "exec.resize", methods_resize, resize_keys, 0 },
	{ "exec.list", methods_list, no_keys, 0 },
	{ "act", do_act, act_keys, 0 },
	{ "act.stream", do_act_stream, stream_keys, 0 },
	{ "cancel", do_cancel, cancel_keys, 0 },
	{ "exec.attach", methods_attach, process_keys, 0 },
	{ "exec.write", methods_write, write_keys, 0 },
	{ "logs", do_logs, logs_keys, 0 },
	{ "update", methods_update, update_keys, 0 }, /* no STEERS: records_update()
						       * writes the request, with its
						       * limits, to the audit log */
	{ "port.add", methods_port_add, add_keys, FDS | STEERS },
	{ "port.remove", methods_port_remove, remove_keys, STEERS },
	{ "port.list", methods_port_list, no_keys, LOOKS },
	{ "net.list", methods_net_list, no_keys, LOOKS },
	/* no STEERS: records_net() writes these to the audit log, with their rules */
	{ "net.set", methods_net_set, net_set_keys, 0 },
	{ "net.add", methods_net_add, net_add_keys, 0 },
	{ "net.remove", methods_net_remove, net_remove_keys, 0 },
	{ "net.answer", methods_net_answer, net_answer_keys, 0 },
	/* The connection itself counts as use, and a lease does not close the network. */
	{ "net.connect", methods_net_connect, net_connect_keys, FDS | LOOKS },
	{ "diff", do_diff, no_keys, FDS | LOOKS },
	{ "snapshot", do_snapshot, no_keys, FDS | STEERS },
	{ "apply", do_later, NULL, 0 },
	{ "discard", do_later, NULL, 0 },
};

static const struct method *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (!strcmp(methods[i].name, name))
			return &methods[i];
	return NULL;
}

static int put_on_record(struct supervisor *s, const struct client *c,
			 const struct method *m, struct err *e)
{
	if (!(m->flags & (STEERS | ENDS)))
		return 0;
	int result = records_request(s, c, m->name, e);
	supervisor_look_at_clock(s); /* writing to the audit log may have taken long */
	return m->flags & ENDS ? 0 : result;
}

/* Writes a failed request to the supervisor's log.  Only the client gets the error
 * itself, and another user may look for the cause later. */
static void note_failure(struct supervisor *s, const struct client *c, const char *method,
			 const struct err *e)
{
	AUTO_FREE char *message = text_format("%s of %s: %s", method, c->name, e->text);
	struct err whole = *e;

	(void)snprintf(whole.text, sizeof(whole.text), "%s", message);
	supervisor_log_add_err(&s->supervisor_log, LOG_LEVEL_DEBUG, "supervisor", &whole);
}

/* Answers a request that comes after the sandbox's end and whose method has no answer of
 * its own then (KNOWS).  A request to end the sandbox succeeds; all others fail. */
static int answer_late(const struct request *call, const struct method *m)
{
	return m->flags & ENDS ? request_answer(call, "{}") : request_gone(call);
}

int methods_call(struct supervisor *s, struct client *c, struct rpc_request *r,
		 struct connection_fds *fds, struct err *e)
{
	const struct request call = { s, c, r, fds, e };
	const struct method *m = find(r->method);

	if (!m) {
		(void)err_set(e, ERR_USAGE, "there is no method '%.60s'", r->method);
		return RPC_METHOD;
	}
	if (s->has_ended && !(m->flags & KNOWS))
		return answer_late(&call, m);
	if (!c->has_hello && m->call != do_hello) {
		(void)err_set(e, ERR_USAGE, "the first request is 'hello'");
		return RPC_REQUEST;
	}
	if (fds->count && !(m->flags & FDS)) {
		(void)err_set(e, ERR_USAGE, "%s takes no descriptors", m->name);
		return RPC_PARAMS;
	}
	if (!(m->flags & (LOOKS | ENDS)) && lease_check(s, c, e) < 0)
		return RPC_FAILED;
	c->is_user = c->is_user || !(m->flags & LOOKS);
	if (m->keys && r->params.value && json_only(&r->params, m->keys, e) < 0)
		return RPC_PARAMS;
	int done = put_on_record(s, c, m, e) < 0 ? RPC_FAILED : m->call(&call);
	if (done != 0 && !s->has_ended)
		note_failure(s, c, m->name, e);
	return done;
}

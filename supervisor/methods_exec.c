#include "supervisor/methods.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/signal_name.h"
#include "sandbox/launch/result.h"
#include "supervisor/records.h"
#include "supervisor/request.h"
#include "supervisor/supervisor.h"

#define PROGRAM_MAX 256

/* Small requests are refused while the channel has more unsent bytes than this. */
#define CHANNEL_BUSY (1u << 20)

/* Returns the error of a copy as JSON.  A copy that died of SIGPIPE had a client that
 * no longer reads the tar. */
static const char *copy_error(const struct job *j)
{
	static const char *const errors[] = {
		[COPY_DONE] = "null",		    [COPY_FAILED] = "\"internal\"",
		[COPY_NOT_FOUND] = "\"not_found\"", [COPY_REFUSED] = "\"refused\"",
		[COPY_EXISTS] = "\"exists\"",	    [COPY_NO_SPACE] = "\"no_space\"",
		[COPY_LIMIT] = "\"limit\"",	    [COPY_INVALID] = "\"invalid\"",
		[COPY_TIMED_OUT] = "\"timeout\"",
	};
	_Static_assert(ARRAY_LEN(errors) == COPY_EXIT_COUNT, "an exit has no name");
	const struct exited *x = &j->exited;

	if (x->is_signaled)
		return x->status == SIGPIPE || j->was_stopped ? "\"disconnected\""
							      : "\"internal\"";
	return x->status < ARRAY_LEN(errors) ? errors[x->status] : "\"internal\"";
}

static int exit_code_of(const struct exited *x)
{
	return x->is_signaled ? 128 + (int)x->status : (int)x->status;
}

static char *exit_members(const struct job *j)
{
	const struct exited *x = &j->exited;
	struct buffer b;

	json_write_begin(&b);
	json_write_number(&b, "process", j->id);
	json_write_number(&b, "exit_code", exit_code_of(x));
	json_write_count(&b, "signal", x->is_signaled ? x->status : 0);
	json_write_bool(&b, "timed_out", j->has_timed_out);
	json_write_format(&b, "user_s", "%.6f", (double)x->user_us / 1e6);
	json_write_format(&b, "sys_s", "%.6f", (double)x->sys_us / 1e6);
	if (j->exec.flags & EXEC_COPIES)
		json_write_raw(&b, "error", copy_error(j));
	return json_write_end(&b);
}

/* Returns the program's name for events and lists.  Long names are cut off, since
 * events are kept in memory. */
static char *program_of(const struct supervisor *s, const struct job *j)
{
	AUTO_FREE char *name = redact_copy(&s->dispatcher.secrets, j->argv.items[0]);
	size_t len = strlen(name);

	if (len > PROGRAM_MAX) {
		len = PROGRAM_MAX;
		while (len > 0 && ((unsigned char)name[len] & 0xc0) == 0x80)
			len--; /* do not cut inside a UTF-8 character */
	}
	AUTO_FREE char *cut = text_format("%.*s", (int)len, name);
	return json_write_quoted(cut);
}

static void on_started(void *context, struct job *j)
{
	struct supervisor *s = context;
	AUTO_FREE char *program = program_of(s, j);
	AUTO_FREE char *result =
		text_format("{\"process\":%u,\"pid\":%u}", j->id, j->pid);
	AUTO_FREE char *more = text_format("\"process\":%u,\"pid\":%u,\"program\":%s",
					   j->id, j->pid, program);

	supervisor_event(s, "started", more);
	if (main_process_is(s, j))
		main_process_started(s);
	if (!j->owner)
		return;
	client_result(j->owner, j->request, result);
	j->owner->under_way--;
}

static void on_failed(void *context, struct job *j, const struct failed *f)
{
	struct err e;
	int code = result_not_started(f, &j->exec, &e);
	struct supervisor *s = context;

	redact_err(&s->dispatcher.secrets, &e);
	records_end(s, j, e.text);
	if (main_process_is(s, j))
		main_process_failed(s, code, &e);
	if (!j->owner)
		return;
	rpc_put_not_started(&j->owner->conn.out, j->request, code, &e);
	j->owner->under_way--;
}

static void on_ended(void *context, struct job *j)
{
	struct supervisor *s = context;

	j->was_stopped = s->is_stopping;
	AUTO_FREE char *more = exit_members(j);
	outputs_exited(s, j);
	j->exit_event = s->events.next;
	supervisor_event(s, "exited", more);
	records_end(s, j, NULL);
	j->owes_event = j->owner != NULL;
	s->jobs.owed += j->owes_event;
	if (main_process_is(s, j))
		main_process_ended(s, j);
}

static bool may_tell(void *context, const struct client *c, const struct job *j)
{
	(void)context;
	return !outputs_is_behind(c, j);
}

static void on_gone(void *context, struct job *j)
{
	struct supervisor *s = context;

	outputs_forget(s, j);
	if (!j->owes_event)
		return;
	client_exited(s, j->owner, j);
	s->jobs.owed--;
}

static void on_waited(void *context, const struct waiter *w, const struct job *j)
{
	AUTO_FREE char *members = exit_members(j);
	AUTO_FREE char *result = text_format("{%s}", members);

	(void)context;
	client_result(w->client, w->request, result);
	w->client->under_way--;
}

void methods_init_jobs(struct supervisor *s)
{
	s->jobs = (struct jobs){ .instance = &s->instance,
				 .context = s,
				 .on_started = on_started,
				 .on_failed = on_failed,
				 .on_looked_up = methods_looked_up,
				 .on_ended = on_ended,
				 .on_waited = on_waited,
				 .may_tell = may_tell,
				 .on_gone = on_gone };
}

void methods_end_jobs(struct supervisor *s)
{
	struct err e;

	(void)err_set(&e, ERR_GONE, "the sandbox has ended");
	for (struct job *j = s->jobs.first; j; j = j->next) {
		if (!j->owner || j->state >= JOB_RUNNING)
			continue;
		/* The executor may have started a command whose start it could not report any
		 * more, and which was killed with the sandbox then. */
		if (j->state == JOB_ASKED)
			rpc_put_not_started(&j->owner->conn.out, j->request,
					    128 + SIGKILL, &e);
		else
			client_error(j->owner, j->request, RPC_FAILED, &e);
	}
	/* A held wait is answered later, when its client has got all output of the
	 * process that has ended. */
	for (struct waiter *w = s->jobs.waiters; w; w = w->next)
		if (!w->is_held)
			client_error(w->client, w->request, RPC_FAILED, &e);
}

int methods_wait(const struct request *call)
{
	struct job *j;
	int code = request_process(call, &j);

	if (code != 0)
		return code;
	if (call->s->has_ended && j->state != JOB_ENDED)
		return request_gone(call);
	call->client->under_way++;
	return jobs_wait(&call->s->jobs, j->id, call->client, request_take_id(call),
			 call->e);
}

/* Reads a signal, which is given as "TERM", "SIGTERM" or 15. */
static int get_signal(const struct json_at *at, uint64_t *ret, struct err *e)
{
	const char *name;

	if (json_type(at) == JSON_NUMBER) {
		if (json_uint(at, ret, e) < 0)
			return -1;
		return *ret >= 1 && *ret <= 64 ? 0
					       : err_set(e, ERR_USAGE,
							 "params.signal: a number "
							 "from 1 to 64 was expected");
	}
	if (json_string(at, &name, e) < 0)
		return -1;
	const int signo = signal_name_find(name);
	if (signo) {
		*ret = (uint64_t)signo;
		return 0;
	}
	return err_set(e, ERR_USAGE, "params.signal: there is no signal '%.20s'", name);
}

/* Returns whether the channel has too many unsent bytes.  Small requests do not wait
 * for room, so without this check they could fill the channel's buffer. */
static bool is_flooded(const struct request *call)
{
	if (buffer_len(&call->s->instance.channel.out) <= CHANNEL_BUSY)
		return false;
	(void)err_set(call->e, ERR_BUSY,
		      "more has been asked for than the sandbox takes now");
	return true;
}

int methods_signal(const struct request *call)
{
	struct instance *g = &call->s->instance;
	struct json_at at;
	struct job *j;
	int code = request_process(call, &j);
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
		instance_broke_protocol(g, call->e);
	return request_answer(call, "{}");
}

int methods_resize(const struct request *call)
{
	struct instance *g = &call->s->instance;
	struct job *j;
	int code = request_process(call, &j);
	uint64_t rows = 24, cols = 80;

	if (code != 0)
		return code;
	if (request_uint(call, "rows", 65535, &rows) < 0 ||
	    request_uint(call, "cols", 65535, &cols) < 0)
		return RPC_PARAMS;
	if (is_flooded(call))
		return RPC_FAILED;
	if (j->state == JOB_RUNNING && j->has_terminal &&
	    channel_send_resize(&g->channel, j->id, (uint32_t)rows, (uint32_t)cols,
				call->e) < 0)
		instance_broke_protocol(g, call->e);
	return request_answer(call, "{}");
}

int methods_attach(const struct request *call)
{
	struct job *j;
	int code = request_process(call, &j);
	AUTO_FREE char *result = NULL;

	if (code != 0)
		return code;
	if (outputs_attach(call->client, j, &result, call->e) < 0)
		return RPC_FAILED;
	return request_answer(call, result);
}

/* Reads the bytes to be written: the param "data" has them as text, or "base64"
 * encoded. *ret_owned is what the caller must free, or NULL. */
static int get_bytes(const struct request *call, struct bytes *ret, uint8_t **ret_owned)
{
	const char *data = NULL, *text = NULL;

	if (request_text(call, "data", &data) < 0 ||
	    request_text(call, "base64", &text) < 0)
		return -1;
	if (data && text)
		return err_set(call->e, ERR_USAGE, "params.base64: beside params.data");
	*ret = (struct bytes){ (const uint8_t *)data, data ? strlen(data) : 0 };
	if (!text)
		return 0;
	*ret_owned = mem_new(strlen(text) / 4 * 3);
	if (!base64_decode(text, strlen(text), *ret_owned, &ret->len))
		return err_set(call->e, ERR_USAGE,
			       "params.base64: not base64 (RFC 4648, with "
			       "padding and without line ends)");
	ret->data = *ret_owned;
	return 0;
}

int methods_write(const struct request *call)
{
	struct job *j;
	int code = request_process(call, &j);
	AUTO_FREE uint8_t *owned = NULL;
	AUTO_FREE char *id = NULL;
	struct bytes bytes;
	bool has_eof = false;

	if (code != 0)
		return code;
	if (get_bytes(call, &bytes, &owned) < 0 ||
	    request_bool(call, "eof", &has_eof) < 0)
		return RPC_PARAMS;
	id = text_copy(call->request->id);
	int taken = outputs_write(j, call->client, bytes, has_eof, &id, call->e);
	if (taken < 0)
		return RPC_FAILED;
	return taken ? request_answer(call, "{}") : 0;
}

static void add_job(const struct supervisor *s, struct buffer *list, const struct job *j)
{
	AUTO_FREE char *program = program_of(s, j);
	AUTO_FREE char *started = events_time(j->begun_ms);
	const struct exited *x = &j->exited;

	json_write_open(list, NULL, "{");
	json_write_number(list, "process", j->id);
	json_write_number(list, "pid", j->pid);
	json_write_raw(list, "program", program);
	json_write_bool(list, "tty", j->has_terminal);
	json_write_text(list, "started", started);
	json_write_text(list, "state", j->state == JOB_ENDED ? "exited" : "running");
	if (j->state == JOB_ENDED)
		json_write_number(list, "exit_code", exit_code_of(x));
	else
		json_write_raw(list, "exit_code", "null");
	json_write_bool(list, "detached", j->is_detached);
	json_write_close(list, "}");
}

int methods_list(const struct request *call)
{
	struct buffer list;

	json_write_begin(&list);
	json_write_open(&list, NULL, "[");
	for (const struct job *j = call->s->jobs.first; j; j = j->next)
		if (j->state == JOB_RUNNING || j->state == JOB_ENDED)
			add_job(call->s, &list, j);
	json_write_close(&list, "]");
	AUTO_FREE char *result = json_write_end(&list);
	return request_answer(call, result);
}

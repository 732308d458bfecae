#include "supervisor/methods.h"

#include <stdio.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/policy.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/ports.h"
#include "supervisor/request.h"
#include "supervisor/supervisor.h"

static int missing(const struct request *call, const char *key)
{
	(void)err_set(call->e, ERR_USAGE, "params.%s: missing", key);
	return RPC_PARAMS;
}

static char *describe(const char *host, uint16_t guest, const char *more)
{
	AUTO_FREE char *quoted = json_write_quoted(host);

	return text_format("{\"host\":%s,\"guest\":%u%s}", quoted, guest, more);
}

/* Takes the listening socket that the client has created and sent with the request: a
 * confined supervisor may not bind one. */
static int take_listener(const struct request *call, struct listener *ret)
{
	if (call->fds->count != 1) {
		(void)err_set(call->e, ERR_USAGE,
			      "port.add takes one descriptor, a socket that "
			      "listens");
		return RPC_PARAMS;
	}
	if (listener_adopt(call->fds->fds[0], ret, call->e) < 0)
		return RPC_PARAMS;
	call->fds->count = 0;
	return 0;
}

static int add(const struct request *call, struct listener *at, uint16_t guest)
{
	struct launch *l = call->s->launch;
	AUTO_FREE char *answer = describe(at->host, guest, "");

	if (at->host[0] == '/' &&
	    listener_note(call->s->entry->folder, at->host, call->e) < 0)
		return RPC_FAILED;
	if (ports_add(&l->ports, at, guest, call->e) < 0)
		return RPC_FAILED;
	return request_answer(call, answer);
}

int methods_port_add(const struct request *call)
{
	uint64_t guest = 0;
	struct listener at;

	if (request_uint(call, "guest", UINT16_MAX, &guest) < 0)
		return RPC_PARAMS;
	if (guest == 0)
		return missing(call, "guest");
	if (call->s->launch->policy->network == NETWORK_HOST) {
		(void)err_set(call->e, ERR_UNSUPPORTED,
			      "this sandbox shares the host's network: "
			      "what listens inside listens there");
		return RPC_FAILED;
	}
	int code = take_listener(call, &at);
	if (code != 0)
		return code;
	code = add(call, &at, (uint16_t)guest);
	listener_done(&at);
	return code;
}

int methods_port_remove(const struct request *call)
{
	const char *host = NULL;

	if (request_text(call, "host", &host) < 0)
		return RPC_PARAMS;
	if (!host)
		return missing(call, "host");
	if (ports_remove(&call->s->launch->ports, host, call->e) < 0)
		return RPC_FAILED;
	return request_answer(call, "{}");
}

int methods_port_list(const struct request *call)
{
	const struct ports *p = &call->s->launch->ports;
	char *text = NULL;
	size_t len;
	FILE *to = mem_or_abort(open_memstream(&text, &len));

	(void)fputc('[', to);
	for (size_t i = 0; i < p->count; i++) {
		const struct port *port = &p->all[i];
		AUTO_FREE char *more =
			text_format(",\"connections\":%zu", ports_count(p, port));
		AUTO_FREE char *item = describe(port->at.host, port->guest, more);
		(void)fprintf(to, "%s%s", i ? "," : "", item);
	}
	(void)fputc(']', to);
	mem_or_abort(fclose(to) == 0 ? text : NULL);
	AUTO_FREE char *answer = text;
	return request_answer(call, answer);
}

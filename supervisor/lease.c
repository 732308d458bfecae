#include "supervisor/lease.h"

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/state/registry.h"
#include "supervisor/request.h"
#include "supervisor/supervisor.h"

const char *lease_state(const struct lease *l)
{
	if (l->is_waiting)
		return "\"waiting\"";
	return l->holder ? "\"held\"" : "null";
}

void lease_serve(struct supervisor *s)
{
	if (s->lease.fd <= 0)
		return;
	clients_add(s, fd_take(&s->lease.fd));
	s->lease.holder = s->clients[s->client_count - 1];
}

void lease_take(struct supervisor *s, const struct client *c)
{
	if (!s->lease.is_waiting || c != s->lease.holder)
		return;
	s->lease.is_waiting = false;
	clocks_run(&s->clocks, s->now_ms);
	registry_unset_waiting(s->entry); /* on failure: the registry still shows the
					   * sandbox as waiting */
}

int lease_check(const struct supervisor *s, const struct client *c, struct err *e)
{
	if (!s->lease.is_waiting || c == s->lease.holder)
		return 0;
	(void)err_set(e, ERR_BUSY, "it waits to be handed out, and no client can "
				      "use it until then");
	return err_remedy(
		e, "hutch pool ls shows the pools; hutch pool take POOL hands out one of "
		   "its sandboxes");
}

bool lease_leave(struct supervisor *s, const struct client *c)
{
	struct err e;

	if (c != s->lease.holder)
		return false;
	(void)err_set(&e, ERR_GONE, "the connection that held the sandbox was closed");
	supervisor_end(s, "stopped", 0, "lease", &e);
	return true;
}

/* Refuses a release if its sender has closed the connection: no client would know of
 * the sandbox.  The supervisor notices the closed connection next and ends the
 * sandbox. */
static int check_holder(const struct client *c, struct err *e)
{
	if (!connection_is_deserted(&c->conn))
		return 0;
	return err_set(e, ERR_GONE, "the connection that held the sandbox was closed");
}

/* Ends the lease.  The sandbox is renamed first: if it cannot get that name, the lease
 * stays as it is. */
int lease_release(const struct request *call)
{
	struct supervisor *s = call->s;
	const char *name = NULL;

	if (request_text(call, "name", &name) < 0)
		return RPC_PARAMS;
	if (call->client != s->lease.holder) {
		(void)err_set(call->e, ERR_USAGE,
			      "this connection holds no lease of sandbox '%s'",
			      s->entry->name);
		return RPC_FAILED;
	}
	if (name && supervisor_rename(s, name, call->e) < 0)
		return RPC_FAILED;
	if (check_holder(call->client, call->e) < 0)
		return RPC_FAILED;
	s->lease.holder = NULL;
	AUTO_FREE char *answer = text_format("{\"name\":\"%s\"}", s->entry->name);
	return request_answer(call, answer);
}

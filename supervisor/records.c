#include "supervisor/records.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/launch/audit.h"
#include "sandbox/launch/audit_net.h"
#include "sandbox/launch/launch.h"
#include "supervisor/jobs.h"
#include "supervisor/request.h"
#include "supervisor/supervisor.h"

/* Returns the audit log, after setting its sandbox's name, which a rename may have
 * changed since the last entry. */
static struct audit *audit_of(const struct supervisor *s)
{
	s->launch->audit.name = s->entry->name;
	return &s->launch->audit;
}

static void note_copy(struct audit_json *n, const struct job *j)
{
	const struct list *words = &j->argv; /* the method, the path, and for a copy
					      * under another name that name */

	audit_json_text(n, "method", words->items[0]);
	audit_json_text(n, "path", words->items[1]);
	if (words->count > 2)
		audit_json_text(n, "as", words->items[2]);
}

static void note_exec(struct audit_json *n, const struct job *j)
{
	audit_json_words(n, "argv", j->argv.items, j->argv.count);
	audit_json_text(n, "cwd", j->cwd);
	audit_json_number(n, "uid_inside", j->exec.uid);
	audit_json_yes(n, "tty", j->has_terminal);
	audit_json_yes(n, "detached", j->is_detached);
}

int records_begin(struct supervisor *s, const struct client *c, struct job *j,
		  struct err *e)
{
	const bool is_copy = j->exec.flags & EXEC_COPIES;
	struct audit *a = audit_of(s);
	struct audit_json n;

	if (!a->is_on)
		return 0;
	audit_note(a, &n);
	audit_json_number(&n, "process", j->id);
	audit_json_text(&n, "client", c ? c->name : NULL);
	(is_copy ? note_copy : note_exec)(&n, j);
	int result = audit_add(a, is_copy ? "copy" : "exec", &n, AUDIT_PASSING, e);
	j->is_recorded = result == 0;
	return result;
}

void records_end(struct supervisor *s, const struct job *j, const char *why)
{
	const struct exited *x = &j->exited;
	struct audit *a = audit_of(s);
	struct audit_json n;

	if (!j->is_recorded)
		return;
	AUTO_FREE char *cpu = text_format("%.6f", (double)(x->user_us + x->sys_us) / 1e6);
	audit_note(a, &n);
	audit_json_number(&n, "process", j->id);
	if (why) {
		audit_json_text(&n, "error", why);
	} else {
		audit_json_number(&n, "exit_code",
				  x->is_signaled ? 128 + x->status : x->status);
		audit_json_yes(&n, "timed_out", j->has_timed_out);
		audit_json_json(&n, "cpu_s", cpu);
	}
	(void)audit_add(a, "exited", &n, AUDIT_PASSING, NULL); /* audit_add() counts a
								* failure as a lost
								* entry */
}

int records_request(struct supervisor *s, const struct client *c, const char *method,
		    struct err *e)
{
	struct audit *a = audit_of(s);
	struct audit_json n;

	if (!a->is_on)
		return 0;
	audit_note(a, &n);
	audit_json_text(&n, "client", c->name);
	audit_json_text(&n, "method", method);
	return audit_add(a, "request", &n, AUDIT_PASSING, e);
}

int records_update(struct supervisor *s, const struct client *c, const struct limits *l,
		   struct err *e)
{
	const struct {
		const char *key;
		uint64_t value; /* the requested limit; 0: unchanged */
	} asked[] = { { "memory", l->memory }, { "pids", l->pids },
		      { "cpus_thousandths", l->cpus } };
	struct audit *a = audit_of(s);
	struct audit_json n;

	if (!a->is_on)
		return 0;
	audit_note(a, &n);
	audit_json_text(&n, "client", c->name);
	audit_json_text(&n, "method", "update");
	for (size_t i = 0; i < ARRAY_LEN(asked); i++)
		if (asked[i].value)
			audit_json_number(&n, asked[i].key, asked[i].value);
	return audit_add(a, "request", &n, AUDIT_PASSING, e);
}

int records_net(const struct request *call, struct err *e)
{
	struct audit *a = audit_of(call->s);
	struct audit_json n;
	size_t len;

	if (!a->is_on)
		return 0;
	const char *source = json_source(&call->request->params, &len);
	AUTO_FREE char *params = text_format("%.*s", (int)len, source);
	audit_note(a, &n);
	audit_json_text(&n, "client", call->client->name);
	audit_json_text(&n, "method", call->request->method);
	audit_json_text(&n, "params", params);
	return audit_add(a, "request", &n, AUDIT_PASSING, e);
}

void records_peer(struct supervisor *s, const struct records_peer *x)
{
	struct audit *a = audit_of(s);
	struct audit_json n;

	if (!a->is_on || !audit_net_begin(a, s->now_ms))
		return;
	audit_note(a, &n);
	audit_json_text(&n, "verdict", x->why ? "deny" : "allow");
	audit_json_text(&n, "network", x->network);
	audit_json_text(&n, "from", x->from ? x->from : "");
	audit_json_number(&n, "port", x->port);
	if (x->why)
		audit_json_text(&n, "why", x->why);
	(void)audit_add(a, "net", &n, AUDIT_PASSING, NULL); /* audit_add() counts a
							     * failure as a lost entry */
}

void records_finish(struct supervisor *s)
{
	const struct audit_end x = { .reason = s->ending.reason,
				     .exit_code = s->ending.exit_code,
				     .error = &s->ending.error,
				     .cgroup = &s->launch->cgroup };

	(void)audit_end(audit_of(s), &x, NULL); /* on failure: there is no client left
						 * to tell */
}

void records_unprotected(struct supervisor *s, const struct err *why)
{
	struct audit *a = audit_of(s);
	struct audit_json n;

	if (!a->is_on)
		return;
	audit_note(a, &n);
	audit_json_text(&n, "why", why->text);
	(void)audit_add(a, "unprotected", &n, AUDIT_PASSING, NULL); /* audit_add()
								     * counts a failure
								     * as a lost entry */
}

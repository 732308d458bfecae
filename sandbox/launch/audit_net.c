#include "sandbox/launch/audit_net.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "sandbox/launch/audit.h"

/* Writes one member of the line, which holds texts, numbers, true, and an object of
 * texts.  The line's `name` is a host's, and an entry's is the sandbox's. */
static void note_member(struct audit_json *n, const char *line_key,
			const struct json_at *at)
{
	const char *key = strcmp(line_key, "name") ? line_key : "host";
	AUTO_FREE char *source = NULL;
	const char *text;
	struct err e;
	size_t len;

	if (json_type(at) == JSON_STRING && json_string(at, &text, &e) == 0) {
		audit_json_text(n, key, text);
		return;
	}
	const char *from = json_source(at, &len);
	source = text_format("%.*s", (int)len, from);
	audit_json_json(n, key, source);
}

/* A failure leaves the decisions for the next time. */
void audit_net_tell_lost(struct audit *a)
{
	struct audit_net *net = &a->net;
	struct audit_json n;

	if (!net->lost)
		return;
	audit_note(a, &n);
	audit_json_number(&n, "count", net->lost);
	audit_json_number(&n, "up", net->up);
	audit_json_number(&n, "down", net->down);
	if (audit_add(a, "net-lost", &n, AUDIT_PASSING, NULL) == 0)
		net->lost = net->up = net->down = 0;
}

/* Takes the place of one entry in the present second; false: there is none left. */
static bool take_place(struct audit *a, int64_t now)
{
	struct audit_net *net = &a->net;

	if (now - net->began >= AUDIT_NET_SECOND_MS) {
		net->began = now;
		net->written = 0;
	}
	if (net->written == AUDIT_NET_MAX)
		return false;
	net->written++;
	return true;
}

static void lose(struct audit_net *net, const struct json_at *line)
{
	net->lost++;
	net->up += json_member_uint(line, "up", 0);
	net->down += json_member_uint(line, "down", 0);
}

bool audit_net_begin(struct audit *a, int64_t now)
{
	if (!take_place(a, now)) {
		a->net.lost++;
		return false;
	}
	audit_net_tell_lost(a);
	return true;
}

void audit_net(struct audit *a, const struct json_at *net, int64_t now)
{
	const bool is_refusal = !strcmp(json_member_string(net, "verdict", ""), "deny");
	struct json_at member = { 0 };
	struct audit_json n;
	const char *key;

	if (!a->is_on)
		return;
	if (!is_refusal && !take_place(a, now)) {
		lose(&a->net, net);
		return;
	}
	audit_net_tell_lost(a);
	audit_note(a, &n);
	while (json_step_key(net, &member, &key))
		if (strcmp(key, "time") != 0) /* each entry has its own */
			note_member(&n, key, &member);
	(void)audit_add(a, "net", &n, AUDIT_PASSING, NULL); /* a failure is counted as a
							     * lost entry */
}

void audit_net_lost(struct audit *a, uint64_t count)
{
	if (a->is_on)
		a->net.lost += count;
}

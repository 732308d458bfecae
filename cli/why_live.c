#include "cli/why_live.h"

#include <string.h>

#include "base/answer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/client.h"
#include "policy/egress/sandbox_name.h"
#include "policy/egress_policy.h"
#include "policy/policy.h"
#include "sandbox/explain/why.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/state/registry.h"

/* The ports of so many rules, and 80 and 443. */
#define PORTS_MAX 66

struct sandbox_network {
	struct policy policy; /* its network, and the rules in force */
	uint16_t ports[PORTS_MAX];
	size_t port_count;
	bool has_all_ports;
};

static void read_joins(struct json_view info, struct list *ret)
{
	struct json_view joins = json_view_get(info, "network.joins");
	struct json_view_place at = { 0 };

	while (json_view_step(joins, &at)) {
		AUTO_FREE char *join = json_view_string(at.value);
		if (join)
			list_add(ret, join);
	}
}

static int read_mode(struct client *c, struct policy *ret, struct err *e)
{
	struct json_view info;

	if (client_call(c, "info", NULL, &info, e) < 0)
		return -1;
	AUTO_FREE char *mode = json_view_string(json_view_get(info, "network.mode"));
	read_joins(info, &ret->joins);
	return policy_take_network(ret, mode ? mode : "none", e);
}

/* The supervisor may be of another version, which has rules that this one cannot judge. */
static int read_rules(struct json_view rules, struct list *ret, struct err *e)
{
	struct json_view_place at = { 0 };

	while (json_view_step(rules, &at)) {
		list_addf(ret, "%.*s", (int)at.value.len, at.value.text);
		if (egress_policy_check_text(ret->items[ret->count - 1], e) < 0)
			return err_in(e, "rule %zu", ret->count);
	}
	return 0;
}

static void read_ports(struct json_view ports, struct sandbox_network *ret)
{
	struct json_view_place at = { 0 };
	int64_t port;

	ret->has_all_ports = json_view_type(ports) == JSON_NULL;
	while (json_view_step(ports, &at) && ret->port_count < PORTS_MAX)
		if (json_view_integer(at.value, &port))
			ret->ports[ret->port_count++] = (uint16_t)port;
}

static int read_network(const char *name, struct sandbox_network *ret, struct err *e)
{
	struct client c = { 0 };
	struct json_view list;

	/* root's sandboxes belong to an ordinary user */
	if (host_user_become_client(e) < 0 || client_open(&c, name, e) < 0)
		return -1;
	int result = read_mode(&c, &ret->policy, e);
	if (result == 0 && ret->policy.network == NETWORK_ALLOW) {
		result = client_call(&c, "net.list", NULL, &list, e);
		if (result == 0)
			result = read_rules(json_view_get(list, "rules"),
					    &ret->policy.egress, e);
		if (result == 0)
			read_ports(json_view_get(list, "ports"), ret);
	}
	client_done(&c);
	return result;
}

static int judge(const struct sandbox_network *n, const char *name, const char *where,
		 struct answer *ret)
{
	const struct why_live live = { name, n->ports, n->port_count, n->has_all_ports };
	const struct why why = { .policy = &n->policy, .live = &live };

	return strncmp(where, "unix:", 5) ? why_connect(&why, where, ret) : -1;
}

/* Returns whether a sandbox of that name lives and has joined that network. */
static bool is_there(const struct sandbox_name *n)
{
	struct registry_item item;
	struct json_view info = { 0 };
	struct list joins = { 0 };

	if (registry_look(n->sandbox, &item, NULL) < 0)
		return false;
	if (item.info && json_view_scan(&info, item.info, strlen(item.info), NULL) == 0)
		read_joins(info, &joins);
	const bool is = list_has(&joins, n->network);
	list_done(&joins);
	registry_item_done(&item);
	return is;
}

/* Takes a yes back if the answer, whose text begins with HOST:PORT, is about a sandbox
 * that is not in the network now: its name does not exist then. */
static void check_peer(const struct policy *p, struct answer *ret)
{
	AUTO_FREE char *host = why_host(ret->text);
	struct sandbox_name peer;

	if (!ret->is_yes || !sandbox_name_read(host, &peer) ||
	    !list_has(&p->joins, peer.network) || is_there(&peer))
		return;
	answer_set(
		ret, false, "network",
		text_format("the rules allow %s, but the network %s has no sandbox '%s' "
			    "now",
			    host, peer.network, peer.sandbox));
	ret->line = text_format("--network-join %s", peer.network);
	ret->change = text_format("hutch create --network-join %s %s", peer.network,
				  peer.sandbox);
}

int why_live(const char *name, const char *where, struct answer *ret, struct err *e)
{
	struct sandbox_network n = { 0 };

	policy_init(&n.policy);
	int result = read_network(name, &n, e);
	if (result == 0 && judge(&n, name, where, ret) < 0) {
		(void)err_set(e, ERR_USAGE,
			      "connect '%.100s': of a sandbox that lives, it takes "
			      "HOST:PORT",
			      where);
		AUTO_FREE char *host = why_host(where);
		result = err_remedy(e, "with a port: hutch why %s --connect %.100s:443",
				    name, *host ? host : "HOST");
	} else if (result == 0) {
		check_peer(&n.policy, ret);
	}
	policy_done(&n.policy);
	return result;
}

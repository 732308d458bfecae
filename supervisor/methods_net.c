#include "supervisor/methods.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "egress/launch/egress_news.h"
#include "policy/policy.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/ports.h"
#include "supervisor/net.h"
#include "supervisor/net_rules.h"
#include "supervisor/records.h"
#include "supervisor/request.h"
#include "supervisor/supervisor.h"

/* Checks that the sandbox has rules at all. */
static int check_can(const struct request *call)
{
	const struct policy *p = call->s->launch->policy;

	if (p->network != NETWORK_ALLOW) {
		(void)err_set(call->e, ERR_UNSUPPORTED,
			      "this sandbox has --network %s, and so no rules about "
			      "connections",
			      policy_network_word(p));
		return err_remedy(call->e,
				  "make another sandbox with --network allow: its rules "
				  "can change while it lives");
	}
	return call->s->is_stopping
		       ? err_set(call->e, ERR_BUSY, "the sandbox is stopping")
		       : 0;
}

static int find(const struct request *call, const char *key, struct json_at *ret)
{
	return json_member(&call->request->params, key, ret)
		       ? 0
		       : err_set(call->e, ERR_USAGE, "params.%s: missing", key);
}

/* Reads params into the order; -1: they are wrong. */
typedef int read_params(const struct request *call, struct net_order *o);

static struct net_order *new_order(enum net_order_kind kind)
{
	struct net_order *o = mem_zeroed(1, sizeof(*o));

	o->kind = kind;
	return o;
}

/* Queues the order, which answers the request when hutch-egress has replied. */
static int wait_for(const struct request *call, struct net_order *o)
{
	o->client = call->client;
	o->request = text_copy(call->request->id);
	return net_queue(call->s, o, call->e) < 0 ? RPC_FAILED : 0;
}

/* Queues the order that `read` makes of the params. */
static int queue(const struct request *call, enum net_order_kind kind, read_params *read)
{
	struct net_order *o = new_order(kind);
	int code = 0;

	if (check_can(call) < 0)
		code = RPC_FAILED;
	else if (read(call, o) < 0)
		code = RPC_PARAMS;
	else if (records_net(call, call->e) < 0)
		code = RPC_FAILED;
	if (code != 0) {
		net_order_free(o);
		return code;
	}
	return wait_for(call, o);
}

/* --- rules -------------------------------------------------------------------------- */

static int add_rule(const struct json_at *at, struct list *ret, struct err *e)
{
	AUTO_FREE char *rule = net_rules_read(at, e);

	if (!rule)
		return -1;
	list_add(ret, rule);
	return 0;
}

static int read_set(const struct request *call, struct net_order *o)
{
	struct json_at at, item = { 0 };

	if (find(call, "rules", &at) < 0 || json_expect(&at, JSON_ARRAY, call->e) < 0)
		return -1;
	while (json_step(&at, &item))
		if (add_rule(&item, &o->rules, call->e) < 0)
			return err_in(call->e, "%s", item.place);
	return 0;
}

static int read_add(const struct request *call, struct net_order *o)
{
	struct json_at at;
	uint64_t place = 1;

	if (find(call, "rule", &at) < 0 ||
	    request_uint(call, "at", UINT32_MAX, &place) < 0)
		return -1;
	o->at = (size_t)place;
	return add_rule(&at, &o->rules, call->e);
}

static int read_remove(const struct request *call, struct net_order *o)
{
	const char *target;
	struct json_at at;
	uint64_t place;

	if (find(call, "rule", &at) < 0)
		return -1;
	if (json_type(&at) == JSON_NUMBER) {
		if (request_uint(call, "rule", UINT32_MAX, &place) < 0)
			return -1;
		o->at = (size_t)place;
		return 0;
	}
	if (json_string(&at, &target, call->e) < 0)
		return -1;
	o->target = text_copy(target);
	return 0;
}

static int read_answer(const struct request *call, struct net_order *o)
{
	struct json_at at;
	const char *verdict;
	uint64_t id;

	if (find(call, "id", &at) < 0 || request_uint(call, "id", UINT32_MAX, &id) < 0)
		return -1;
	if (find(call, "verdict", &at) < 0 || json_string(&at, &verdict, call->e) < 0)
		return -1;
	o->answer.id = (uint32_t)id;
	o->answer.is_allowed = !strcmp(verdict, "allow");
	if (!o->answer.is_allowed && strcmp(verdict, "deny") != 0)
		return err_set(call->e, ERR_USAGE,
			       "params.verdict: allow or deny was expected");
	return request_bool(call, "remember", &o->answer.is_for_sandbox);
}

/* --- methods ------------------------------------------------------------------------ */

int methods_net_set(const struct request *call)
{
	return queue(call, NET_SET, read_set);
}

int methods_net_add(const struct request *call)
{
	return queue(call, NET_ADD, read_add);
}

int methods_net_remove(const struct request *call)
{
	return queue(call, NET_REMOVE, read_remove);
}

int methods_net_answer(const struct request *call)
{
	return queue(call, NET_ANSWER, read_answer);
}

/* Without hutch-egress no connection is open, and the rules are known here. */
int methods_net_list(const struct request *call)
{
	if (check_can(call) < 0 && call->e->kind != ERR_BUSY)
		return RPC_FAILED;
	if (egress_fd(&call->s->launch->egress) >= 0)
		return wait_for(call, new_order(NET_LIST));
	AUTO_FREE char *answer = net_list(call->s, NULL);
	return request_answer(call, answer);
}

/* --- connections from other sandboxes ------------------------------------------------ */

static bool is_option(int fd, int option, int wanted)
{
	int value;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 && value == wanted;
}

/* Returns whether a socket is one of TCP, and has both of its ends. */
static bool is_connected(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	       (info.tcpi_state == TCP_ESTABLISHED || info.tcpi_state == TCP_CLOSE_WAIT);
}

/* Checks the socket, which a process outside of sandboxes has sent, and makes it
 * non-blocking. */
static int check_socket(const struct request *call)
{
	const int fd = call->fds->count == 1 ? call->fds->fds[0] : -1;
	const int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

	if (flags < 0 || !is_option(fd, SO_DOMAIN, AF_INET) || !is_connected(fd))
		return err_set(
			call->e, ERR_USAGE,
			"net.connect takes one descriptor, a socket of TCP that is connected");
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0
		       ? err_sys(call->e, "make the socket non-blocking")
		       : 0;
}

static int read_peer(const struct request *call, struct records_peer *ret)
{
	uint64_t port = 0;

	if (request_text(call, "network", &ret->network) < 0 ||
	    request_text(call, "from", &ret->from) < 0 ||
	    request_uint(call, "port", UINT16_MAX, &port) < 0)
		return -1;
	ret->port = (uint16_t)port;
	if (!ret->network || port == 0)
		return err_set(call->e, ERR_USAGE, "params.%s: missing",
			       ret->network ? "port" : "network");
	if (ret->from && registry_check_name(ret->from, call->e) < 0)
		return err_in(call->e, "params.from");
	return check_socket(call);
}

static int let_in(const struct request *call, const struct records_peer *peer)
{
	struct launch *l = call->s->launch;

	if (!list_has(&l->policy->joins, peer->network)) /* layer: peers-target */
		return err_set(call->e, ERR_REFUSED,
			       "this sandbox has not joined the network '%.60s'",
			       peer->network);
	return ports_connect(&l->ports, &call->fds->fds[0], peer->port, call->e);
}

int methods_net_connect(const struct request *call)
{
	struct records_peer peer = { 0 };

	if (read_peer(call, &peer) < 0)
		return RPC_PARAMS;
	if (let_in(call, &peer) < 0) {
		peer.why = call->e->text;
		records_peer(call->s, &peer);
		return RPC_FAILED;
	}
	call->fds->count = 0;
	records_peer(call->s, &peer);
	return request_answer(call, "{}");
}

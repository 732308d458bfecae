#include "supervisor/net.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/redact.h"
#include "egress/launch/egress_news.h"
#include "policy/egress/egress_rules.h"
#include "policy/policy.h"
#include "sandbox/launch/launch.h"
#include "sandbox/state/registry.h"
#include "supervisor/events.h"
#include "supervisor/net_rules.h"
#include "supervisor/rpc.h"
#include "supervisor/supervisor.h"

/* hutch-egress denies a question that has waited for so long (supervisor_link.h). */
#define QUESTION_MS 30000

static void replace(struct list *l, struct list *by)
{
	list_done(l);
	*l = *by;
	*by = (struct list){ 0 };
}

void net_init(struct net *n, const struct list *rules)
{
	*n = (struct net){ 0 };
	for (size_t i = 0; i < rules->count; i++)
		list_add(&n->rules, rules->items[i]);
}

void net_order_free(struct net_order *o)
{
	if (!o)
		return;
	list_done(&o->rules);
	free(o->target);
	free(o->request);
	free(o);
}

void net_done(struct net *n)
{
	for (struct net_order *o = n->first, *next; o; o = next) {
		next = o->next;
		net_order_free(o);
	}
	for (size_t i = 0; i < n->question_count; i++)
		free(n->questions[i].name);
	list_done(&n->rules);
	list_done(&n->wanted);
	*n = (struct net){ 0 };
}

/* --- answers to clients ------------------------------------------------------------- */

static struct net_order *take_first(struct net *n)
{
	struct net_order *o = n->first;

	n->first = o->next;
	n->count--;
	n->is_sent = false;
	if (o->client)
		o->client->under_way--;
	return o;
}

/* Takes the first order off, and tells its client of the error. */
static void fail_first(struct supervisor *s, struct err *e)
{
	struct net_order *o = take_first(&s->net);

	if (o->client) {
		redact_err(&s->dispatcher.secrets, e); /* a rule may quote one */
		client_error(o->client, o->request, RPC_FAILED, e);
	}
	net_order_free(o);
}

/* --- sending ------------------------------------------------------------------------ */

/* Finds the rule to remove, and keeps it in the order for the answer. */
static int remove_rule(struct net *n, struct net_order *o, struct err *e)
{
	if (o->target)
		o->at = net_rules_find(&n->rules, o->target);
	if (o->at < 1 || o->at > n->rules.count) {
		if (o->target)
			(void)err_set(e, ERR_NOT_FOUND, "no rule has the target '%.200s'",
				      o->target);
		else
			(void)err_set(e, ERR_NOT_FOUND, "there is no rule %zu, of %zu",
				      o->at, n->rules.count);
		return err_remedy(e, "hutch net NAME ls lists the rules");
	}
	list_add(&o->rules, n->rules.items[o->at - 1]);
	net_rules_remove(&n->rules, o->at, &n->wanted);
	return 0;
}

static int make_wanted(struct net *n, struct net_order *o, struct err *e)
{
	list_done(&n->wanted);
	if (o->kind == NET_REMOVE)
		return remove_rule(n, o, e);
	if (o->kind == NET_ADD)
		return net_rules_insert(&n->rules, o->at, o->rules.items[0], &n->wanted,
					e);
	for (size_t i = 0; i < o->rules.count; i++)
		list_add(&n->wanted, o->rules.items[i]);
	return 0;
}

/* Checks all rules together, and the ports of the new ones: a rule of the launch may be
 * about each port, and stays. */
static int check(const struct supervisor *s, const struct net_order *o, struct err *e)
{
	struct egress_rules all = { 0 }, added = { 0 };
	int result = net_rules_parse(&s->net.wanted, &all, e);

	if (result == 0 && o->kind != NET_REMOVE)
		result = net_rules_parse(&o->rules, &added, e);
	if (result == 0)
		result = egress_check_ports(&s->launch->egress, &added, e);
	egress_rules_done(&all);
	egress_rules_done(&added);
	return result;
}

static int send_order(struct supervisor *s, struct net_order *o, struct err *e)
{
	struct egress *x = &s->launch->egress;

	if (o->kind == NET_ANSWER)
		return egress_order_answer(x, &o->answer, e);
	if (o->kind == NET_LIST)
		return egress_order_list(x, e);
	if (make_wanted(&s->net, o, e) < 0 || check(s, o, e) < 0)
		return -1;
	return egress_order_set(x, &s->net.wanted, e);
}

static void send_next(struct supervisor *s)
{
	struct err e;

	while (s->net.first && !s->net.is_sent)
		if (send_order(s, s->net.first, &e) == 0)
			s->net.is_sent = true;
		else
			fail_first(s, &e);
}

static void append(struct net *n, struct net_order *o)
{
	struct net_order **end = &n->first;

	while (*end)
		end = &(*end)->next;
	*end = o;
	n->count++;
}

int net_queue(struct supervisor *s, struct net_order *o, struct err *e)
{
	if (s->net.count >= NET_ORDERS_MAX) {
		net_order_free(o);
		return err_set(e, ERR_BUSY, "%d requests about rules wait already",
			       NET_ORDERS_MAX);
	}
	o->client->under_way++;
	append(&s->net, o);
	send_next(s);
	return 0;
}

/* --- replies ------------------------------------------------------------------------ */

/* Returns what a client gets whose request has changed the rules. */
static char *result_of(const struct net_order *o, uint64_t cut)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	if (o->kind != NET_SET) {
		json_write_number(&b, "index", (int64_t)o->at);
		json_write_raw(&b, "rule", o->rules.items[0]);
	}
	json_write_number(&b, "cut", (int64_t)cut);
	json_write_close(&b, "}");
	return json_write_end(&b);
}

/* Tells of new rules in the registry's copy of the info, and as an event. */
static void tell_rules(struct supervisor *s, uint64_t cut)
{
	AUTO_FREE char *info = supervisor_info(s);
	AUTO_FREE char *more = text_format("\"rules\":%zu,\"cut\":%llu",
					   s->net.rules.count, (unsigned long long)cut);

	(void)registry_set_info(s->entry, info, NULL); /* as with `update`, clients ask
							* the supervisor meanwhile */
	supervisor_event(s, "net", more);
}

static void on_set(struct supervisor *s, const struct json_at *reply)
{
	const uint64_t cut = json_member_uint(reply, "cut", 0);
	struct net_order *o = take_first(&s->net);
	AUTO_FREE char *result = result_of(o, cut);

	replace(&s->net.rules, &s->net.wanted);
	tell_rules(s, cut);
	if (o->client)
		client_result(o->client, o->request, result);
	net_order_free(o);
}

static void forget_question(struct net *n, uint32_t id)
{
	size_t left = 0;

	for (size_t i = 0; i < n->question_count; i++)
		if (n->questions[i].id == id)
			free(n->questions[i].name);
		else
			n->questions[left++] = n->questions[i];
	n->question_count = left;
}

static void on_answered(struct supervisor *s)
{
	struct net_order *o = take_first(&s->net);

	forget_question(&s->net, o->answer.id);
	if (o->client)
		client_result(o->client, o->request, "{}");
	net_order_free(o);
}

static void on_list(struct supervisor *s, const struct json_at *reply)
{
	struct net_order *o = take_first(&s->net);
	AUTO_FREE char *result = net_list(s, reply);

	if (o->client)
		client_result(o->client, o->request, result);
	net_order_free(o);
}

static void on_error(struct supervisor *s, const struct json_at *reply)
{
	const struct net_order *o = s->net.first;
	const char *text = json_member_string(reply, "text", "");
	struct err e;

	if (o->kind == NET_ANSWER) {
		forget_question(&s->net, o->answer.id);
		(void)err_set(&e, ERR_NOT_FOUND, "no question %u waits for an answer",
			      o->answer.id);
		(void)err_remedy(&e, "a question waits for %d s, and for one answer",
				 QUESTION_MS / 1000);
	} else {
		(void)err_set(&e, ERR_INTERNAL, "hutch-egress has refused the rules: %s",
			      text);
		err_sanitize(&e);
	}
	fail_first(s, &e);
}

static void on_reply(struct supervisor *s, const struct json_at *line)
{
	struct json_at reply;

	if (!s->net.is_sent) /* the settings of the launch, or lines that were lost */
		return;
	const enum net_order_kind kind = s->net.first->kind;
	if (json_member(line, "set", &reply) && kind <= NET_REMOVE)
		on_set(s, &reply);
	else if (json_member(line, "answered", &reply) && kind == NET_ANSWER)
		on_answered(s);
	else if (json_member(line, "connections", &reply) && kind == NET_LIST)
		on_list(s, &reply);
	else if (json_member(line, "error", &reply))
		on_error(s, &reply);
	send_next(s);
}

/* --- questions ---------------------------------------------------------------------- */

/* Queues the answer no, of the supervisor's own. */
static void deny(struct supervisor *s, uint32_t id)
{
	struct net_order *o = mem_zeroed(1, sizeof(*o));

	*o = (struct net_order){ .kind = NET_ANSWER, .answer = { .id = id } };
	append(&s->net, o);
	send_next(s);
}

static char *question_json(const struct net_question *q)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_number(&b, "id", q->id);
	json_write_text(&b, "name", q->name);
	json_write_number(&b, "port", q->port);
	json_write_close(&b, "}");
	return json_write_end(&b);
}

static bool ask(struct client *c, const struct net_question *q)
{
	AUTO_FREE char *params = question_json(q);

	if (!c->answers_asks || lines_is_over(&c->conn.lines) ||
	    buffer_len(&c->conn.out) > CLIENT_HIGH)
		return false; /* it could not answer, or would not read it */
	rpc_put_notification(&c->conn.out, "net.ask", params);
	return true;
}

static void add_question(struct net *n, const struct net_question *q)
{
	if (n->question_count == NET_QUESTIONS_MAX) /* the oldest has no time left */
		forget_question(n, n->questions[0].id);
	n->questions[n->question_count++] = *q;
}

static void on_ask(struct supervisor *s, const struct json_at *at)
{
	const struct net_question q = {
		.id = (uint32_t)json_member_uint(at, "id", 0),
		.port = (uint16_t)json_member_uint(at, "port", 0),
		.name = text_copy(json_member_string(at, "name", "")),
		.asked_ms = s->now_ms,
	};
	bool is_asked = false;

	for (size_t i = 0; i < s->client_count; i++)
		is_asked |= ask(s->clients[i], &q);
	add_question(&s->net, &q);
	if (!is_asked)
		deny(s, q.id);
}

void net_tell(struct supervisor *s, struct client *c)
{
	for (size_t i = 0; i < s->net.question_count; i++)
		(void)ask(c, &s->net.questions[i]); /* on failure: another client is
						     * asked too */
}

void net_leave(struct supervisor *s, const struct client *c)
{
	for (struct net_order *o = s->net.first; o; o = o->next)
		if (o->client == c)
			o->client = NULL;
	for (size_t i = 0; i < s->client_count; i++)
		if (s->clients[i]->answers_asks)
			return;
	for (size_t i = 0; c->answers_asks && i < s->net.question_count; i++)
		deny(s, s->net.questions[i].id);
}

/* --- net.list ----------------------------------------------------------------------- */

static void put_questions(struct buffer *b, const struct supervisor *s)
{
	json_write_open(b, "questions", "[");
	for (size_t i = 0; i < s->net.question_count; i++) {
		const struct net_question *q = &s->net.questions[i];
		AUTO_FREE char *one = question_json(q);
		if (s->now_ms - q->asked_ms < QUESTION_MS)
			json_write_raw(b, NULL, one);
	}
	json_write_close(b, "]");
}

static void put_connection(struct buffer *b, const struct json_at *at)
{
	AUTO_FREE char *since = events_time((int64_t)json_member_uint(at, "since", 0));

	json_write_open(b, NULL, "{");
	json_write_number(b, "id", (int64_t)json_member_uint(at, "id", 0));
	json_write_text(b, "name", json_member_string(at, "name", NULL));
	json_write_text(b, "address", json_member_string(at, "address", NULL));
	json_write_number(b, "port", (int64_t)json_member_uint(at, "port", 0));
	json_write_text(b, "since", since);
	json_write_number(b, "up", (int64_t)json_member_uint(at, "up", 0));
	json_write_number(b, "down", (int64_t)json_member_uint(at, "down", 0));
	json_write_close(b, "}");
}

/* Null says that there is a listener at each port. */
static void put_ports(struct buffer *b, const struct egress *x)
{
	if (x->has_all_ports) {
		json_write_raw(b, "ports", "null");
		return;
	}
	json_write_open(b, "ports", "[");
	for (size_t i = 0; i < x->port_count; i++)
		json_write_number(b, NULL, x->ports[i]);
	json_write_close(b, "]");
}

char *net_list(const struct supervisor *s, const struct json_at *connections)
{
	const struct json_at none = { 0 };
	const struct json_at *from = connections ? connections : &none;
	AUTO_FREE char *rules = net_rules_json(&s->net.rules);
	struct json_at newest, item = { 0 };
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_raw(&b, "rules", rules);
	put_questions(&b, s);
	put_ports(&b, &s->launch->egress);
	json_write_number(&b, "open", (int64_t)json_member_uint(from, "open", 0));
	json_write_open(&b, "connections", "[");
	if (json_member(from, "newest", &newest))
		while (json_step(&newest, &item))
			put_connection(&b, &item);
	json_write_close(&b, "]}");
	return json_write_end(&b);
}

/* --- all ---------------------------------------------------------------------------- */

void net_news(struct supervisor *s, const struct egress_news *n)
{
	switch (n->kind) {
	case EGRESS_NEWS_ASK:
		on_ask(s, &n->value);
		break;
	case EGRESS_NEWS_SAID:
		on_reply(s, &n->value);
		break;
	case EGRESS_NEWS_LOST:
		net_end(s);
		break;
	case EGRESS_NEWS_NET:
		break;
	}
}

void net_end(struct supervisor *s)
{
	struct err e;

	while (s->net.first) {
		(void)err_set(&e, ERR_GONE,
			      "hutch-egress has ended, and with it the network of the "
			      "sandbox");
		fail_first(s, &e);
	}
	while (s->net.question_count)
		forget_question(&s->net, s->net.questions[0].id);
}

char *net_info(const struct supervisor *s)
{
	return s->launch->policy->network == NETWORK_ALLOW ? net_rules_json(&s->net.rules)
							   : text_copy("null");
}

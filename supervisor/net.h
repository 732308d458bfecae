/* net -- the rules about connections of a running sandbox (--network allow), and the
 * questions of rules that ask.
 *
 * Requests of clients are done in their order, one at a time:
 *
 *	net_queue	a request waits; the first one is sent to hutch-egress
 *	net_news	hutch-egress has replied: the request is answered, and the next is
 *			sent
 *
 * A request changes the rules as they are when it is sent, so that two clients do not undo
 * each other's changes.  The launched policy keeps the rules of the launch; net.rules has
 * those in force.
 *
 * A question is denied at once, unless a client has said that it answers questions
 * (`asks` of events.subscribe). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "egress/launch/egress_orders.h"

struct client;
struct egress_news;
struct err;
struct json_at;
struct supervisor;

#define NET_ORDERS_MAX	  16
#define NET_QUESTIONS_MAX 64 /* hutch-egress asks no more at a time */

enum net_order_kind { NET_SET, NET_ADD, NET_REMOVE, NET_ANSWER, NET_LIST };

/* A request that waits, or that hutch-egress has not replied to. */
struct net_order {
	enum net_order_kind kind;
	struct client *client; /* borrowed; NULL: it has left, or the order is the
				* supervisor's own */
	char *request;	       /* owned; its id; NULL where there is no client */
	struct list rules;     /* owned; SET: all; ADD: the one; REMOVE: when sent */
	size_t at;	       /* ADD, REMOVE: the rule's number; 0: see `target` */
	char *target;	       /* owned; REMOVE: that of the rule */
	struct egress_answer answer; /* ANSWER */
	struct net_order *next;
};

struct net_question {
	uint32_t id;
	uint16_t port;
	char *name; /* owned; a name or an address */
	int64_t asked_ms;
};

struct net {
	struct list rules;	 /* owned; in force */
	struct list wanted;	 /* owned; those that were sent */
	struct net_order *first; /* owned; the oldest one */
	size_t count;
	bool is_sent; /* hutch-egress has the first one */
	struct net_question questions[NET_QUESTIONS_MAX]; /* the oldest first */
	size_t question_count;
};

void net_init(struct net *n, const struct list *rules);
void net_done(struct net *n);

/* Takes over the order, whose client waits for its answer.  ERR_BUSY: NET_ORDERS_MAX wait
 * already; the order is freed. */
int net_queue(struct supervisor *s, struct net_order *o, struct err *e);
void net_order_free(struct net_order *o);

/* Handles a line of hutch-egress, if it is a question or a reply, or its end. */
void net_news(struct supervisor *s, const struct egress_news *n);

/* Tells a client that answers questions from now on those that wait. */
void net_tell(struct supervisor *s, struct client *c);

/* Called when a client has left. */
void net_leave(struct supervisor *s, const struct client *c);

/* Called when the sandbox has ended: answers all requests that wait. */
void net_end(struct supervisor *s);

/* Return JSON, allocated: the answer of net.list, with what hutch-egress has replied to
 * NET_LIST (NULL: it has ended, and no connection is open), and the rules for the info,
 * which are "null" without --network allow. */
char *net_list(const struct supervisor *s, const struct json_at *connections);
char *net_info(const struct supervisor *s);

/* egress_orders -- lines of JSON to hutch-egress, which change its rules and answer its
 * questions (supervisor_link.h has the lines).
 *
 *	egress_order_set, egress_order_answer, egress_order_list,
 *	egress_order_sync		queue a line
 *	egress_flush			sends lines, when egress_fd() is writable
 *
 * hutch-egress replies to each line with one of its own, in order, which egress_next()
 * gives as EGRESS_NEWS_SAID.  A caller that needs the replies awaits one before it queues
 * the next line.  No function waits: EGRESS_UNSENT_MAX bytes of lines are kept. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct egress;
struct egress_news;
struct egress_rules;
struct err;
struct list;

/* A line has at most SUPERVISOR_LINK_READ_MAX bytes; beside one there is room for
 * answers. */
#define EGRESS_UNSENT_MAX ((1u << 20) + (64u << 10))

struct egress_answer {
	uint32_t id; /* of the question */
	bool is_allowed;
	bool is_for_sandbox; /* the answer is good until the sandbox has ended */
};

/* Has the rules in force instead of the present ones; each is JSON as a policy file has
 * it.  ERR_LIMIT: they are too long; ERR_BUSY: other lines wait; ERR_GONE: hutch-egress
 * has ended. */
int egress_order_set(struct egress *x, const struct list *rules, struct err *e);
int egress_order_answer(struct egress *x, const struct egress_answer *answer,
			struct err *e);
/* Has the open connections listed. */
int egress_order_list(struct egress *x, struct err *e);

/* Asks whether hutch-egress has told all that the gate had sent; the news {"synced":id}
 * says so.  `id` is not 0.  A later question takes the place of one without a reply. */
int egress_order_sync(struct egress *x, uint32_t id, struct err *e);

/* Denies the question that is the news, where no client could answer it. */
void egress_deny(struct egress *x, const struct egress_news *question);

void egress_flush(struct egress *x);
bool egress_has_unsent(const struct egress *x);

/* Checks that the gate listens at each port that the rules name: it got its listeners at
 * the launch.  ERR_UNSUPPORTED names the first port without one. */
int egress_check_ports(const struct egress *x, const struct egress_rules *rules,
		       struct err *e);

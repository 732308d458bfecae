/* egress_rules -- the rules of one sandbox about connections out of it, in order.
 *
 * The first rule that matches decides; if none does, the connection is refused.
 *
 *	struct egress_rules r = { 0 };
 *	struct egress_word word = { EGRESS_ALLOW, "@pypi", .from = "--allow @pypi" };
 *
 *	egress_rules_add(&r, &word, e);
 *	egress_rules_lookup(&r, &name, &d);		a DNS question
 *	egress_rules_name(&r, &name, 443, &d);		a connection to a fake address
 *	egress_rules_resolved(&r, &address, 443, &d);	each address that the name has
 *	egress_rules_address(&r, &address, 443, &d);	a connection to a literal address
 *	egress_rules_done(&r);
 *
 * All questions are answered without allocation, in time linear in the rules.  A decision
 * holds an index, which is good until the rules change. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/egress/egress_rule.h"
#include "policy/egress/reason.h"

struct err;
struct json_at;

#define EGRESS_RULES_MAX 1024
#define EGRESS_NO_RULE	 SIZE_MAX /* the index of the default */

struct egress_rules {
	struct egress_rule *items; /* owned */
	size_t count, room;
	uint16_t ports[EGRESS_PORTS_MAX]; /* ascending: those that allowing and asking
					   * rules name, 80 and 443 included if they do */
	size_t port_count;
	bool has_all_ports; /* a rule is about every port, or they name more than fit into
			     * `ports`: this needs TPROXY (egress/gate/tproxy.h) */
};

/* A rule as it is said. */
struct egress_word {
	enum egress_verdict verdict;
	const char *target; /* egress_rule.h, or @NAME for the rules of a preset */
	const char *why;    /* NULL: none */
	const char *from;   /* the flag or file, for errors and events; NULL: unknown */
	bool has_any_tls;
	const char *as; /* the name of @host:PORT inside; NULL: EGRESS_HOST_NAME */
};

void egress_rules_done(struct egress_rules *r);

/* Makes room for so many rules, or for EGRESS_RULES_MAX if that is less. */
void egress_rules_reserve(struct egress_rules *r, size_t count);

/* Adds a rule, or those of a preset, behind all others, or before the rule `at`.
 * ERR_USAGE, ERR_NOT_FOUND (a preset) or ERR_LIMIT; on failure nothing is added. */
int egress_rules_add(struct egress_rules *r, const struct egress_word *word,
		     struct err *e);
int egress_rules_insert(struct egress_rules *r, size_t at, const struct egress_word *word,
			struct err *e);

/* Adds a rule of a policy file, a JSON object such as {"deny": "a.org", "why": "..."};
 * docs/hutch-net.md has its members. */
int egress_rules_add_json(struct egress_rules *r, const char *json, const char *from,
			  struct err *e);
/* The same for an object in a text that has been parsed (json.h). */
int egress_rules_add_value(struct egress_rules *r, const struct json_at *value,
			   const char *from, struct err *e);

/* Removes the rule with that index. */
void egress_rules_remove(struct egress_rules *r, size_t at);

struct egress_decision {
	enum egress_verdict verdict;
	enum reason reason;
	size_t rule; /* the index of the rule that decides; with REASON_PORT that of the
		      * first one which is about the destination; EGRESS_NO_RULE: none */
};

/* How a question for a name is to be answered. */
enum egress_lookup {
	EGRESS_LOOKUP_REFUSED, /* no port of it can be had: an address of the pool that
				* is prohibited, or NXDOMAIN where
				* host_name_is_special() */
	EGRESS_LOOKUP_ASKED, /* a rule with a wildcard, or one that asks: a fake address,
				* and nothing leaves before the connection */
	EGRESS_LOOKUP_ALLOWED, /* an allowing rule has exactly this name: it may be looked
				* up upstream at once (but not if the rule is of
				* EGRESS_LOOPBACK: its name is known here alone) */
};

/* Judges a name for all ports at once.  *ret, which may be NULL, gets the rule that gave
 * the answer: for a refusal the deny rule, if there is one. */
enum egress_lookup egress_rules_lookup(const struct egress_rules *r,
				       const struct host_name *name,
				       struct egress_decision *ret);

/* Judges a connection to a name. */
void egress_rules_name(const struct egress_rules *r, const struct host_name *name,
		       uint16_t port, struct egress_decision *ret);

/* Judges an address that an allowed name has led to: rules for networks alone are asked,
 * wherever they stand among the others.  Without one a public address is allowed, with
 * REASON_NO_RULE, and any other refused.  Not for a connection that a rule of kind
 * EGRESS_LOOPBACK allows: its address is 127.0.0.1 or ::1, and no name is resolved. */
void egress_rules_resolved(const struct egress_rules *r, const struct address *a,
			   uint16_t port, struct egress_decision *ret);

/* Judges a connection to an address which the program inside has named itself. */
void egress_rules_address(const struct egress_rules *r, const struct address *a,
			  uint16_t port, struct egress_decision *ret);

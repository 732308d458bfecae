/* net_rules -- lists of rules about connections, and how one becomes another.
 *
 * A rule is JSON in one form, so that it is found by its target: {"deny":"a.org","why":
 * "..."}.  Rules are numbered from 1, in their order.  The functions make a new list and
 * leave the old one as it is, since the new rules are in force only when hutch-egress has
 * said so. */
#pragma once
#include <stddef.h>

struct egress_rules;
struct err;
struct json_at;
struct list;

/* Checks a rule of a client, an object such as a policy file has, and returns it in that
 * one form, allocated.  NULL: it is refused. */
char *net_rules_read(const struct json_at *rule, struct err *e);

/* Makes *ret, which is empty, of the rules and one more, which gets the number `at`.
 * ERR_USAGE: there are fewer rules than at - 1. */
int net_rules_insert(const struct list *rules, size_t at, const char *rule,
		     struct list *ret, struct err *e);

/* Makes *ret, which is empty, of the rules without number `at`, which is in range. */
void net_rules_remove(const struct list *rules, size_t at, struct list *ret);

/* Returns the number of the first rule with this target; 0: there is none. */
size_t net_rules_find(const struct list *rules, const char *target);

/* Parses rules into *ret, which is zeroed.  ERR_LIMIT: there are more than a sandbox may
 * have, or they name more ports. */
int net_rules_parse(const struct list *rules, struct egress_rules *ret, struct err *e);

/* Returns the rules as a JSON array, allocated. */
char *net_rules_json(const struct list *rules);

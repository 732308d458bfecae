/* egress_policy -- the rules about connections of a policy, as text (docs/hutch-net.md).
 *
 * A rule is kept as a JSON object, the form that a policy file has, so that flags, files
 * and the saved options of a sandbox say it in one way.  Beside its text the policy has
 * the rule as policy/egress/ judges by it, so that a launch reads each text once. */
#pragma once
#include "policy/egress/egress_rule.h"

struct err;
struct policy;

/* Returns the value of --allow, --deny or --ask as a rule in JSON, allocated: "pypi.org"
 * becomes {"allow":"pypi.org"}, "a.org=not here" of --deny {"deny":"a.org","why":"not
 * here"}, and an object stays as it is, but on one line. */
char *egress_policy_text(enum egress_verdict verdict, const char *word);

/* Returns the rule as a user would say it, on one line, allocated: "--allow pypi.org" if
 * that says all of it, else the JSON. */
char *egress_policy_line(const char *json);

/* Checks that a text is a rule in JSON. */
int egress_policy_check_text(const char *json, struct err *e);

/* Checks the value of such a flag, and adds it to the policy, which then has the network
 * of rules unless it has another, or a flag has said that it has none. */
int egress_policy_add(struct policy *p, enum egress_verdict verdict, const char *word,
		      struct err *e);

/* Does the same, and leaves it to the caller to say in an error where the word is from. */
int egress_policy_take(struct policy *p, enum egress_verdict verdict, const char *word,
		       struct err *e);

/* Takes the value of --network-join, NETWORK or NETWORK:PORT: the policy has joined the
 * network, and with a port has a rule for that port of its sandboxes. */
int egress_policy_join(struct policy *p, const char *word, struct err *e);

/* Checks the name of a sandbox: in a network, others reach it by that name, which is part
 * of one in DNS. */
int egress_policy_check_name(const struct policy *p, const char *name, struct err *e);

/* Checks all rules of a policy together.  ERR_USAGE: the network is another one than
 * NETWORK_ALLOW; ERR_LIMIT: there are too many rules. */
int egress_policy_check(const struct policy *p, struct err *e);

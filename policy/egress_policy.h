/* egress_policy -- the rules about connections of a policy, as text (docs/hutch-net.md).
 *
 * A rule is kept as a JSON object, the form that a policy file has, so that flags, files
 * and the saved options of a sandbox say it in one way.  policy/egress/ judges by it. */
#pragma once

struct err;
struct policy;

#define EGRESS_FLAG "--allow "

/* Returns the value of --allow as a rule in JSON, allocated: "pypi.org" becomes
 * {"allow":"pypi.org"}, and an object stays as it is. */
char *egress_policy_text(const char *word);

/* Checks that a text is a rule in JSON. */
int egress_policy_check_text(const char *json, struct err *e);

/* Checks the value of --allow, and adds it to the policy. */
int egress_policy_add(struct policy *p, const char *word, struct err *e);

/* Checks all rules of a policy together. */
int egress_policy_check(const struct policy *p, struct err *e);

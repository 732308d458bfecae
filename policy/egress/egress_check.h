/* egress_check -- finds rules that are valid and yet not what their author meant. */
#pragma once
#include <stddef.h>

#include "policy/egress/egress_rules.h"

enum egress_warning_kind {
	EGRESS_WARN_REPEATED,	 /* an earlier rule decides the same for all of its
				  * destinations */
	EGRESS_WARN_UNREACHABLE, /* an earlier rule decides otherwise for all of them, so
				  * that this one is never asked */
	EGRESS_WARN_PORTS,    /* it denies, and an earlier rule allows or asks for some of
				  * its ports: the two contradict each other in part */
	EGRESS_WARN_ANY,      /* each public name is allowed */
	EGRESS_WARN_WIDE,     /* a network of more than 2^24 IPv4 or 2^96 IPv6 addresses
				  * is allowed */
	EGRESS_WARN_LABEL,    /* the name of a preset stands without its @ */
	EGRESS_WARN_HOST,     /* a name that does not lead to this host, as its author
			       * may think: localhost, host */
	EGRESS_WARN_TOP,      /* each name below a top-level domain is allowed, such as
				  * *.com */
	EGRESS_WARN_RESOLVER, /* a public DNS resolver over HTTPS is allowed, by which
				  * names are resolved and data leaves without a trace */
	EGRESS_WARNINGS
};

struct egress_warning {
	enum egress_warning_kind kind;
	size_t rule;  /* index */
	size_t other; /* index of the earlier rule; EGRESS_NO_RULE: none */
};

/* Gives at most one warning a rule, in their order; *ret is allocated.  Returns the
 * number.  The time is quadratic in the rules, of which there are at most
 * EGRESS_RULES_MAX: for programs that check, not for a launch. */
size_t egress_rules_check(const struct egress_rules *r, struct egress_warning **ret);

/* The same without comparing rules with each other, in time linear in them. */
size_t egress_rules_check_alone(const struct egress_rules *r,
				struct egress_warning **ret);

/* Returns the warning as a sentence, allocated. */
char *egress_warning_text(const struct egress_rules *r, const struct egress_warning *w);

/* reason -- why a connection was refused or allowed, in one word for audit lines, events
 * and errors. */
#pragma once

enum egress_reason {
	EGRESS_BY_NO_RULE,   /* "no-rule": no rule is about this destination */
	EGRESS_BY_RULE,	     /* "rule": a rule allows, refuses or asks */
	EGRESS_PORT,	     /* "port": rules are about this destination, none about this port */
	EGRESS_PRIVATE,	     /* "private-address": no name leads there, and no rule names it */
	EGRESS_METADATA,     /* "metadata": the metadata service of a cloud */
	EGRESS_OWN_ADDRESS,  /* "own-address": an address of this host */
	EGRESS_NO_NAME,	     /* "no-name": a literal address, or a fake one without a name */
	EGRESS_NAME_INVALID, /* "name-invalid": the name breaks the rules of host_name.h */
	EGRESS_SNI,	     /* "sni-mismatch" */
	EGRESS_HOST,	     /* "host-mismatch" */
	EGRESS_LIMIT,	     /* "limit": a bound on connections, names or memory */
	EGRESS_UPSTREAM,     /* "upstream-failed": it could not be resolved or reached */
	EGRESS_LOST,	     /* "egress-lost": one of the two processes has ended */
	EGRESS_REASONS
};

const char *egress_reason_word(enum egress_reason reason);

/* reason -- why a connection or a name was refused: the one list that rules,
 * frames, events, audit lines and observations share. */
#pragma once

/* The numbers are sent in frames (frames.h), so both processes must be of one build;
 * FRAMES_VERSION says so. */
enum reason {
	REASON_NONE,		/* not refused, or a connection that ended by itself */
	REASON_NO_RULE,		/* no rule names this host: the default is to deny */
	REASON_RULE,		/* a rule decides; of a refusal, a `deny` rule */
	REASON_NOT_ANSWERED,	/* an `ask` rule: denied by the client, or no answer */
	REASON_PORT,		/* rules name this host, but not this port */
	REASON_NO_NAME,		/* the address has no name, and no CIDR rule has it */
	REASON_NAME_INVALID,	/* the name is none that a rule could have */
	REASON_PRIVATE_ADDRESS, /* the name leads to a private or special address */
	REASON_METADATA,	/* the name leads to a cloud's metadata service */
	REASON_HOST_ADDRESS,	/* the name leads to an address of this host */
	REASON_SNI_MISMATCH,	/* TLS asks for another name than the connection's */
	REASON_SNI_MISSING,	/* TLS names no host, and the rule has no `tls: any` */
	REASON_TLS_INVALID,	/* the first flight is no ClientHello that can be read */
	REASON_HOST_MISMATCH,	/* HTTP asks for another host than the connection's */
	REASON_HTTP_INVALID,	/* the request can be read in more than one way */
	REASON_HTTP_FORBIDDEN,	/* CONNECT, or an upgrade to other than websocket */
	REASON_LIMIT,		/* too many connections, names, or new names a minute */
	REASON_RULE_REMOVED,	/* the rule that had allowed the connection was removed */
	REASON_UPSTREAM_FAILED, /* the name has no address, or none could be reached */
	REASON_EGRESS_LOST,	/* hutch-egress has ended */
	REASON_UDP,		/* a datagram, but to port 53: none leaves */
	REASON_COUNT
};

/* Returns the word of JSON and audit lines, such as "no-rule"; "" for REASON_NONE, and
 * "unknown" for a number that is no reason. */
const char *reason_word(unsigned reason);

/* Returns the words for people, which can follow "refused: ", such as "no rule allows
 * this host".  Never empty. */
const char *reason_text(unsigned reason);

/* net_line -- one decision about a connection or a name, as a line of JSON for the
 * supervisor, which makes an event and an audit line of it.
 *
 *	{"net":{"time":MS,"verdict":"allow","rule":"pypi.org","reason":null,
 *	 "name":"pypi.org","port":443,"address":"151.101.0.223","cname":null,
 *	 "tls":{"sni":"pypi.org","alpn":"h2"},"id":7,"ms":12}}
 *
 * "time" is ms since 1970.  "verdict" is "allow" when the connection is made, "deny" when
 * it is refused, "end" when one that was allowed has ended: then "up" and "down" are its
 * bytes as the gate has counted them, and "ms" its duration; "reason" says what cut it.
 * In "allow" and "deny" "ms" is the time that the decision took.  "asked" is true where a
 * user has answered.  "why" is the reason that a rule gives which denies.  "by" is "gate" for what the gate refused itself, and "count" how
 * many of a kind the line stands for.  Members that are unknown are null. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "policy/egress/reason.h"

struct buffer;

struct net_line {
	const char *verdict;
	const char *rule; /* text; NULL: none has decided */
	const char *why;  /* the reason that this rule gives; NULL: none */
	enum reason reason;
	const char *name;		/* "" or NULL: none */
	const char *address;		/* "" or NULL: none */
	const char *cname, *sni, *alpn; /* "" or NULL: none */
	uint16_t port;			/* 0: a question for a name */
	bool is_asked, is_gates, is_end;
	uint32_t id; /* of the connection; 0: none */
	uint32_t count;
	uint64_t up, down; /* with is_end */
	int64_t ms;
	int64_t time; /* ms since 1970 */
};

/* Appends the line with its "\n". */
void net_line_write(struct buffer *b, const struct net_line *x);

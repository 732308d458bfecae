/* audit_net -- records decisions about connections (egress/net_line.h) in the audit log.
 *
 *	audit_net		each decision that is to be recorded
 *	audit_net_tell_lost	when no decision comes any more, before the sandbox's end
 *
 * Programs inside choose how often they connect.  So at most AUDIT_NET_MAX entries about
 * connections that were allowed are written a second, and the others are counted: the
 * entry `net-lost` says how many they were, and how many bytes the connections had that
 * ended with them, so that no program hides what it sends behind a crowd of connections.
 * That entry is written before the next entry `net`, and at the end.  Refusals are always
 * written: the caller passes few of them (refused_host_is_news()). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct audit;
struct json_at;

#define AUDIT_NET_MAX	    100
#define AUDIT_NET_SECOND_MS 1000

struct audit_net {
	int64_t began; /* when the second began in which entries are counted */
	unsigned written; /* entries about allowed connections in it */
	uint64_t lost; /* decisions that were not recorded since the last `net-lost` */
	uint64_t up, down; /* bytes of the connections that ended with these decisions */
};

/* `now` is in ms of base/clock.h. */
void audit_net(struct audit *a, const struct json_at *net, int64_t now);
/* Returns whether an entry about a connection from outside may be written now, which other
 * sandboxes choose like programs inside.  If not, it is counted. */
bool audit_net_begin(struct audit *a, int64_t now);
/* Counts decisions that were lost on the way here. */
void audit_net_lost(struct audit *a, uint64_t count);
/* Writes the entry `net-lost`, if decisions were not recorded. */
void audit_net_tell_lost(struct audit *a);

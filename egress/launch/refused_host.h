/* refused_host -- the hosts that rules about connections have refused, for a result, an
 * event and an observation.
 *
 * The table has a row for each host, port and reason, REFUSED_HOSTS_MAX at most, since
 * programs inside compose the names.  Its last row counts all others. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/egress/reason.h"

struct json_at;
struct list;

#define REFUSED_HOSTS_MAX 64
#define REFUSED_HOST_LEN  254 /* a name or an address, and its NUL */

struct refused_host {
	char host[REFUSED_HOST_LEN]; /* "": hosts for which the table had no row */
	char rule[328];		     /* the rule that refuses; "": none */
	char why[304];		     /* the reason that it gives; "": none */
	uint16_t port;		     /* 0: a question for the name */
	enum reason reason;
	uint64_t count;
};

struct refused_hosts {
	struct refused_host *items; /* owned; NULL: none so far */
	size_t count;
};

void refused_hosts_done(struct refused_hosts *r);

/* Counts a decision (net_line.h), if it is a refusal.  Returns its row, valid until the
 * next call; NULL: it is none. */
const struct refused_host *refused_hosts_add(struct refused_hosts *r,
					     const struct json_at *net);

/* Counts one more refusal of a host that is in another table. */
void refused_hosts_count(struct refused_hosts *r, const struct refused_host *h);

/* Returns whether the latest refusal is to be reported: the first, the tenth, the
 * hundredth, ..., so that a program cannot flood the log. */
bool refused_host_is_news(const struct refused_host *h);

/* --- words, all allocated ----------------------------------------------------------- */

/* Returns the members of a JSON object, as refused_call_members() does. */
char *refused_host_members(const struct refused_host *h);
/* Returns "a connection to gist.github.com:443 was refused, 3 times (network: no rule
 * allows this host)". */
char *refused_host_sentence(const struct refused_host *h);
/* Returns what would allow it, such as "--allow gist.github.com:8080". */
char *refused_host_remedy(const struct refused_host *h);

/* Returns all rows as the elements of a JSON array, without its brackets. */
char *refused_hosts_json(const struct refused_hosts *r);

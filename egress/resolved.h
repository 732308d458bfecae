/* resolved -- an answer about a name: its addresses, from DNS or from /etc/hosts.
 *
 * The content is the network's, so a hostile one: at most RESOLVED_MAX addresses are
 * kept, and each is judged before it is tried (verdict.h). */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "policy/egress/address.h"
#include "policy/egress/host_name.h"

#define RESOLVED_MAX 16 /* addresses that are kept of an answer, 8 of each family */

enum resolved_status {
	RESOLVED_FAILED,   /* no server has answered, or none with sense */
	RESOLVED_FOUND,	   /* there is an address */
	RESOLVED_EMPTY,	   /* the name exists, and has none */
	RESOLVED_NXDOMAIN, /* the name does not exist */
};

struct resolved {
	enum resolved_status status;
	struct address addresses[RESOLVED_MAX];
	size_t count;
	struct host_name cname; /* the name's last alias, for the audit; empty: none */
	uint32_t ttl;		/* s; the least of all addresses' */
};

/* Adds an address, if there is room for one more of its family. */
void resolved_add(struct resolved *r, const struct address *a);

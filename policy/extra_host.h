/* extra_host -- names that --add-host gives to addresses, or to this host's loopback.
 *
 *	db:10.0.0.5		a line of /etc/hosts inside; also db:fd00::7, db:[fd00::7]
 *	db:host-gateway		each port of this host's loopback that a rule opens
 *				(@host:PORT, policy/egress/egress_rule.h), which inside is
 *				host.hutch.internal, is reached as db as well
 *
 * For the second form each such rule is followed by another one with the name in its
 * member "as".  The two lists, of rules and of names, may grow in any order. */
#pragma once
#include <stdbool.h>

#include "policy/egress/address.h"
#include "policy/egress/host_name.h"

struct err;
struct policy;

#define EXTRA_HOSTS_MAX 256

struct extra_host {
	struct host_name name;
	bool is_gateway;	/* "host-gateway" stands in place of an address */
	struct address address; /* of no meaning with is_gateway */
};

/* Reads NAME:ADDRESS or NAME:host-gateway. */
int extra_host_parse(const char *word, struct extra_host *ret, struct err *e);

/* Checks the value of --add-host, and adds it to the policy. */
int extra_host_add(struct policy *p, const char *word, struct err *e);

/* Adds a rule for each name of the loopback behind the rule of the policy that was added
 * last, if that is about the loopback. */
void extra_host_follow(struct policy *p);

/* Checks that a rule opens a port for each name of the loopback. */
int extra_host_check(const struct policy *p, struct err *e);

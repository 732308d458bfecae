/* sandbox_name -- the names by which sandboxes of one network reach each other.
 *
 * SANDBOX.NETWORK.hutch.internal is the sandbox SANDBOX, if it has joined the network
 * (--network-join).  Such a name is known on this host alone, and is never asked of a
 * resolver.  host.hutch.internal (EGRESS_HOST_NAME) is none.
 *
 * The text may come from inside a sandbox: nothing is allocated, and the time is linear. */
#pragma once
#include <stdbool.h>

#define SANDBOX_NAME_ZONE      "hutch.internal"
#define SANDBOX_NAME_LABEL_MAX 63
/* Bytes of a network's name: the names of all networks stand in one line of
 * resolv.conf(5), of which musl takes 256 bytes. */
#define SANDBOX_NAME_NETWORK_MAX 32
#define SANDBOX_NAME_JOINS_MAX	 4 /* networks that one sandbox has joined */

struct sandbox_name {
	char sandbox[SANDBOX_NAME_LABEL_MAX + 1];
	char network[SANDBOX_NAME_LABEL_MAX + 1];
};

/* Returns whether a name, in the form of host_name.h, stands below the zone. */
bool sandbox_name_is(const char *name);

/* Reads such a name.  False: it has not exactly these labels; *ret is then untouched. */
bool sandbox_name_read(const char *name, struct sandbox_name *ret);

/* Returns whether a text may be the name of a network: a label in lower case. */
bool sandbox_name_is_network(const char *text);

/* Returns whether other sandboxes can reach a sandbox of this name. */
bool sandbox_name_is_reachable(const char *sandbox);

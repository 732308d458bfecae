/* connector_confine -- takes away all rights that the connector of hutch-route does not need.
 *
 *	capabilities	all, and it sets no_new_privs
 *	seccomp		the calls in policy/seccomp/connector.json: files are opened for reading
 *			alone, which a look-up of names needs; sockets are of IPv4 and IPv6; nothing
 *			is executed, and no process is signalled
 *
 * Its children, which connect, inherit that.  A call that is not in the list fails with ENOSYS. */
#pragma once

struct err;

int connector_confine(struct err *e);

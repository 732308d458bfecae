/* tproxy -- sends every TCP port of the gateway's namespace to one listener.
 *
 * A rule may be about each port of a host ("pypi.org:*"), or about many.  A listener a
 * port would cost 3.9 KiB of the kernel's memory each; so one rule of nf_tables hands each
 * TCP connection to a single transparent listener instead.  The kernel changes no address
 * for that, as it does for REDIRECT, so that getsockname(2) still gives the address and
 * the port that were meant (Documentation/networking/tproxy.rst).
 *
 * The messages are few and always the same; a library for them would be larger than this
 * file, and libnl has no part for nf_tables. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

/* Makes the rule in the network namespace of this process, which needs CAP_NET_ADMIN
 * there.  The listener at `port` must have IP_TRANSPARENT.  ERR_UNSUPPORTED names the
 * kernel's module that is missing.  The rule ends with the namespace. */
int tproxy_make(bool has_ipv6, uint16_t port, struct err *e);

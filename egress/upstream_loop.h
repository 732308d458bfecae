/* upstream_loop -- the marks by which the loop of hutch-egress knows descriptors in its
 * epoll set: the high half of epoll_data, with the descriptor in the low half. */
#pragma once

#define UPSTREAM_RESOLVER   (1ull << 32)
#define UPSTREAM_ATTEMPT    (2ull << 32)
#define UPSTREAM_GATE	    (3ull << 32)
#define UPSTREAM_SUPERVISOR (4ull << 32)
#define UPSTREAM_PEERS	    (5ull << 32)

/* peer_frames -- the messages between hutch-egress and the process that connects to other
 * sandboxes (sandbox/launch/peers.h), on a socketpair of SOCK_SEQPACKET.
 *
 *	hutch-egress				peers
 *	request(ticket, name, port)  ───▶
 *			◀───  reply(ticket, has_found) + 1 descriptor
 *
 * The descriptor is a connected stream socket.  With port 0 the request only asks whether
 * there is such a sandbox, and the reply has no descriptor.  Both are of one build and
 * on one host, so a message is its struct; the receiver refuses another length. */
#pragma once
#include <stdint.h>

#include "policy/egress/sandbox_name.h"

struct peer_request {
	uint32_t ticket; /* chosen by hutch-egress, 1 at least */
	uint32_t port;	 /* 0 to 65535 */
	struct sandbox_name name;
};

struct peer_reply {
	uint32_t ticket;
	uint32_t has_found;
};

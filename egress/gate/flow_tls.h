/* flow_tls -- reads the first flights of TLS on a connection (client_hello.h). */
#pragma once
#include <stdbool.h>

struct flow;
struct gate;

/* Looks at the guest's bytes, which stay in the socket.  A whole ClientHello for the
 * flow's name may go on, and is followed by an OPEN if none was sent; bytes that are no
 * TLS are opaque if the rule names the port, and else refused.  Returns false if the flow
 * is gone. */
bool flow_tls_read(struct gate *g, struct flow *f);

/* Looks at the server's first flight.  Returns false while it is not whole.  Afterwards
 * the guest's next bytes are opaque, or are to be a second ClientHello. */
bool flow_tls_read_server(struct flow *f);

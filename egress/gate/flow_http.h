/* flow_http -- reads the requests of HTTP/1 on a connection (http_head.h), and sends them
 * on unchanged.
 *
 * The guest's bytes go through a buffer, in which each head is read before a byte of it
 * is sent.  The server's bytes are opaque, but for the answer to a websocket's request. */
#pragma once
#include <stdbool.h>

struct flow;
struct gate;

void flow_http_begin(struct flow *f);
void flow_http_done(struct flow *f);

/* Reads and sends what can be.  The first head that was read is followed by an OPEN.
 * Returns false if the flow is gone. */
bool flow_http_move(struct gate *g, struct flow *f);

/* Looks at the server's answer where it decides whether the connection becomes a
 * websocket.  Returns true if the server's bytes may go on; false if they are to wait, or
 * if the flow is gone. */
bool flow_http_read_server(struct gate *g, struct flow *f);

/* Returns whether the guest has ended and everything of it was sent. */
bool flow_http_is_over(const struct flow *f);

/* Answers the guest with 403 and a sentence.  Returns false if it could not be sent. */
bool flow_http_forbid(struct flow *f, unsigned reason);

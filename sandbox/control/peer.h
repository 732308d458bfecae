/* peer -- who is at the other end of a connection.
 *
 * A guest that reached the socket would have its owner's uid, as every process in
 * its user namespace has for us.  So the peer must be in our own user namespace,
 * and what cannot be told is refused. */
#pragma once

struct err;

/* 0: it is the owner.  -1: somebody else, or it cannot be told. */
int peer_check(int fd, struct err *e);

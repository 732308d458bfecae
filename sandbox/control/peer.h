/* peer -- who is at the other end of a connection.
 *
 * A guest that reached the socket would have its owner's uid, as every process in
 * its user namespace has for us.  So the peer must be in our own user namespace,
 * and what cannot be told is refused. */
#pragma once
#include <stdbool.h>

struct err;

/* Whether peer_check() knows who is who where it may not look into the peer: in a
 * Landlock domain.  Then it goes by the peer's id maps, as they look from here, which
 * are ours in our own namespace.  In a child of it they can look the same only where
 * ours map ids to ids that we have ourselves (an outer container may); or where root
 * made that, with all of its own ids. */
bool peer_can_tell(void);

/* 0: it is the owner.  -1: somebody else, or it cannot be told. */
int peer_check(int fd, struct err *e);

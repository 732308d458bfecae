/* peer -- who is at the other end of a connection.
 *
 * A guest that reached the socket would have its owner's uid, as every process in
 * its user namespace has for us.  So the peer must be in our own user namespace,
 * and what cannot be told is refused. */
#pragma once
#include <stdbool.h>

#include <sys/types.h>

struct err;

/* What a peer is compared with: our own user namespace, which stays as it is. */
struct peer_self {
	dev_t dev; /* of the namespace */
	ino_t ino;
	char *uid_map, *gid_map; /* owned; as /proc/self shows them */
	bool can_tell; /* see below */
};

/* What cannot be read makes peer_check() refuse whom it would have told by that. */
void peer_self_init(struct peer_self *self);
void peer_self_done(struct peer_self *self);

/* `can_tell`: whether peer_check() knows who is who where it may not look into the
 * peer: in a Landlock domain.  Then it goes by the peer's id maps, as they look from
 * here, which are ours in our own namespace.  In a child of it they can look the same
 * only where ours map ids to ids that we have ourselves (an outer container may); or
 * where root made that, with all of its own ids. */

/* 0: it is the owner.  -1: somebody else, or it cannot be told. */
int peer_check(const struct peer_self *self, int fd, struct err *e);

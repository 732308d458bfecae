/* peer -- checks the process at the other end of a connection.
 *
 * A process inside that reached the socket would have its owner's uid, as every process
 * in its user namespace has from our point of view.  So the peer must be in our
 * own user namespace, and a peer for which that cannot be determined is
 * refused. */
#pragma once
#include <stdbool.h>

#include <sys/types.h>

struct err;

/* Our own user namespace, which never changes and which peers are compared
 * with. */
struct peer_self {
	dev_t dev; /* device and inode of our namespace */
	ino_t ino;
	char *uid_map, *gid_map; /* owned; our id maps, as /proc/self shows them */
	bool can_tell; /* the id maps can tell a peer from a process inside (see below) */
};

/* Reads our own namespace and id maps.  If a file cannot be read, peer_check() refuses
 * every peer that the file would be needed for. */
void peer_self_init(struct peer_self *self);
void peer_self_done(struct peer_self *self);

/* `can_tell`: whether peer_check() can decide in a Landlock domain, where it
 * may not look into the peer.  It then compares the peer's id maps, as they
 * look from here, with ours; in our own namespace they are equal.  In a child
 * namespace they can look equal only where our maps map ids to ids that we have
 * ourselves (an outer container may), or where root made the child, with all of
 * root's own ids. */

/* Checks the process behind the socket `fd`.  0: the peer is the owner's process.  -1:
 * it is another's, or that cannot be determined. */
int peer_check(const struct peer_self *self, int fd, struct err *e);

/* peer -- checks that the process at the other end of a connection is not in a sandbox.
 *
 * Seen from the host, processes in a sandbox have the uid of its owner.  So the uid is
 * not enough to recognize the owner's own processes: a peer must be in our own user
 * namespace, and is refused if that cannot be determined. */
#pragma once
#include <stdbool.h>

#include <sys/types.h>

struct err;

/* The supervisor's own user namespace, which never changes; peers are compared with
 * it. */
struct peer_self {
	dev_t dev; /* device and inode of /proc/self/ns/user */
	ino_t ino;
	char *uid_map, *gid_map; /* owned; our id maps, as /proc/self shows them */
	bool can_tell; /* id maps suffice to recognize a peer in another namespace (see
			* below) */
	bool is_in_domain; /* this process is in a Landlock domain: the peer's namespace is
			    * not looked at, since the kernel would refuse that */
};

/* Reads our own namespace and id maps.  If one of the files cannot be read,
 * peer_check() refuses all peers for which it needs that file. */
void peer_self_init(struct peer_self *self);
void peer_self_done(struct peer_self *self);

/* About `can_tell`.  A process in a Landlock domain may not read a peer's /proc/PID/ns.
 * It can compare the peer's id maps, as they look from here, with its own; they are
 * equal if the peer is in the same namespace.  The maps of a child namespace can look
 * the same in two cases only: our own maps map ids to ids that we have ourselves, as in
 * some containers, or root has made the child and mapped all its own ids. */

/* Checks the process at the other end of the socket `fd`.  0: it is a process of the
 * owner, outside of sandboxes.  -1: it is not, or that cannot be determined. */
int peer_check(const struct peer_self *self, int fd, struct err *e);

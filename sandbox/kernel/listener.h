/* listener -- the listening socket on the host for a published port
 * (policy/port_spec.h).
 *
 * bind(2) itself allocates a port from a range: the kernel gives the port to one
 * socket alone, which holds it until the sandbox ends.  So two sandboxes that are
 * made at once never have the same port, and no file has to say which sandbox has
 * which port.  Such a port is bound without SO_REUSEADDR, so that no earlier
 * connection to it exists still; a port that the user named is bound with
 * SO_REUSEADDR, so that the port can be had again at once. */
#pragma once
#include <stdbool.h>

struct err;
struct list;
struct port_spec;

struct listener {
	int fd;	    /* owned; listens and does not block */
	char *host; /* owned: "127.0.0.1:8080", "[::1]:8080" or a path */
	bool is_shared; /* another process made the socket, and may have it still */
};

/* Opens the socket that `p` asks for.  Only its owner can connect to a unix socket;
 * an old unix socket of this user's at the path, at which no process listens, is
 * replaced. */
int listener_open(const struct port_spec *p, struct listener *ret, struct err *e);
/* Adopts a descriptor that another process has made.  0: the descriptor is a
 * listening stream socket, and is taken over. */
int listener_adopt(int fd, struct listener *ret, struct err *e);
/* Makes this process ready to accept from adopted sockets; to be called once,
 * before.  Takes SIGALRM and the real-time timer of the process for that purpose. */
void listener_expect_shared(void);
/* Returns the next connection in the queue, which does not block.  -1 with errno
 * set; EAGAIN or EINTR: no connection waits. */
int listener_accept(const struct listener *l);
/* Closes the socket.  A unix socket's path stays; listener_remove() removes it. */
void listener_done(struct listener *l);

/* Removes a unix socket of this user's at which no process listens; any other
 * file stays. */
void listener_remove(const char *path);
void listener_remove_all(const struct list *paths); /* `paths` may be NULL */

/* Notes the path of a unix socket in the folder of the sandbox's registry entry, for
 * the janitor, if the socket is published while the sandbox lives.  A path is noted
 * once, even if it is published again.  ERR_LIMIT: the notes would be longer than
 * the janitor reads.  A forged note gets no other kind of file removed. */
int listener_note(int folder, const char *path, struct err *e);
void listener_remove_listed(int folder);

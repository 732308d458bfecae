/* listener -- the listening socket on the host for a published port
 * (policy/port_spec.h).
 *
 * bind(2) itself allocates a port from a range: the kernel gives the port to one socket
 * alone, which holds it until the sandbox ends.  So two sandboxes that are made at once
 * never have the same port, and no file has to say which sandbox has which port.  A port
 * from a range is bound without SO_REUSEADDR, so that bind(2) refuses a port to which an
 * earlier connection still exists.  A port that the user named is bound with
 * SO_REUSEADDR, so that it can be published again right after a sandbox ends. */
#pragma once
#include <stdbool.h>

struct err;
struct list;
struct port_spec;

struct listener {
	int fd;	    /* owned: the listening socket, which does not block */
	char *host; /* owned: the address, such as "127.0.0.1:8080" or "[::1]:8080", or
		     * the path */
	bool is_shared; /* another process made the socket, and may still hold it open */
};

/* Opens the socket that `p` asks for.  Only the user who owns a unix socket can connect
 * to it.  An old unix socket at the path is replaced if it belongs to this user and no
 * process listens at it. */
int listener_open(const struct port_spec *p, struct listener *ret, struct err *e);
/* Adopts a descriptor that another process has made.  0: the descriptor is a
 * listening stream socket, and is taken over. */
int listener_adopt(int fd, struct listener *ret, struct err *e);
/* Prepares this process to accept from adopted sockets; to be called once, before the
 * first listener_accept().  Takes SIGALRM and the process's timer ITIMER_REAL for
 * that. */
void listener_expect_shared(void);
/* Accepts the next connection in the queue; its socket does not block.  Returns -1 with
 * errno set; EAGAIN or EINTR: no connection waits. */
int listener_accept(const struct listener *l);
/* Closes the socket.  A unix socket's file stays at its path; listener_remove() removes
 * it. */
void listener_done(struct listener *l);

/* Removes the file of a unix socket if it belongs to this user and no process listens at
 * it; leaves any other file alone. */
void listener_remove(const char *path);
void listener_remove_all(const struct list *paths); /* `paths` may be NULL */

/* Adds the path of a unix socket, which is published while the sandbox lives, to the
 * list in the sandbox's registry folder: the janitor removes the sockets on that list.
 * A path is listed once, even if it is published again.  ERR_LIMIT: the list would be
 * longer than the janitor reads.  A forged path is harmless: listener_remove() removes
 * only unused sockets of this user's. */
int listener_note(int folder, const char *path, struct err *e);
void listener_remove_listed(int folder);

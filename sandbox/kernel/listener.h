/* listener -- the listening socket on the host for a published port
 * (policy/port_spec.h).
 *
 * bind(2) itself allocates a port from a range: the kernel gives it to one
 * socket alone, which holds it until the sandbox ends, so two sandboxes that
 * are made at once never have the same port, and no file has to say which
 * sandbox has which.  Such a port is bound without SO_REUSEADDR, so that no
 * earlier connection to it exists still; a port that the user named is bound
 * with it, so that it can be had again at once. */
#pragma once
#include <stdbool.h>

struct err;
struct list;
struct port_spec;

struct listener {
	int fd;	    /* owned; listens; does not block */
	char *host; /* owned: "127.0.0.1:8080", "[::1]:8080" or a path */
	bool is_shared; /* another process made it, and may have it still */
};

/* A unix socket is for its owner alone; an old one of this user's at which no
 * process listens is replaced. */
int listener_open(const struct port_spec *p, struct listener *ret, struct err *e);
/* Adopts a descriptor that another process has made.  0: it is such a socket,
 * and is taken over. */
int listener_adopt(int fd, struct listener *ret, struct err *e);
/* To be called once, before an adopted socket is accepted from: takes SIGALRM
 * and the timer of real time for that. */
void listener_expect_shared(void);
/* The next connection in the queue, which does not block.  -1 with errno set;
 * EAGAIN or EINTR: there is none. */
int listener_accept(const struct listener *l);
/* Leaves the path of a unix socket there, for listener_remove(). */
void listener_done(struct listener *l);

/* Removes a unix socket of this user's at which no process listens; any other
 * file stays. */
void listener_remove(const char *path);
void listener_remove_all(const struct list *paths); /* may be NULL */

/* Notes the path of a socket that is published while the sandbox lives in the
 * entry's folder, for the janitor: once, even if it is published again.
 * ERR_LIMIT: the notes would be longer than the janitor reads.  A forged note
 * gets no other kind of file removed. */
int listener_note(int folder, const char *path, struct err *e);
void listener_remove_listed(int folder);

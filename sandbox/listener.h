/* listener -- the socket on the host that a published port is (policy/publish.h).
 *
 * A port from a range is allocated by bind(2) itself: the kernel gives it to one alone,
 * and it is held until the sandbox ends, so two that are made at once never have the same
 * and no file has to say who has which.  It is bound without SO_REUSEADDR, so that it is one
 * which nobody has a connection from still; one that was named is bound with it, so that it can be
 * had again at once. */
#pragma once
#include <stdbool.h>

struct err;
struct list;
struct publish;

struct listener {
	int fd;	    /* owned; listens; does not block */
	char *host; /* owned: "127.0.0.1:8080", "[::1]:8080" or a path */
	bool is_shared; /* somebody else made it, and may have it still */
};

/* A unix socket is for its owner alone; one of his that nobody listens at any more is
 * replaced. */
int listener_open(const struct publish *p, struct listener *ret, struct err *e);
/* Of a descriptor that somebody else has made: 0 when it is such a socket.  Takes it
 * over then. */
int listener_adopt(int fd, struct listener *ret, struct err *e);
/* Once, before one that was adopted is accepted from: takes SIGALRM and the timer of real
 * time for that. */
void listener_expect_shared(void);
/* The next in its queue, which does not block.  -1 with errno set; EAGAIN or EINTR: there
 * is none. */
int listener_accept(const struct listener *l);
/* Leaves the path of a unix socket: listener_remove(). */
void listener_done(struct listener *l);

/* Removes a unix socket of ours at which nobody listens; anything else stays. */
void listener_remove(const char *path);
void listener_remove_all(const struct list *paths); /* may be NULL */

/* Of one that is published while the sandbox lives the path is noted in the entry's
 * folder, for the janitor: once, though it is published again.  ERR_LIMIT: all together
 * would be more than it reads.  Nobody who could write there gets anything else removed. */
int listener_note(int folder, const char *path, struct err *e);
void listener_remove_listed(int folder);

/* sockets -- refuses unix sockets where the host's abstract ones are in reach.
 *
 * Abstract sockets belong to the network namespace.  A namespace that is shared with
 * the host shows the host's sockets: D-Bus, X11, container engines.  Landlock keeps
 * them away since ABI 6 (landlock.h); on older kernels the whole family is refused
 * instead.  socketpair(2) of streams and packets stays allowed: such a pair reaches
 * no other process. */
#pragma once

struct err;

/* Puts this process and its children under a small filter that answers
 * socket(AF_UNIX) with EACCES.  Needs no_new_privs.  The sandbox's own filter
 * applies as well; the stricter answer of the two counts (seccomp(2)). */
int sockets_refuse_unix(struct err *e);

/* sockets -- refuses unix sockets where a command could reach the host's abstract unix
 * sockets.
 *
 * Abstract sockets belong to the network namespace.  In a network namespace that is
 * shared with the host, the host's sockets can be reached: D-Bus, X11, container
 * engines.  Landlock blocks them since ABI 6 (landlock.h); on older kernels all AF_UNIX
 * sockets are refused instead.  socketpair(2) of streams and packets stays allowed: such
 * a pair reaches no other process. */
#pragma once

struct err;

/* Puts this process and its children under a small filter that answers socket(AF_UNIX),
 * and socketpair(2) of datagram sockets, with EACCES.  Needs no_new_privs.  The
 * sandbox's own filter applies as well; the stricter answer of the two counts
 * (seccomp(2)). */
int sockets_refuse_unix(struct err *e);

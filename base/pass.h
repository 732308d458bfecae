/* pass -- bytes over a unix socket with descriptors beside the first of them (unix(7),
 * SCM_RIGHTS).  Neither waits. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#define PASS_MAX  3
#define PASS_LOST (-2)

/* As send(2); `fds` stay the caller's, up to PASS_MAX.  Where all that the user has under way
 * keeps them back, this process's soft RLIMIT_NOFILE is the hard one for the moment of a second
 * try; if that fails, too, errno is ETOOMANYREFS. */
ssize_t pass_send(int socket, const void *bytes, size_t len, const int *fds, size_t count);

/* As recv(2).  The descriptor that came with them, which is the caller's and
 * close-on-exec, is in *ret_fd, or -1; there is room for one.  PASS_LOST: one came, and the
 * kernel has dropped it, since this process may have no more (EMFILE). */
ssize_t pass_receive(int socket, void *bytes, size_t len, int *ret_fd);

/* fd_pass -- sends and receives bytes over a unix socket, with descriptors beside the
 * first byte (unix(7), SCM_RIGHTS).  Neither call blocks. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#define FD_PASS_MAX  3
#define FD_PASS_LOST (-2)

/* Sends bytes as send(2) does, and the descriptors `fds`, up to FD_PASS_MAX, which
 * stay the caller's.  The kernel refuses descriptors where its user has too many
 * under way.  The call then tries once more, with this process's soft RLIMIT_NOFILE
 * raised to the hard one for that moment; if that fails too, errno is ETOOMANYREFS. */
ssize_t fd_pass_send(int socket, const void *bytes, size_t len, const int *fds,
		     size_t count);

/* Receives bytes as recv(2) does.  *ret_fd is the descriptor that came with the
 * bytes, which is the caller's and close-on-exec, or -1; there is room for one.
 * FD_PASS_LOST: a descriptor came, and the kernel dropped it since this process may
 * have no more (EMFILE). */
ssize_t fd_pass_receive(int socket, void *bytes, size_t len, int *ret_fd);

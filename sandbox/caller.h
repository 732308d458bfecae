/* caller -- who waits in a system call at a listener (seccomp_unotify(2)), and his memory.
 *
 * What is read is his by the number that the host has for him, which is only his as long
 * as the call waits: so caller_waits() is asked after something was read and before it is
 * believed.  What he has written there he can change at any time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct seccomp_notif;

struct caller {
	int listener; /* borrowed */
	const struct seccomp_notif *call; /* borrowed */
};

#define CALLER_PATH_MAX 4096 /* with its 0, as the kernel's PATH_MAX */

/* Up to `size` bytes, of two pages at most: as many as are there, or -1 with errno. */
ssize_t caller_read(const struct caller *c, uint64_t at, void *to, size_t size);

/* A text with its 0, in CALLER_PATH_MAX bytes.  Fails with EFAULT, ENAMETOOLONG, and as
 * process_vm_readv(2) does. */
int caller_read_path(const struct caller *c, uint64_t at, char *to);

bool caller_waits(const struct caller *c);

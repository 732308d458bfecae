/* notify_target -- the process that waits in a system call for the listener of its
 * filter (seccomp_unotify(2)), and its memory.
 *
 * The memory is read by the process's pid on the host.  Another process can have got
 * that pid once the call no longer waits: so call notify_target_waits() after a read,
 * before the bytes are used.  The process can change its memory at any time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct seccomp_notif;

struct notify_target {
	int listener; /* borrowed; the listener of the filter */
	const struct seccomp_notif *call; /* borrowed: the system call that waits */
};

#define NOTIFY_TARGET_PATH_MAX 4096 /* the most bytes of a path, its 0 included, as the
				     * kernel's PATH_MAX */

/* Reads up to `size` bytes of the process's memory, from two pages at most.  Returns the
 * number of bytes read, or -1 with errno set. */
ssize_t notify_target_read(const struct notify_target *c, uint64_t at, void *to,
			   size_t size);

/* Reads a path with its 0, of at most NOTIFY_TARGET_PATH_MAX bytes, from the
 * process's memory.  Fails with EFAULT, ENAMETOOLONG, and as process_vm_readv(2)
 * does. */
int notify_target_read_path(const struct notify_target *c, uint64_t at, char *to);

bool notify_target_waits(const struct notify_target *c);

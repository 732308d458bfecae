/* notify_target -- the process that waits in a system call at a listener
 * (seccomp_unotify(2)), and its memory.
 *
 * Memory is read by the caller's pid on the host, which is certain to be the
 * caller's only while the call waits: notify_target_waits() is to be checked after a
 * read, before its result is believed.  The caller can change its memory at any
 * time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct seccomp_notif;

struct notify_target {
	int listener; /* borrowed */
	const struct seccomp_notif *call; /* borrowed */
};

#define NOTIFY_TARGET_PATH_MAX 4096 /* with its 0, as the kernel's PATH_MAX */

/* Reads up to `size` bytes, from two pages at most.  Returns how many could be
 * read, or -1 with errno. */
ssize_t notify_target_read(const struct notify_target *c, uint64_t at, void *to,
			   size_t size);

/* Reads a text with its 0, of at most NOTIFY_TARGET_PATH_MAX bytes.  Fails with
 * EFAULT, ENAMETOOLONG, and as process_vm_readv(2) does. */
int notify_target_read_path(const struct notify_target *c, uint64_t at, char *to);

bool notify_target_waits(const struct notify_target *c);

#include "sandbox/kernel/notify_target.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#define PAGE 4096 /* the smallest page size of any machine; a string may end in the next
		   * page */

ssize_t notify_target_read(const struct notify_target *c, uint64_t at, void *to,
			   size_t size)
{
	const size_t first = PAGE - at % PAGE;
	const struct iovec local = { to, size };
	const struct iovec remote[2] = {
		{ (void *)(uintptr_t)at, size < first ? size : first },
		{ (void *)(uintptr_t)(at + first), size < first ? 0 : size - first },
	};

	/* If the second page faults, the bytes of the first are still read
	 * (process_vm_readv(2)). */
	return process_vm_readv((pid_t)c->call->pid, &local, 1, remote, 2, 0);
}

int notify_target_read_path(const struct notify_target *c, uint64_t at, char *to)
{
	const ssize_t len = notify_target_read(c, at, to, NOTIFY_TARGET_PATH_MAX);

	if (len > 0 && memchr(to, '\0', (size_t)len))
		return 0;
	if (len >= 0)
		errno = len == NOTIFY_TARGET_PATH_MAX ? ENAMETOOLONG : EFAULT;
	return -1;
}

bool notify_target_waits(const struct notify_target *c)
{
	return ioctl(c->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &c->call->id) == 0;
}

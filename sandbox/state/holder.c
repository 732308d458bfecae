#include "sandbox/state/holder.h"

#include <fcntl.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"

/* Returns a lock of the byte that is this holder's. */
static struct flock byte_of(enum holder as)
{
	return (struct flock){
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = as, .l_len = 1
	};
}

void holder_become(int lock, enum holder as)
{
	struct flock mine = byte_of(as);

	(void)fcntl(lock, F_SETLK, &mine);
}

/* Returns 0 if no process holds the lock, or none that can be seen from here. */
static pid_t pid_of(int lock, enum holder as)
{
	struct flock other = byte_of(as);

	if (fcntl(lock, F_GETLK, &other) < 0 || other.l_type == F_UNLCK)
		return 0;
	return other.l_pid > 0 ? other.l_pid : 0;
}

/* The holder may end, and another process get its pid, before the pidfd is opened; so the
 * holder is looked at again. */
int holder_open(int lock, enum holder as, struct err *e)
{
	const pid_t pid = pid_of(lock, as);

	if (!pid)
		return err_set(e, ERR_GONE, "no process holds the lock");
	AUTO_CLOSE int pidfd = sys_pidfd_open(pid, 0);
	if (pidfd < 0)
		return err_sys(e, "open the process that holds the lock");
	if (pid_of(lock, as) != pid)
		return err_set(e, ERR_GONE, "the process that held the lock has ended");
	return fd_take(&pidfd);
}

#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/list.h"
#include "base/own.h"
#include "base/wait_line.h"

int lock_take(int fd, int operation)
{
	while (flock(fd, operation) < 0)
		if (errno != EINTR)
			return -1;
	return 0;
}

int lock_await(int fd, int operation, const char *doing)
{
	AUTO_FREE char *text =
		text_format("waiting for another hutch, which is %s", doing);
	struct wait_line w;

	if (lock_take(fd, operation | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return -1;
	wait_line_start(&w, text);
	int rc = lock_take(fd, operation);
	wait_line_stop(&w);
	return rc;
}

bool lock_is_at(int parent, const char *name, int fd)
{
	struct stat there, ours;

	return fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(fd, &ours) == 0 && there.st_dev == ours.st_dev &&
	       there.st_ino == ours.st_ino;
}

#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

int lock_take(int fd, int operation)
{
	while (flock(fd, operation) < 0)
		if (errno != EINTR)
			return -1;
	return 0;
}

bool lock_is_at(int parent, const char *name, int fd)
{
	struct stat there, ours;

	return fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(fd, &ours) == 0 && there.st_dev == ours.st_dev &&
	       there.st_ino == ours.st_ino;
}

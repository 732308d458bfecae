/* lock -- locks on files and folders that may be renamed or removed: flock(2), which
 * ends when its last descriptor is closed.
 *
 * Between the open and the lock, a file may have been removed or replaced; so the
 * holder of the lock checks with lock_is_at(). */
#pragma once
#include <stdbool.h>

/* Takes a lock like flock(2), but repeats the call after EINTR.  -1 with errno;
 * EWOULDBLOCK where `operation` has LOCK_NB and another process holds the lock. */
int lock_take(int fd, int operation);

/* Returns whether `name` in the folder `parent` is the file that is open as `fd`. */
bool lock_is_at(int parent, const char *name, int fd);

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

/* Takes a lock like lock_take(), and says on a terminal that it waits for another
 * process, which is `doing` something (base/wait_line.h). */
int lock_await(int fd, int operation, const char *doing);

/* Returns whether `name` in the folder `parent` is the file that is open as `fd`. */
bool lock_is_at(int parent, const char *name, int fd);

/* lock -- locks on files and folders whose names come and go: flock(2), which ends with
 * its last descriptor.
 *
 * Between opening and locking something it may have lost its name, or become something
 * else; whoever holds the lock looks again. */
#pragma once
#include <stdbool.h>

/* flock(2), which is not interrupted.  -1 with errno; EWOULDBLOCK where `operation` has
 * LOCK_NB and somebody else holds it. */
int lock_take(int fd, int operation);

/* Whether `name` in the folder `parent` is what is open as `fd`. */
bool lock_is_at(int parent, const char *name, int fd);

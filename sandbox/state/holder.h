/* holder -- finds the supervisor of a sandbox by its lock file.
 *
 * flock(2) tells that a process holds the lock, and not which.  So the supervisor takes a
 * record lock of fcntl(2) on the lock file, too: F_GETLK tells the pid of its holder, as the
 * caller's pid namespace has it, or 0 if the caller does not see that process.  A child does
 * not inherit a record lock.  The kernel releases it when the holder ends, or closes any
 * descriptor of the file. */
#pragma once

struct err;

/* Makes this process the holder.  On failure, as on a file system without record locks,
 * there is none. */
void holder_become(int lock);

/* Opens a pidfd of the process that holds the lock file, which the caller owns.  ERR_GONE:
 * no process holds it, or none that can be seen from here. */
int holder_open(int lock, struct err *e);

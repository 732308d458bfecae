/* holder -- finds the supervisor of a sandbox, and its janitor, by the lock file.
 *
 * flock(2) tells that a process holds the lock, and not which.  So each of the two takes a
 * record lock of fcntl(2) on a byte of the lock file, too: F_GETLK tells the pid of its
 * holder, as the caller's pid namespace has it, or 0 if the caller does not see that process.
 * A child does not inherit a record lock.
 *
 * The kernel releases a record lock when its holder ends, or closes any descriptor of the
 * file.  So the supervisor and the janitor open their own lock file once, and keep it open.
 * Locks of the open file (F_OFD_SETLK) would outlive such a close, but have no pid: F_GETLK
 * tells -1 for them. */
#pragma once

struct err;

enum holder {
	HOLDER_SUPERVISOR,
	HOLDER_JANITOR,
};

/* Makes this process the holder.  On failure, as on a file system without record locks,
 * there is none. */
void holder_become(int lock, enum holder as);

/* Opens a pidfd of the process that holds the lock file as `as`, which the caller owns.
 * ERR_GONE: no process holds it, or none that can be seen from here. */
int holder_open(int lock, enum holder as, struct err *e);

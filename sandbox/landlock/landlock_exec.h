/* landlock_exec -- the last steps of a process that becomes a command without
 * namespaces.
 *
 * They run in the subreaper's child (subreaper.h), in hutch's own code until
 * execve(2); each step gives something up, for good.  A failure is reported
 * through a pipe that execve(2) closes. */
#pragma once

struct err;
struct failed;
struct subreaper_parts;

/* Does not return.  `failure` is the writing end of the pipe. */
_Noreturn void landlock_exec_command(const struct subreaper_parts *parts, int failure);

/* Reports the failure of an earlier step. */
void landlock_exec_failed(int failure, const struct err *e);

/* In the launcher.  1: the command has begun.  0: it could not be found,
 * entered or executed, see `ret`.  -1: another step failed. */
int landlock_exec_read(int failure, struct failed *ret, struct err *e);

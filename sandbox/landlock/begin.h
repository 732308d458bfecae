/* begin -- the last steps of a process that becomes a command without
 * namespaces.
 *
 * They run in the keeper's child (keeper.h), in hutch's own code until
 * execve(2); each step gives something up, for good.  A failure is reported
 * through a pipe that execve(2) closes. */
#pragma once

struct err;
struct failed;
struct keeper_parts;

/* Does not return.  `failure` is the writing end of the pipe. */
_Noreturn void begin_command(const struct keeper_parts *parts, int failure);

/* Reports the failure of an earlier step. */
void begin_failed(int failure, const struct err *e);

/* In the launcher.  1: the command has begun.  0: it could not be found,
 * entered or executed, see `ret`.  -1: another step failed. */
int begin_read(int failure, struct failed *ret, struct err *e);

/* landlock_exec -- the last steps of a process that becomes a command without
 * namespaces.
 *
 * The steps run in the subreaper's child (subreaper.h), in hutch's own code until
 * execve(2); each step gives something up, for good.  A failure is reported through
 * a pipe that execve(2) closes. */
#pragma once

struct err;
struct failed;
struct subreaper_parts;

/* Takes the last steps and executes the command; does not return.  `failure` is the
 * writing end of the failure pipe. */
_Noreturn void landlock_exec_command(const struct subreaper_parts *parts, int failure);

/* Reports an error of a step before execve(2) through the pipe. */
void landlock_exec_failed(int failure, const struct err *e);

/* Reads the failure pipe, in the launcher.  Returns 1: the command has begun.  0: the
 * program could not be found or executed, and `ret` says why.  -1: a step before
 * execve(2) failed, and `e` says why. */
int landlock_exec_read(int failure, struct failed *ret, struct err *e);

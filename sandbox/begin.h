/* begin -- the last steps of a process that becomes a command without namespaces.
 *
 * In the keeper's child (keeper.h).  Up to execve(2) it is our own code; each step gives
 * something up, for good.  What fails is told through a pipe that execve(2) closes. */
#pragma once

struct err;
struct failed;
struct keeper_parts;

/* Does not return.  `failure` is the pipe's end. */
_Noreturn void begin_command(const struct keeper_parts *parts, int failure);

/* Tells of a step before that. */
void begin_failed(int failure, const struct err *e);

/* In the launcher: 1: the command has begun.  0: it could not be found, entered or
 * executed, see `ret`.  -1: another step failed. */
int begin_read(int failure, struct failed *ret, struct err *e);

/* copy -- copies files out of the sandbox and into it, as a tar, in a process that has
 * all properties of a command (spawn.h), but executes nothing: an image may have no
 * tar.
 *
 * The process runs in a copy of the executor's memory, and is as undumpable.  So it can
 * do no more than a command, and no command can look at it.  It has descriptors 0, 1
 * and 2, and reports files that it cannot copy on 2, a sentence a line
 * (docs/protocol.md). */
#pragma once

struct exec;

/* Does the copy that `x` describes, with EXEC_PACK or EXEC_UNPACK in its flags, and
 * exits with an enum copy_exit. */
_Noreturn void copy_run(const struct exec *x);

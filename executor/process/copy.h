/* copy -- copies files out of the sandbox and into it, as a tar, in a process that has
 * all properties of a command (spawn.h), but calls no execve(2), since an image may have
 * no tar program.
 *
 * The process runs in a copy of the executor's memory.  It has only the rights of a
 * command, and it is undumpable, so that no command can trace it or read its memory.  It
 * has descriptors 0, 1 and 2, and reports each file that it cannot copy on 2, in one line
 * (docs/protocol.md). */
#pragma once

struct exec;

/* Does the copy that `x` describes, with EXEC_PACK or EXEC_UNPACK in its flags, and
 * exits with an enum copy_exit. */
_Noreturn void copy_run(const struct exec *x);

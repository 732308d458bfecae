/* copy -- files out of the sandbox and into it, as a tar, by a process that is all that
 * a command would be (spawn.h), but executes nothing: an image may have no tar.
 *
 * It runs in a copy of the executor's memory, and as undumpable.  So it can do no
 * more than a command, and no command can look at it.  It has descriptors 0, 1 and 2;
 * what it cannot copy it says on 2, a sentence a line (docs/protocol.md). */
#pragma once

struct exec;

/* Does what `x` asks for, with EXEC_PACK or EXEC_UNPACK in its flags, and exits with
 * an enum copy_exit. */
_Noreturn void copy_run(const struct exec *x);

/* exec -- `hutch exec` and `hutch shell`: a command in a sandbox that has a name.
 *
 * As `hutch run` does, the caller's stdio stays outside: pipes of ours go in beside
 * the request, and pumps stand between.  The supervisor of the sandbox starts the
 * command and tells its end; the bytes do not pass through it. */
#pragma once

/* `argv` starts behind the verb.  Each returns the exit code of hutch. */
int exec_main(char **argv);
int shell_main(char **argv);
/* `hutch pool exec`: in a sandbox that is taken for it, and ends with it. */
int exec_pool_main(char **argv);

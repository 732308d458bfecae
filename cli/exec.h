/* exec -- `hutch exec` and `hutch shell`: run a command in a sandbox that has a
 * name.
 *
 * As in `hutch run`, the caller's stdio is not passed into the sandbox: hutch makes
 * pipes, passes them with the request, and copies the bytes.  The supervisor of the
 * sandbox starts the command and reports its end; the bytes do not pass through the
 * supervisor. */
#pragma once

/* Run the command of the verb.  `argv` begins after the verb.  Both return hutch's
 * exit code. */
int exec_main(char **argv);
int shell_main(char **argv);
/* Serves `hutch pool exec`: runs the command in a sandbox that is taken from a pool
 * and ends with the command. */
int exec_pool_main(char **argv);

/* run -- `hutch run`: one command in a fresh sandbox. */
#pragma once

/* `argv` starts behind the verb.  Returns the exit code of hutch. */
int run_main(char **argv);

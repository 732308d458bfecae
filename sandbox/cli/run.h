/* run -- `hutch run`: one command in a fresh sandbox. */
#pragma once
#include <stdbool.h>

struct policy;
struct result;

/* `argv` starts behind the verb.  Returns the exit code of hutch. */
int run_main(char **argv);

/* What a launch needs of the process that it is in: signals, room for descriptors. */
void run_prepare(void);

/* One launch, from a checked policy to the end of its command, after run_prepare().
 * As root it leaves this process an ordinary user. */
void run_launch(const struct policy *policy, bool is_dry_run, struct result *ret);

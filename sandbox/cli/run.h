/* run -- `hutch run`: one command in a fresh sandbox. */
#pragma once
#include <stdbool.h>

struct policy;
struct result;

/* `argv` starts behind the verb.  Returns the exit code of hutch. */
int run_main(char **argv);

/* One launch, from a checked policy to the end of its command, after launch_ready().
 * As root it leaves this process an ordinary user. */
void run_launch(const struct policy *policy, bool is_dry_run, struct result *ret);

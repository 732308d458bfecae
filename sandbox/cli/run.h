/* run -- `hutch run`: one command in a fresh sandbox. */
#pragma once
#include <stdbool.h>

struct learn;
struct policy;
struct result;

/* `argv` starts behind the verb.  Returns the exit code of hutch. */
int run_main(char **argv);

/* One launch, from a checked policy to the end of its command, after launch_ready().
 * As root it leaves this process an ordinary user.  With `learn`, which is initialised
 * and not prepared, it is that one's policy that is run. */
void run_launch(const struct policy *policy, struct learn *learn, bool is_dry_run,
		struct result *ret);

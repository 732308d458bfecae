/* run -- `hutch run`: one command in a fresh sandbox. */
#pragma once
#include <stdbool.h>

struct learn;
struct policy;
struct result;

/* Runs `hutch run`.  `argv` begins after the verb.  Returns hutch's exit code. */
int run_main(char **argv);

/* Makes one launch, from a checked policy to the end of its command, after
 * launch_ready().  As root the function changes this process into an ordinary user.
 * If `learn` is not NULL, the launch uses the policy in `learn` instead of `policy`;
 * `learn` is initialised, and run_launch() prepares it. */
void run_launch(const struct policy *policy, struct learn *learn, bool is_dry_run,
		struct result *ret);

/* run -- `hutch run`: one command in a fresh sandbox. */
#pragma once
struct learn;
struct policy;
struct result;

enum run_kind {
	RUN_WHOLE,
	RUN_TRIAL, /* leaves nothing on the host, not even for the next launch */
	RUN_DRY	   /* only prints the plan */
};

/* Runs `hutch run`.  `argv` begins after the verb.  Returns hutch's exit code. */
int run_main(char **argv);

/* Makes one launch, from a checked policy to the end of its command, after
 * launch_ready().  As root the function changes this process into an ordinary user.
 * If `learn` is not NULL, the launch uses the policy in `learn` instead of `policy`;
 * `learn` is initialised, and run_launch() prepares it. */
void run_launch(const struct policy *policy, struct learn *learn, enum run_kind kind,
		struct result *ret);

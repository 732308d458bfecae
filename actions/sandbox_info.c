#include "actions/sandbox_info.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/list.h"
#include "policy/policy.h"
#include "sandbox/launch/launch.h"

/* The soft time-out in seconds, if the sandbox's environment has no
 * NO_CHANGE_TIMEOUT_SECONDS. */
#define SOFT_DEFAULT 10

/* The size of a session's terminal. */
#define ROWS 1000
#define COLS 1000

/* The variable counts only if it is a number in range, with nothing behind it. */
double sandbox_info_soft_seconds(const struct list *env)
{
	const char *text = list_get_env(env, "NO_CHANGE_TIMEOUT_SECONDS");
	char *end = NULL;
	double seconds = text ? strtod(text, &end) : 0;
	bool is_number = end && end != text && *end == '\0';

	return is_number && seconds > 0 && seconds <= 1e6 ? seconds : SOFT_DEFAULT;
}

struct sandbox_info sandbox_info_of(const struct launch *l)
{
	return (struct sandbox_info){
		.soft_s = sandbox_info_soft_seconds(&l->plan.env),
		.lints = l->policy->lints,
		.username = list_get_env(&l->plan.env, "USER"),
		.hostname = l->plan.hostname,
	};
}

struct exec sandbox_info_shell(const struct launch *l)
{
	struct exec x = launch_command(l);

	x.flags = EXEC_PTY;
	x.argv = NULL;
	x.rows = ROWS;
	x.cols = COLS;
	return x;
}

/* hutch update: changes limits of live sandboxes. */
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/foreach_sandbox.h"
#include "cli/common/report.h"
#include "cli/verbs.h"
#include "policy/policy.h"
#include "policy/units.h"
#include "sandbox/launch/result.h"

/* The values of the flags, as typed; NULL: the flag was not given. */
struct words {
	const char *memory, *cpus, *pids, *disk, *ulimit;
};

/* Refuses limits that cannot be changed from outside the sandbox; this holds for
 * every sandbox. */
static int refuse(const struct words *w, struct err *e)
{
	if (w->disk) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "--disk is the size of folders that were mounted "
			      "when the sandbox was made, and cannot be changed");
		return err_remedy(
			e, "make another sandbox with it; hutch cp takes files there");
	}
	(void)err_set(e, ERR_UNSUPPORTED,
		      "--ulimit is given to processes as they start, and "
		      "cannot be changed");
	return err_remedy(e, "ulimit of a shell inside lowers it; for more make another "
			     "sandbox");
}

static int read_limits(const struct words *w, struct limits *ret, struct err *e)
{
	*ret = (struct limits){ 0 };
	if (w->disk || w->ulimit)
		return refuse(w, e);
	if (w->memory && units_parse_memory(w->memory, &ret->memory, e) < 0)
		return -1;
	if (w->cpus && units_parse_cpus(w->cpus, &ret->cpus, e) < 0)
		return err_in(e, "--cpus");
	if (w->pids && units_parse_pids(w->pids, &ret->pids, e) < 0)
		return -1;
	if (w->memory || w->cpus || w->pids)
		return 0;
	(void)err_set(e, ERR_USAGE, "hutch update needs a limit");
	return err_remedy(e, "--memory, --cpus or --pids-limit");
}

static char *params_of(const struct limits *l)
{
	AUTO_FREE char *memory =
		text_format("\"memory\":%llu,", (unsigned long long)l->memory);
	AUTO_FREE char *pids = text_format("\"pids\":%llu,", (unsigned long long)l->pids);
	AUTO_FREE char *cpus =
		text_format("\"cpus\":%u.%03u,", l->cpus / 1000, l->cpus % 1000);
	char *params = text_format("{%s%s%s", l->memory ? memory : "",
				   l->pids ? pids : "", l->cpus ? cpus : "");

	params[strlen(params) - 1] = '}'; /* the bracket replaces the last comma; there is
					   * at least one member */
	return params;
}

int update_main(char **argv)
{
	struct words w = { 0 };
	const struct flag flags[] = {
		{ 'm', "memory", "SIZE", "memory of everything inside, such as 512m",
		  NULL, &w.memory },
		{ 0, "cpus", "NUMBER", "CPU time in CPUs, such as 1.5", NULL, &w.cpus },
		{ 0, "pids-limit", "N", "processes and threads", NULL, &w.pids },
		{ 0, "disk", "SIZE", NULL, NULL, &w.disk },
		{ 0, "ulimit", "NAME=SOFT[:HARD]", NULL, NULL, &w.ulimit },
	};
	const struct usage usage = {
		.synopsis = "hutch update [OPTIONS] NAME...",
		.about = "Changes the limits of sandboxes while they live.",
		.flags = flags, .count = ARRAY_LEN(flags),
		.operands_min = 1, .operands_max = SIZE_MAX,
	};
	struct limits limits;
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (read_limits(&w, &limits, &e) < 0) {
		report_error(&e);
		return EXIT_HUTCH;
	}
	AUTO_FREE char *params = params_of(&limits);
	const struct foreach_sandbox update = { .method = "update", .params = params };
	return foreach_sandbox_ask(argv, &update);
}

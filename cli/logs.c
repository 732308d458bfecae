/* hutch logs: prints the output of processes, which the supervisor keeps. */
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/log_print.h"
#include "cli/common/report.h"
#include "cli/verbs.h"
#include "policy/units.h"
#include "sandbox/launch/result.h"

static int read_tail(const char *text, uint64_t *ret, struct err *e)
{
	*ret = LOG_PRINT_ALL;
	if (!text)
		return 0;
	if (units_parse_number(text, ret, e) < 0)
		return err_in(e, "--tail");
	*ret = *ret < INT32_MAX ? *ret : INT32_MAX;
	return 0;
}

int logs_main(char **argv)
{
	struct log_wanted w = { 0 };
	const char *tail = NULL;
	const struct flag flags[] = {
		{ 'f', "follow", NULL, "new entries, too, until its end", &w.follows,
		  NULL },
		{ 'n', "tail", "N", "the last N entries only", NULL, &tail },
		{ 0, "supervisor", NULL, "the supervisor's own log instead",
		  &w.of_supervisor, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch logs [--supervisor] [-f] [--tail N] NAME",
		.about = "Prints the kept output of detached processes.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (read_tail(tail, &w.tail, &e) == 0 && log_print(argv[0], &w, &e) == 0)
		return 0;
	report_error(&e);
	return EXIT_HUTCH;
}

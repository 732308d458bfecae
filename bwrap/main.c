/* hutch-bwrap: bwrap's command line.  `hutch bwrap` is this program, and so is hutch itself
 * where its argv[0] is bwrap. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/io.h"
#include "bwrap/args.h"
#include "bwrap/launch.h"
#include "bwrap/message.h"
#include "bwrap/privileges.h"
#include "bwrap/status.h"
#include "bwrap/steps.h"
#include "sandbox/raw/raw_plan.h"

#define EXIT_BWRAP 1 /* the exit code for bwrap's own failures */

/* The version of bubblewrap whose options these are: callers parse the second word. */
#define BWRAP_VERSION "0.12.0"

static int fail(const struct args *a, const struct err *e)
{
	message_error(e, a->level_prefix);
	status_error(a, e);
	return EXIT_BWRAP;
}

static void print_warnings(const struct args *a)
{
	for (size_t i = 0; i < a->warnings.count; i++)
		message_warning(a->warnings.items[i], a->level_prefix);
}

static int end_output(const struct args *a)
{
	struct err e;

	if (fflush(stdout) == 0)
		return 0;
	(void)err_sys(&e, "write to stdout");
	return fail(a, &e);
}

static int print_plan(const struct args *a, struct err *e)
{
	struct raw_plan plan;

	raw_plan_init(&plan);
	const int rc = steps_make(a, &plan, e);
	if (rc == 0) {
		(void)puts("raw: walls only from the command line");
		raw_plan_print(&plan, stdout);
	}
	raw_plan_done(&plan);
	return rc;
}

static int run(struct args *a)
{
	struct err e = { 0 };
	int code;

	if (args_check(a, &e) < 0)
		return fail(a, &e);
	if (a->dry_run)
		return print_plan(a, &e) < 0 ? fail(a, &e) : end_output(a);
	if (privileges_freeze(&e) < 0 || launch_run(a, &code, &e) < 0)
		return fail(a, &e);
	return code;
}

static int serve(struct args *a, char **argv)
{
	struct err e = { 0 };

	if (args_parse(a, argv + 1, &e) < 0) {
		print_warnings(a);
		return fail(a, &e);
	}
	print_warnings(a);
	if (a->wish == ARGS_VERSION) {
		(void)puts("bubblewrap " BWRAP_VERSION " (hutch " HUTCH_VERSION ")");
		return end_output(a);
	}
	if (a->wish == ARGS_HELP) {
		args_print_help(argv[0], stdout);
		return end_output(a);
	}
	if (!*a->command) {
		args_print_help(argv[0], stderr);
		return EXIT_BWRAP;
	}
	return run(a);
}

int main(int argc, char **argv)
{
	struct args a;

	if (argc < 1 || io_fill_standard() < 0)
		return EXIT_BWRAP;
	/* The end of children is lost where SIGCHLD is ignored, as some callers have
	 * it. */
	(void)signal(SIGCHLD, SIG_DFL);
	args_init(&a, privileges_default());
	const int code = serve(&a, argv);
	args_done(&a);
	return code;
}

/* hutch-act: actions as JSON lines on stdin, observations (their answers) on stdout.
 * `hutch act` runs it. hutch-act is a program of its own because it runs for hours: the
 * malloc() of `hutch` is made for a program that starts one command and ends, and gives
 * back little memory (base/arena.h). See docs/hutch-act.md. */
#include <stdio.h>
#include <unistd.h>

#include "sandbox/plan/plugin_find.h"
#include "actions/stream.h"
#include "base/err.h"
#include "base/io.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "policy/policy.h"
#include "rootfs-tools/changes/kept_changes.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "sandbox/plan/plan.h"

static const char *reason_of(const struct stream_end *end)
{
	if (end->exit_code == 0)
		return "closed";
	if (end->exit_code == EXIT_TIMED_OUT)
		return "timeout";
	return end->exit_code > 128 ? "signaled" : "error";
}

/* Records the end of the sandbox in the audit log.  If that fails, hutch-act fails. */
static void record_end(struct launch *l, struct stream_end *end)
{
	const struct audit_end x = { .reason = reason_of(end),
				     .exit_code = end->exit_code,
				     .error = &end->error,
				     .cgroup = &l->cgroup };
	struct err e;

	if (audit_end(&l->audit, &x, &e) == 0)
		return;
	end->exit_code = EXIT_HUTCH;
	end->error = e;
}

static int serve(struct launch *l, const struct run_options *options)
{
	const struct stream stream = { .launch = l, .in = 0, .out = 1,
				       .streams = options->streams,
				       .confirms = options->confirms };
	struct stream_end end;

	stream_serve(&stream, &end);
	record_end(l, &end);
	if (end.error.kind != ERR_NONE)
		report_masked(l->policy, &end.error);
	return end.exit_code;
}

static int start(struct launch *l, struct err *e)
{
	report_network(l->policy);
	report_secrets(l->policy);
	if (launch_prepare(l, false, e) < 0)
		return -1;
	report_shared_network(l->policy);
	if (launch_start(l, e) < 0)
		return -1;
	report_degraded(l->degraded);
	return 0;
}

/* Records in the audit log that the sandbox could not be started. */
static void record_failure(struct launch *l, struct err *why)
{
	const struct audit_end x = { .reason = "setup-error", .exit_code = EXIT_HUTCH,
				     .error = why, .cgroup = &l->cgroup };

	if (l->audit.has_launch)
		(void)audit_end(&l->audit, &x, NULL); /* may fail: the error that ended
						       * the start is reported anyway */
	else
		audit_refused(&l->audit, "launch", why);
}

static int act(const struct policy *policy, const struct run_options *options)
{
	struct launch l;
	struct err e;
	int code = EXIT_HUTCH;

	launch_init(&l, policy);
	l.verb = "act";
	if (options->is_dry_run) {
		l.plan.has_logs = true; /* a launch that is no dry run sets has_logs in
					 * launch_prepare() */
		if (launch_plan(&l, &e) < 0)
			report_error(&e);
		else
			plan_print(&l.plan, policy, stdout), code = 0;
	} else if (start(&l, &e) < 0) {
		record_failure(&l, &e);
		report_error(&e);
	} else {
		code = serve(&l, options);
	}
	launch_done(&l);
	kept_changes_end(&l.cow);
	return code;
}

int main(int argc, char **argv)
{
	struct policy policy;
	struct run_options options = { .verb = VERB_ACT,
				       .policy = &policy,
				       .json_fd = -1 };
	struct err e;
	int code = EXIT_HUTCH;

	(void)argc;
	if (io_fill_standard() < 0)
		return EXIT_HUTCH;
	report_begin();
	launch_ready();
	policy_init(&policy);
	if (options_parse(argv + 1, &options, &e) < 0)
		report_error(&e);
	else if (options.wants_help)
		options_print_help(VERB_ACT), code = 0;
	else if (plugin_find_all(&policy, &e) < 0 || policy_check(&policy, &e) < 0)
		report_error(&e);
	else {
		/* Other descriptors are closed only now, since options_parse() reads
		 * some of them: --secret-file <(...) names one. */
		launch_close_others(-1, -1);
		code = act(&policy, &options);
	}
	policy_done(&policy);
	return report_exit(code);
}

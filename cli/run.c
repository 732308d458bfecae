#include "cli/run.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "base/redact.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "protocol/message.h"
#include "rootfs-tools/changes/kept_changes.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/kernel/diagnose.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/terminal.h"
#include "sandbox/landlock/landlock_run.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "sandbox/launch/supervise.h"
#include "sandbox/learn/learn.h"

static struct exec describe_command(const struct launch *l)
{
	struct exec x = launch_command(l);

	x.flags = EXEC_LAST;
	if (l->policy->has_terminal) {
		x.flags |= EXEC_PTY;
		terminal_size(isatty(0) ? 0 : 1, &x.rows, &x.cols);
	}
	return x;
}

/* Says in the result which memory limit killed the processes: --memory, or the
 * machine's. */
static void explain_oom(const struct launch *l, const struct usage *used, struct result *ret)
{
	struct err e;

	if (used->is_over_limit) {
		(void)err_set(&e, ERR_LIMIT, "out of memory: everything inside was killed at the "
					     "limit of %llu MiB (--memory)",
			      (unsigned long long)l->policy->limits.memory >> 20);
		(void)err_remedy(&e, "give it more with --memory; private folders take half of "
				     "that at most");
	} else {
		(void)err_set(&e, ERR_LIMIT, "out of memory: this machine, or a cgroup above the "
					     "sandbox's, had none left; no limit of hutch's was "
					     "reached");
	}
	result_oom(ret, &e);
}

static void tell_usage(const struct launch *l, struct result *ret)
{
	struct usage used;

	cgroup_usage(&l->cgroup, &used);
	ret->memory_peak = used.memory_peak;
	ret->pids_peak = used.pids_peak;
	if (used.oom_kills && ret->status == RUN_SIGNALED && ret->signal == SIGKILL)
		explain_oom(l, &used, ret);
	if (used.pids_refused && l->policy->limits.pids)
		note_print("note: the limit of %llu processes (--pids-limit) was reached "
			   "%llu times", (unsigned long long)l->policy->limits.pids,
			   (unsigned long long)used.pids_refused);
}

static void run_command(struct launch *l, struct result *ret)
{
	const struct exec command = describe_command(l);
	struct run run = { .sandbox = &l->sandbox,
			   .exec = &command,
			   .stdio = &l->stdio,
			   .timeout_ms = l->policy->timeout_ms,
			   .signals = l->signals,
			   .protect_watch = &l->protect_watch,
			   .ports = &l->ports,
			   .launch = l };

	if (l->degraded & DEGRADED_MEMORY)
		run.watched_memory = l->policy->limits.memory;
	supervise_run(&run, ret);
	ret->degraded = l->degraded;
	result_refused(ret, &l->sandbox.denials,
		       launch_egress(l) ? &l->refused_hosts : NULL);
	tell_usage(l, ret);
	if (ret->status != RUN_SETUP_ERROR || ret->exit_code != EXIT_NOT_FOUND)
		return;
	if (!l->plan.store_image)
		return report_explain_missing(&ret->error, l->policy);
	report_explain_missing_in(&ret->error, l->plan.argv.items[0],
				  l->store_image.name);
}

static int dry_run(struct launch *l, struct err *e)
{
	if (launch_plan(l, e) < 0)
		return -1;
	plan_print(&l->plan, l->policy, stdout);
	return 0;
}

/* If the end of a command cannot be recorded in the audit log, the run has failed. */
static void record_end(struct launch *l, struct result *ret)
{
	struct err e;

	if (!l->audit.has_launch)
		return audit_refused(&l->audit, "launch", &ret->error);
	for (size_t i = 0; i < l->sandbox.denials.count; i++)
		audit_refused_call(&l->audit, &l->sandbox.denials.calls[i]);
	if (audit_result(&l->audit, ret, &e) == 0)
		return;
	ret->error = e;
	ret->exit_code = EXIT_HUTCH;
}

/* Adds Landlock isolation and its price to the error about missing user namespaces.
 * hutch does not choose a weaker isolation silently. */
static void name_other_isolation(struct err *e)
{
	if (landlock_abi() == 0 || !diagnose_lacks_user(e))
		return;
	AUTO_FREE char *remedy = text_copy(e->remedy);
	(void)err_remedy(e, "%s%sor --isolation landlock, where %s", remedy, *remedy ? "; " : "",
			 landlock_run_loses);
}

/* Writes the policy that was learned.  If --learn fails, the run has failed,
 * whatever the command's exit code. */
static void finish_learning(struct learn *learn, const struct launch *l, struct result *ret)
{
	struct err e;

	if (learn_finish(learn, &l->sandbox.denials, ret, &e) < 0) {
		ret->error = e;
		ret->exit_code = EXIT_HUTCH;
	}
}

static int start(struct launch *l, const struct policy *policy, struct err *e)
{
	if (launch_prepare(l, true, e) < 0)
		return -1;
	report_shared_network(policy);
	return launch_start(l, e);
}

void run_launch(const struct policy *policy, struct learn *learn, enum run_kind kind,
		struct result *ret)
{
	const bool is_dry_run = kind == RUN_DRY;
	int64_t started = clock_us();
	struct launch l;
	struct err e;

	if (policy->isolation == ISOLATION_LANDLOCK) {
		if (!is_dry_run)
			report_shared_network(policy);
		landlock_run_run(policy, is_dry_run, ret);
		return;
	}
	launch_init(&l, learn ? &learn->wide : policy);
	l.observer = learn ? &learn->observer : NULL;
	if (is_dry_run ? dry_run(&l, &e) : start(&l, policy, &e) < 0)
		result_failed(ret, EXIT_HUTCH, &e);
	else if (!is_dry_run)
		run_command(&l, ret);
	if (kind == RUN_WHOLE && ret->status == RUN_EXITED && l.etc.entry.lock < 0)
		etc_folder_make(&l.plan);
	ret->network_form = egress_form_name(l.egress.form);
	if (learn && ret->status != RUN_SETUP_ERROR)
		finish_learning(learn, &l, ret);
	ret->wall_s = (double)(clock_us() - started) / 1e6;
	record_end(&l, ret);
	if (ret->status == RUN_SETUP_ERROR && policy->isolation == ISOLATION_AUTO)
		name_other_isolation(&ret->error);
	launch_done(&l);
	kept_changes_end(&l.cow);
	ret->wall_s = (double)(clock_us() - started) / 1e6;
}

/* Redacts the errors in the result, since an error about a command that could not be
 * started may hold a secret. */
static void hide_secrets(const struct policy *policy, struct result *r)
{
	struct redact m = { 0 };

	if (environment_mask(policy, &m, NULL) == 0)
		redact_err(&m, &r->error);
	redact_done(&m);
}

static int run_learning(const struct policy *policy, const struct run_options *o,
			struct result *ret, struct err *e)
{
	struct learn learn;

	if (learn_check(policy, o->is_dry_run, e) < 0)
		return -1;
	learn_init(&learn, policy, o->learn);
	run_launch(policy, &learn, RUN_WHOLE, ret);
	learn_done(&learn);
	return 0;
}

int run_main(char **argv)
{
	struct policy policy;
	struct run_options options = { .verb = VERB_RUN, .policy = &policy, .json_fd = -1 };
	struct result result = { 0 };
	struct err e;

	policy_init(&policy);
	launch_ready();
	if (options_parse(argv, &options, &e) < 0)
		result_failed(&result, EXIT_HUTCH, &e);
	else if (options.wants_help)
		options_print_help(VERB_RUN);
	else if (policy_check(&policy, &e) < 0)
		result_failed(&result, EXIT_HUTCH, &e);
	else {
		launch_close_others(options.json_fd, -1); /* layer: run-descriptors */
		if (!options.is_dry_run) {
			report_network(&policy);
			report_secrets(&policy);
		}
		if (!options.learn)
			run_launch(&policy, NULL,
				   options.is_dry_run ? RUN_DRY : RUN_WHOLE, &result);
		else if (run_learning(&policy, &options, &result, &e) < 0)
			result_failed(&result, EXIT_HUTCH, &e);
	}
	hide_secrets(&policy, &result);
	result.network = policy_network_word(&policy);
	if (report_result(&result, policy.timeout_ms, options.json_fd) < 0 && !result.exit_code)
		result.exit_code = EXIT_HUTCH;
	result_done(&result);
	policy_done(&policy);
	free(options.learn);
	return result.exit_code;
}

#include "sandbox/cli/run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/message.h"
#include "base/own.h"
#include "policy/policy.h"
#include "sandbox/caps.h"
#include "sandbox/cgroup.h"
#include "sandbox/cli/options.h"
#include "sandbox/cli/report.h"
#include "sandbox/folders.h"
#include "sandbox/identity.h"
#include "sandbox/janitor.h"
#include "sandbox/limits.h"
#include "sandbox/plan.h"
#include "sandbox/program.h"
#include "sandbox/result.h"
#include "sandbox/seccomp.h"
#include "sandbox/spawn.h"
#include "sandbox/stdio.h"
#include "sandbox/supervise.h"
#include "sandbox/terminal.h"
#include "sandbox/upper.h"

/* All that one run holds; released by launch_done() in one place. */
struct launch {
	const struct policy *policy;
	struct identity who;
	struct plan plan;
	struct program executor;
	struct seccomp_program filter;	/* of the executor, and inherited */
	struct seccomp_program profile; /* --seccomp: of the command alone */
	struct stdio stdio;
	struct sandbox sandbox;
	struct terminal terminal;
	struct upper upper;
	struct cgroup cgroup;
	unsigned degraded; /* enum degraded */
	struct janitor janitor;
	int signals; /* owned */
};

static void launch_init(struct launch *l, const struct policy *policy)
{
	*l = (struct launch){ .policy = policy, .executor.fd = -1, .terminal.fd = -1,
			      .signals = -1 };
	plan_init(&l->plan);
	stdio_init(&l->stdio);
	sandbox_init(&l->sandbox);
	upper_init(&l->upper);
	cgroup_init(&l->cgroup);
	janitor_init(&l->janitor);
}

static void launch_done(struct launch *l)
{
	sandbox_done(&l->sandbox);
	terminal_restore(&l->terminal);
	upper_remove(&l->upper);
	cgroup_remove(&l->cgroup, l->janitor.pid);
	janitor_dismiss(&l->janitor);
	stdio_done(&l->stdio);
	seccomp_done(&l->profile);
	seccomp_done(&l->filter);
	program_done(&l->executor);
	plan_done(&l->plan);
	own_close(&l->signals);
}

/* Docker's profiles have rules that depend on what the sandbox may hold. */
static void list_caps(const struct launch *l, struct list *ret)
{
	uint32_t uid, gid;

	if (policy_user(l->policy, &uid, &gid, NULL) < 0)
		return; /* policy_check() has seen to it */
	uint64_t caps = caps_for(l->policy, uid);
	for (int n = 0; n < 64; n++)
		if (caps & (1ull << n))
			list_addf(ret, "CAP_%s", caps_name(n));
}

static int load_profile(struct launch *l, const struct list *caps, struct err *e)
{
	AUTO_FREE char *compiler = NULL;
	AUTO_FREE char *folder = folder_path(FOLDER_CACHE);
	AUTO_FREE char *cache = folder ? text_format("%s/seccomp", folder) : NULL;
	struct err uncached;

	if (program_find("hutch-seccomp", &compiler, e) < 0)
		return -1;
	/* A launch that is going to fail, or is none, makes no folder. */
	bool has_use = cache && !l->plan.is_dry_run && access(l->policy->seccomp, R_OK) == 0;
	const struct seccomp_request request = {
		.profile = l->policy->seccomp, .compiler = compiler,
		.cache_dir = has_use && folder_create(cache, &uncached) == 0 ? cache : NULL,
		.caps = (const char *const *)caps->items,
	};
	return seccomp_obtain(&request, &l->profile, e);
}

static int load_filter(struct launch *l, struct err *e)
{
	struct list caps = { 0 };

	if (!l->policy->seccomp) {
		seccomp_default(&l->filter);
		return 0;
	}
	seccomp_floor(&l->filter);
	list_caps(l, &caps);
	int result = load_profile(l, &caps, e);
	list_done(&caps);
	if (result == 0)
		return 0;
	AUTO_FREE char *from = text_format("--seccomp %.200s", l->policy->seccomp);
	return err_from(e, from);
}

/* With thousands of mounts the plan opens none at once, but each pump, pipe
 * and descriptor of the caller's counts; the soft limit is what shells set. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 256) {
		limit.rlim_cur = limit.rlim_max < 256 ? limit.rlim_max : 256;
		(void)setrlimit(RLIMIT_NOFILE, &limit); /* else: as it was */
	}
}

/* Everything that looks at the host and changes nothing. */
static int prepare(struct launch *l, struct err *e)
{
	if (identity_decide(l->policy, &l->who, e) < 0)
		return -1;
	/* As whoever called, root included: hutch may be installed, and the
	 * terminal owned, where the user that root becomes cannot reach. */
	if (program_open("hutch-executor", &l->executor, e) < 0 ||
	    stdio_open(&l->stdio, l->policy, e) < 0)
		return -1;
	if (load_filter(l, e) < 0)
		return -1;
	if (identity_become(&l->who, e) < 0)
		return -1;
	return plan_build(&l->plan, l->policy, &l->who, e);
}

static int prepare_upper(struct launch *l, struct err *e)
{
	if (!plan_needs_upper(&l->plan))
		return 0;
	if (l->plan.has_ranges) {
		(void)err_set(e, ERR_UNSUPPORTED, "--idmap ranges with a writable image needs "
						  "user.* attributes on tmpfs, kernel 6.6");
		return err_remedy(e, "add --read-only");
	}
	if (l->policy->limits.disk && !l->policy->is_best_effort) {
		(void)err_set(e, ERR_UNSUPPORTED, "--disk cannot bound what is written over the "
						  "image: on this kernel it needs a folder on disk");
		return err_remedy(e, "add --read-only, or --best-effort, or use kernel 6.6");
	}
	if (l->policy->limits.disk)
		l->degraded |= DEGRADED_DISK;
	if (upper_make(&l->upper, e) < 0)
		return -1;
	plan_set_upper(&l->plan, l->upper.path);
	return 0;
}

/* What a cgroup would have held. */
static void degrade(struct launch *l)
{
	const struct limits *limits = &l->policy->limits;

	l->degraded |= (limits->memory ? DEGRADED_MEMORY : 0u) |
		       (limits->cpus ? DEGRADED_CPUS : 0u) |
		       (limits->pids ? DEGRADED_PIDS : 0u);
	if (limits->pids)
		limits_count_processes(&l->plan, limits->pids);
}

/* policy_check() has let these pass for --best-effort alone. */
static void degrade_disk(struct launch *l)
{
	for (size_t i = 0; l->policy->limits.disk && i < l->policy->volume_count; i++)
		if (l->policy->volumes[i].is_writable &&
		    l->policy->volumes[i].kind != VOLUME_TMPFS)
			l->degraded |= DEGRADED_DISK;
}

/* No limit asked: no cgroup, no bus. */
static int place_cgroup(struct launch *l, struct err *e)
{
	if (!policy_wants_cgroup(l->policy) || cgroup_place(&l->cgroup, l->policy, e) == 0)
		return 0;
	if (!l->policy->is_best_effort)
		return -1;
	degrade(l);
	return 0;
}

static int make_cgroup(struct launch *l, struct err *e)
{
	if (!l->cgroup.parent.path)
		return 0;
	if (cgroup_make(&l->cgroup, &l->policy->limits, l->janitor.pid, e) < 0)
		return -1;
	AUTO_FREE char *path = cgroup_commands_path(&l->cgroup);
	return limits_show_cgroup(&l->plan, path, e);
}

/* What outlives us if we are killed is known to the janitor before it is
 * changed; a folder that was made a moment before is found by its lock. */
static int prepare_host(struct launch *l, struct err *e)
{
	const struct chores chores = { &l->terminal, &l->upper, &l->cgroup };

	degrade_disk(l);
	if (prepare_upper(l, e) < 0 || place_cgroup(l, e) < 0)
		return -1;
	if (l->stdio.has_terminal && terminal_open(&l->terminal, 0, e) < 0)
		return -1;
	if (janitor_start(&l->janitor, &chores, e) < 0 || make_cgroup(l, e) < 0)
		return -1;
	return l->stdio.has_terminal ? terminal_raw(&l->terminal, e) : 0;
}

static struct exec describe_command(const struct launch *l)
{
	struct exec x = {
		.flags = EXEC_LAST | (l->policy->has_terminal ? EXEC_PTY : 0),
		.uid = l->plan.uid, .gid = l->plan.gid,
		.cwd = l->plan.workdir,
		.argv = l->policy->argv.items, .env = l->plan.env.items,
		.rlimit_count = l->plan.rlimit_count,
		.filter = l->profile.insns,
		.filter_len = (uint32_t)l->profile.count * EXEC_FILTER_UNIT,
	};

	memcpy(x.rlimits, l->plan.rlimits, sizeof(x.rlimits));
	if (l->policy->has_terminal)
		terminal_size(isatty(0) ? 0 : 1, &x.rows, &x.cols);
	return x;
}

static int start(struct launch *l, struct err *e)
{
	l->signals = supervise_signals(e);
	if (l->signals < 0 || prepare_host(l, e) < 0)
		return -1;
	const struct spawn_parts parts = { &l->plan, &l->executor, &l->filter,
					   l->cgroup.into };
	if (spawn_sandbox(&parts, &l->sandbox, e) < 0)
		return -1;
	/* The user that root became may have other processes, and root's
	 * environment is still in here (ptrace(2), access mode checking). */
	if (l->who.was_root && prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(e, "prctl PR_SET_DUMPABLE");
	return 0;
}

/* What the caller has open beyond the standard three is for nobody here. */
static void close_others(int json_fd)
{
	if (json_fd <= 2) {
		(void)sys_close_range(3, ~0u, 0);
		return;
	}
	if (json_fd > 3)
		(void)sys_close_range(3, (unsigned)json_fd - 1, 0);
	(void)sys_close_range((unsigned)json_fd + 1, ~0u, 0);
}

/* Which limit it was that ended it. */
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
		(void)fprintf(stderr, "hutch: note: the limit of %llu processes (--pids-limit) was "
				      "reached %llu times\n",
			      (unsigned long long)l->policy->limits.pids,
			      (unsigned long long)used.pids_refused);
}

static void run_command(struct launch *l, struct result *ret)
{
	const struct exec command = describe_command(l);
	struct run run = { .sandbox = &l->sandbox, .exec = &command, .stdio = &l->stdio,
			   .timeout_ms = l->policy->timeout_ms, .signals = l->signals };

	if (l->degraded & DEGRADED_MEMORY)
		run.watched_memory = l->policy->limits.memory;
	supervise_run(&run, ret);
	ret->degraded = l->degraded;
	tell_usage(l, ret);
	if (ret->status == RUN_SETUP_ERROR && ret->exit_code == EXIT_NOT_FOUND)
		report_explain_missing(&ret->error, l->policy);
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail on Linux */
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void warn_about_network(const struct policy *policy)
{
	if (policy->network == NETWORK_HOST)
		(void)fprintf(stderr, "hutch: --network host: the sandbox shares this host's "
				      "network, its loopback services included\n");
}

static int dry_run(struct launch *l, struct err *e)
{
	l->plan.is_dry_run = true;
	if (identity_decide(l->policy, &l->who, e) < 0 || load_filter(l, e) < 0 ||
	    identity_become(&l->who, e) < 0 ||
	    plan_build(&l->plan, l->policy, &l->who, e) < 0)
		return -1;
	plan_print(&l->plan, l->policy, stdout);
	return 0;
}

static void launch(const struct policy *policy, bool is_dry_run, struct result *ret)
{
	double started = now();
	struct launch l;
	struct err e;

	launch_init(&l, policy);
	if (is_dry_run ? dry_run(&l, &e) : prepare(&l, &e) < 0 || start(&l, &e) < 0)
		result_failed(ret, EXIT_HUTCH, &e);
	else if (!is_dry_run)
		run_command(&l, ret);
	launch_done(&l);
	ret->wall_s = now() - started;
}

int run_main(char **argv)
{
	struct policy policy;
	struct run_options options = { .policy = &policy, .json_fd = -1 };
	struct result result = { 0 };
	struct err e;

	policy_init(&policy);
	raise_descriptor_limit();
	/* Ignored by whoever called us, our own child could not be waited for. */
	(void)signal(SIGCHLD, SIG_DFL);
	/* A reader that went away is an error of write(2), not our end. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (options_parse(argv, &options, &e) < 0)
		result_failed(&result, EXIT_HUTCH, &e);
	else if (options.wants_help)
		options_print_help();
	else if (policy_check(&policy, &e) < 0)
		result_failed(&result, EXIT_HUTCH, &e);
	else {
		close_others(options.json_fd);
		if (!options.is_dry_run)
			warn_about_network(&policy);
		launch(&policy, options.is_dry_run, &result);
	}
	report_result(&result, options.json_fd);
	policy_done(&policy);
	return result.exit_code;
}

#include "sandbox/landlock/landlock_run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "protocol/message.h"
#include "sandbox/kernel/countdown.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/landlock/landlock_rules.h"
#include "sandbox/landlock/subreaper.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "sandbox/launch/supervise.h"
#include "sandbox/plan/image.h"
#include "sandbox/plan/plan_rlimits.h"
#include "sandbox/plan/volumes.h"

enum state { RUNNING, DRAINING, DONE };

enum watch { WATCH_LINE, WATCH_FAILURE, WATCH_SIGNALS, WATCH_PUMPS,
	     WATCH_COUNT = WATCH_PUMPS + STDIO_COUNT };

struct landlock_run {
	struct launch l; /* only user, plan, filter, profile, stdio, upper, signals and
			  * words are used */
	struct landlock_rules rules;
	struct subreaper subreaper;
	struct exec exec;
	struct seccomp_program filters[3]; /* seccomp filters that a sandbox with
					    * namespaces does not have */
	bool is_trial; /* hutch doctor's trial: no private folder is made */
	struct result *result;
	enum state state;
	bool has_verdict;
	struct countdown countdown;
};

const char landlock_run_loses[] =
	"the command is you, can look up by path how large and old any of your files is, can "
	"change their modes and times, and is bounded by your own limits alone";

/* --- the plan --------------------------------------------------------------------- */

static void set_unless_said(struct landlock_run *r, const char *name, const char *value)
{
	AUTO_FREE char *pair = text_format("%s=%s", name, value);

	if (!list_get_env(&r->l.policy->env_set, name))
		list_set_env(&r->l.plan.env, pair);
}

/* Sets USER and LOGNAME.  Without namespaces there is no user "agent": the command
 * runs as the user that the files belong to. */
static void plan_user(struct landlock_run *r)
{
	AUTO_FREE char *listed = host_user_name(r->l.user.uid);
	AUTO_FREE char *name = listed ? text_copy(listed)
				      : text_format("%u", r->l.user.uid);

	set_unless_said(r, "USER", name);
	set_unless_said(r, "LOGNAME", name);
}

/* Builds the environment of the command.  A resolver asks by UDP, which Landlock
 * cannot bound, unless RES_OPTIONS tells the resolver to use TCP (resolv.conf(5)). */
static void plan_environment(struct landlock_run *r, const char *private)
{
	const struct policy *policy = r->l.policy;
	AUTO_FREE char *shell = image_shell(&r->l.plan, policy);
	AUTO_FREE char *zone = image_timezone();
	AUTO_FREE char *home = text_format("%s/home", private);
	AUTO_FREE char *tmp = text_format("%s/tmp", private);

	environment_build(policy, r->l.user.uid, shell, zone, &r->l.plan.env);
	plan_user(r);
	set_unless_said(r, "HOME", home);
	set_unless_said(r, "TMPDIR", tmp);
	if (policy->network == NETWORK_HOST)
		set_unless_said(r, "RES_OPTIONS", "use-vc");
}

static void plan_place(struct landlock_run *r, const char *private)
{
	const struct policy *policy = r->l.policy;

	if (policy->workdir || r->rules.workspace)
		r->l.plan.workdir = text_copy(policy->workdir ? policy->workdir
							      : r->rules.workspace);
	else
		r->l.plan.workdir = text_format("%s/workspace", private);
}

static void plan_command(struct landlock_run *r, const char *private)
{
	const struct list *argv = &r->l.policy->argv;

	plan_environment(r, private);
	plan_place(r, private);
	for (size_t i = 0; i < argv->count; i++)
		list_add(&r->l.plan.argv, argv->items[i]);
	r->exec = launch_command(&r->l);
}

static int check_kernel(struct err *e)
{
	if (landlock_abi() > 0)
		return 0;
	(void)err_sys(e,
		      "--isolation landlock: this kernel has no Landlock, or it is off");
	return err_remedy(
		e, "a kernel 5.13 or newer with 'landlock' in lsm= on its command line");
}

static int prepare(struct landlock_run *r, bool is_dry_run, struct err *e)
{
	struct launch *l = &r->l;

	if (check_kernel(e) < 0 || host_user_decide(l->policy, &l->user, e) < 0)
		return -1;
	/* The stdio files and the seccomp profile are opened before root is dropped,
	 * with the rights of the user that called hutch. */
	if ((!is_dry_run && stdio_open(&l->stdio, l->policy, e) < 0) ||
	    launch_load_filter(l, e) < 0)
		return -1;
	if (host_user_become(&l->user, e) < 0)
		return -1;
	return landlock_rules_build(&r->rules, l->policy, e) < 0
		       ? -1
		       : plan_rlimits(&l->plan, l->policy, e);
}

/* --- the start -------------------------------------------------------------------- */

static int make_private(struct landlock_run *r, char **ret_path, struct err *e)
{
	static const char *const folders[] = { "home", "tmp", "workspace" };

	if (overlay_upper_make_root(&r->l.upper, e) < 0)
		return err_in(e, "make a private folder");
	AUTO_FREE char *path = text_format("%s/upper", r->l.upper.path);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		AUTO_FREE char *folder = text_format("%s/%s", path, folders[i]);
		if (mkdir(folder, 0700) < 0)
			return err_sys(e, "make the folder %s", folder);
	}
	if (landlock_rules_add_private(&r->rules, path, e) < 0)
		return -1;
	*ret_path = path;
	path = NULL;
	return 0;
}

static void add_filter(struct subreaper_parts *parts,
		       const struct seccomp_program *filter)
{
	if (filter->count)
		parts->filters[parts->filter_count++] = filter;
}

static void choose_filters(struct landlock_run *r, struct subreaper_parts *parts)
{
	bool is_online = r->l.policy->network == NETWORK_HOST;

	seccomp_landlock(SECCOMP_LANDLOCK, &r->filters[0]);
	seccomp_landlock(is_online ? SECCOMP_LANDLOCK_ONLINE : SECCOMP_LANDLOCK_OFFLINE,
			 &r->filters[1]);
	if (landlock_abi() < LANDLOCK_ABI_SCOPES)
		seccomp_landlock(SECCOMP_LANDLOCK_EARLY, &r->filters[2]);
	add_filter(parts, &r->l.filter);
	for (size_t i = 0; i < ARRAY_LEN(r->filters); i++)
		add_filter(parts, &r->filters[i]);
	/* The user's seccomp profile is installed last: it may forbid seccomp(2),
	 * which installs the other filters. */
	add_filter(parts, &r->l.profile);
}

static int start(struct landlock_run *r, struct err *e)
{
	struct subreaper_parts parts = {
		.exec = &r->exec, .rules = &r->rules, .stdio = r->l.stdio.inside,
		.folder = &r->l.upper,
		.spares = r->l.policy->network == NETWORK_HOST ? LANDLOCK_SPARES_TCP : 0,
	};
	AUTO_FREE char *private = NULL;

	r->l.signals = supervise_signals(e);
	if (r->l.signals < 0 || (!r->is_trial && make_private(r, &private, e) < 0))
		return -1;
	plan_command(r, private ? private : "/nonexistent");
	choose_filters(r, &parts);
	note_print_to(r->l.words,
		      "note: --isolation landlock is weaker than namespaces: %s",
		      landlock_run_loses);
	volumes_tell_home(r->l.policy, NULL, r->l.words);
	if (subreaper_start(&parts, &r->subreaper, e) < 0)
		return -1;
	stdio_handed_over(&r->l.stdio);
	/* An undumpable launcher keeps the user's other processes out of its memory;
	 * launch_start() gives the whole reason. */
	if ((r->l.user.was_root || r->l.policy->secrets.count) &&
	    prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(e, "prctl PR_SET_DUMPABLE");
	return 0;
}

/* --- the watch -------------------------------------------------------------------- */

static bool take_verdict(struct landlock_run *r)
{
	bool is_first = !r->has_verdict;

	r->has_verdict = true;
	return is_first;
}

static void drain(struct landlock_run *r)
{
	struct stdio *io = &r->l.stdio;

	r->state = DRAINING;
	pump_done(&io->pumps[0]);
	pump_finish(&io->pumps[1]);
	pump_finish(&io->pumps[2]);
}

static void on_failure(struct landlock_run *r)
{
	struct failed failed;
	struct err e;
	int heard = subreaper_hear_failure(&r->subreaper, &failed, &e);

	if (heard == 1)
		return;
	int code = heard == 0 ? result_not_started(&failed, &r->exec, &e) : EXIT_HUTCH;
	if (take_verdict(r))
		result_failed(r->result, code, &e);
}

static void judge(struct landlock_run *r, const struct subreaper_news *news)
{
	r->result->user_s = (double)news->user_us / 1e6;
	r->result->sys_s = (double)news->sys_us / 1e6;
	if (!take_verdict(r))
		return;
	if (WIFSIGNALED(news->status))
		result_signaled(r->result, WTERMSIG(news->status));
	else
		result_exited(r->result, WEXITSTATUS(news->status));
}

static void on_line(struct landlock_run *r)
{
	struct subreaper_news news;
	struct err e;

	switch (subreaper_hear(&r->subreaper, &news)) {
	case SUBREAPER_NOTHING:
		return;
	case SUBREAPER_NEWS:
		judge(r, &news);
		break;
	case SUBREAPER_GONE:
		(void)err_set(&e, ERR_GONE, "the subreaper of the command was killed");
		if (take_verdict(r))
			result_failed(r->result, EXIT_HUTCH, &e);
		subreaper_done(&r->subreaper); /* the subreaper is dead, so no process
						* writes to its socket any more */
		break;
	}
	drain(r);
}

/* Passes a signal that hutch has received on to the command.  If the command has been
 * interrupted often enough (countdown.h), or has ended, hutch kills all its processes
 * instead. */
static void on_signal(struct landlock_run *r, int signo, int64_t now)
{
	if (signo == SIGWINCH)
		return;
	if (countdown_signal(&r->countdown, signo, now) && r->state == RUNNING) {
		subreaper_signal(&r->subreaper, signo);
		return;
	}
	if (signo == SIGUSR1 || signo == SIGUSR2)
		return;
	if (take_verdict(r))
		result_signaled(r->result, signo);
	subreaper_end(&r->subreaper);
	/* A further signal ends hutch even if the reader of its output has stopped
	 * reading. */
	if (r->state == DRAINING)
		r->state = DONE;
}

static void on_signals(struct landlock_run *r, int64_t now)
{
	struct signalfd_siginfo info;

	while (read(r->l.signals, &info, sizeof(info)) == sizeof(info))
		on_signal(r, (int)info.ssi_signo, now);
}

static void on_deadline(struct landlock_run *r, int64_t now)
{
	enum countdown_end end;

	if (r->state != RUNNING)
		return;
	while ((end = countdown_expire(&r->countdown, now)) != COUNTDOWN_RUNS) {
		bool is_first = take_verdict(r);
		if (is_first && end == COUNTDOWN_TIMED_OUT)
			result_timeout(r->result);
		else if (is_first)
			result_signaled(r->result, SIGKILL);
		subreaper_end(&r->subreaper);
	}
}

static void watch_list(const struct landlock_run *r, struct pollfd w[WATCH_COUNT])
{
	int line = r->state == RUNNING ? r->subreaper.line : -1;

	w[WATCH_LINE] = (struct pollfd){ .fd = line, .events = POLLIN };
	w[WATCH_FAILURE] =
		(struct pollfd){ .fd = r->subreaper.failure, .events = POLLIN };
	w[WATCH_SIGNALS] = (struct pollfd){ .fd = r->l.signals, .events = POLLIN };
	for (int i = 0; i < STDIO_COUNT; i++)
		w[WATCH_PUMPS + i] = pump_poll(&r->l.stdio.pumps[i]);
}

static void serve(struct landlock_run *r, const struct pollfd w[WATCH_COUNT], int64_t now)
{
	struct stdio *io = &r->l.stdio;

	for (int i = 0; i < STDIO_COUNT; i++)
		if (w[WATCH_PUMPS + i].revents)
			pump_run(&io->pumps[i]);
	/* The failure is read before the line: the line may report the command's end
	 * already, and a command that could not start is to be reported as such. */
	if (w[WATCH_FAILURE].revents)
		on_failure(r);
	if (w[WATCH_LINE].revents && r->subreaper.failure < 0)
		on_line(r);
	if (w[WATCH_SIGNALS].revents)
		on_signals(r, now);
	on_deadline(r, now);
	if (r->state == DRAINING && !pump_is_open(&io->pumps[1]) &&
	    !pump_is_open(&io->pumps[2]))
		r->state = DONE;
}

static void turn(struct landlock_run *r)
{
	int64_t due = r->state == RUNNING ? countdown_due(&r->countdown) : 0;
	struct pollfd w[WATCH_COUNT];

	watch_list(r, w);
	const int ready = poll(w, WATCH_COUNT, clock_wait(due, clock_ms()));
	if (ready >= 0) /* poll(2) fails only with EINTR, after a stop and SIGCONT */
		serve(r, w, clock_ms());
}

static void run(struct landlock_run *r)
{
	struct err e;

	countdown_start(&r->countdown, r->l.policy->timeout_ms, clock_ms());
	while (r->state != DONE)
		turn(r);
	r->result->degraded |= DEGRADED_ISOLATION;
	if (stdio_check(&r->l.stdio, &e) < 0)
		result_undelivered(r->result, &e);
}

/* --- the whole -------------------------------------------------------------------- */

static int dry_run(struct landlock_run *r, struct err *e)
{
	bool is_online = r->l.policy->network == NETWORK_HOST;

	if (prepare(r, true, e) < 0)
		return -1;
	(void)printf("isolation landlock, ABI %d\n", landlock_abi());
	landlock_rules_print(&r->rules, stdout);
	(void)printf("write     a private folder: home, tmp, workspace\n"
		     "network   %s\nuser      %u\n",
		     is_online ? "this host's, TCP alone" : "none", r->l.user.uid);
	return 0;
}

static void run_all(const struct policy *policy, bool is_dry_run, bool is_trial,
		    struct result *ret)
{
	int64_t started = clock_us();
	struct landlock_run r = { .result = ret, .is_trial = is_trial };
	struct err e;

	*ret = (struct result){ 0 };
	launch_init(&r.l, policy);
	subreaper_init(&r.subreaper);
	if (is_dry_run ? dry_run(&r, &e)
		       : prepare(&r, false, &e) < 0 || start(&r, &e) < 0)
		result_failed(ret, EXIT_HUTCH, &e);
	else if (!is_dry_run)
		run(&r);
	subreaper_done(&r.subreaper);
	landlock_rules_done(&r.rules);
	launch_done(&r.l);
	ret->wall_s = (double)(clock_us() - started) / 1e6;
}

void landlock_run_run(const struct policy *policy, bool is_dry_run, struct result *ret)
{
	run_all(policy, is_dry_run, false, ret);
}

void landlock_run_try(const struct policy *policy, struct result *ret)
{
	run_all(policy, false, true, ret);
}

#include "tests/escape/probe.h"

#include "base/own.h"

#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const struct probe *const tables[] = {
	files_probes,	 lower_probes,	  procfs_probes,  nodes_probes,
	spaces_probes,	 rights_probes,	  pid1_probes,	  signals_probes,
	syscalls_probes, foreign_probes,  filter_probes,  terminal_probes,
	net_probes,	 families_probes, width_probes,	  limits_probes,
	accounts_probes, mounts_probes,
};

static void print_list(void)
{
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		for (const struct probe *p = tables[i]; p->name; p++)
			printf("%s\t%s\t%s\n", p->number, p->name,
			       p->flags & PROBE_ALONE  ? "alone"
			       : p->flags & PROBE_WIDE ? "wide"
						       : "-");
}

static void print_trial(const struct trial *t)
{
	printf("%s\t%s\t%s\t%s\n", t->probe->number, t->probe->name, t->result,
	       t->detail);
	fflush(stdout);
}

/* Derives the result from the process's end, if the trial set none itself. */
static void trial_ended(struct trial *t, int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		trial_says(t, "hang", "%u s", t->set->seconds);
	else if (WIFSIGNALED(status))
		snprintf(t->result, sizeof(t->result), "killed:%s",
			 sigabbrev_np(WTERMSIG(status)));
	else if (!t->result[0])
		trial_says(t, "error:silent", "exit %d", WEXITSTATUS(status));
}

/* Starts a process that the probes of pid 1 may attack in its place.  It allows
 * tracing, so that a refusal by Yama's scope 1 is not taken for the sandbox's. */
static pid_t target_start(void)
{
	pid_t pid = fork();

	if (pid > 0)
		(void)setpgid(pid, pid); /* the group's number is the target's pid */
	if (pid)
		return pid;
	/* If this fails, trial_sweep() kills the target. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* EINVAL: no Yama */
	for (;;)
		pause();
}

/* Kills the process group of a trial and reaps it, so that leftover processes do not
 * count against the limits of the next trial.  Orphans become our children, since we
 * are a subreaper; a process that left the group is not waited for. */
static void trial_sweep(pid_t group, pid_t target)
{
	if (group > 1 && !kill(-group, SIGKILL))
		while (waitpid(-group, NULL, 0) > 0)
			;
	if (target > 1) {
		(void)kill(target, SIGKILL);
		/* Fails if the target died in the trial and was reaped. */
		(void)waitpid(target, NULL, 0);
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void trial_run(struct trial *t, const struct setting *set)
{
	struct setting own = *set;
	int status = 0;

	if (set->own_target)
		own.target = target_start();
	t->set = &own;

	pid_t pid = fork();
	if (pid < 0) {
		trial_error(t, "skip", errno);
		return;
	}
	if (!pid) {
		(void)setpgid(0, 0); /* cannot fail right after fork(2) */
		alarm(set->seconds);
		t->probe->run(t);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	trial_ended(t, status);
	trial_sweep(pid, own.own_target ? own.target : 0);
}

/* Runs a probe that may kill all processes in this very process: kill(-1) spares its
 * caller, so that a result can be reported. */
static void trial_run_alone(struct trial *t, const struct setting *set)
{
	struct setting own = *set;

	if (set->own_target)
		own.target = target_start();
	t->set = &own;
	alarm(set->seconds);
	t->probe->run(t);
	alarm(0);
	trial_sweep(0, set->own_target ? own.target : 0);
}

static bool is_wanted(const struct probe *p, int count, char **names)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(names[i], p->name) || !strcmp(names[i], p->number))
			return true;
	return !count && !p->flags;
}

static void run_wanted(struct trial *t, const struct setting *set, int count,
		       char **names)
{
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		for (const struct probe *p = tables[i]; p->name; p++) {
			if (!is_wanted(p, count, names))
				continue;
			*t = (struct trial){ .probe = p };
			if (p->flags & PROBE_ALONE)
				trial_run_alone(t, set);
			else
				trial_run(t, set);
			print_trial(t);
		}
}

enum option_value {
	OPT_LIST = 1, OPT_OWN_TARGET, OPT_READONLY, OPT_SINGLE, OPT_SCRATCH,
	OPT_SECRET, OPT_SHM, OPT_RUN, OPT_PREFIX, OPT_ABSTRACT, OPT_SOCKET,
	OPT_ADDRESS, OPT_ADDRESS6, OPT_TCP, OPT_HOST_PID,
	OPT_WATCHES, OPT_SOURCE, OPT_SECONDS, OPT_TARGET,
};

static const struct option options[] = {
	{ "list", no_argument, NULL, OPT_LIST },
	{ "own-target", no_argument, NULL, OPT_OWN_TARGET },
	{ "readonly", required_argument, NULL, OPT_READONLY },
	{ "single", required_argument, NULL, OPT_SINGLE },
	{ "scratch", required_argument, NULL, OPT_SCRATCH },
	{ "secret", required_argument, NULL, OPT_SECRET },
	{ "source", required_argument, NULL, OPT_SOURCE },
	{ "shm", required_argument, NULL, OPT_SHM },
	{ "run", required_argument, NULL, OPT_RUN },
	{ "prefix", required_argument, NULL, OPT_PREFIX },
	{ "abstract", required_argument, NULL, OPT_ABSTRACT },
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "address", required_argument, NULL, OPT_ADDRESS },
	{ "address6", required_argument, NULL, OPT_ADDRESS6 },
	{ "tcp", required_argument, NULL, OPT_TCP },
	{ "host-pid", required_argument, NULL, OPT_HOST_PID },
	{ "watches", required_argument, NULL, OPT_WATCHES },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "target", required_argument, NULL, OPT_TARGET },
	{ NULL, 0, NULL, 0 },
};

/* Returns the field of *set for the option's text, or NULL if the option has no
 * text. */
static const char **setting_text(struct setting *set, int option)
{
	const char **const texts[] = {
		[OPT_READONLY] = &set->readonly, [OPT_SINGLE] = &set->single,
		[OPT_SCRATCH] = &set->scratch,	 [OPT_SECRET] = &set->secret,
		[OPT_SHM] = &set->shm,		 [OPT_RUN] = &set->run,
		[OPT_PREFIX] = &set->prefix,	 [OPT_ABSTRACT] = &set->abstract,
		[OPT_SOCKET] = &set->socket,	 [OPT_ADDRESS] = &set->address,
		[OPT_ADDRESS6] = &set->address6, [OPT_SOURCE] = &set->source,
	};

	return (size_t)option < ARRAY_LEN(texts) ? texts[option] : NULL;
}

/* Returns 0, or -1 for an unknown option. */
static int setting_take(struct setting *set, int option, const char *value)
{
	const char **text = setting_text(set, option);

	if (text)
		*text = value;
	else if (option == OPT_TCP)
		set->tcp = atoi(value);
	else if (option == OPT_HOST_PID)
		set->host_pid = atoi(value);
	else if (option == OPT_WATCHES)
		set->watches = atoi(value);
	else if (option == OPT_SECONDS)
		set->seconds = (unsigned)atoi(value);
	else if (option == OPT_TARGET)
		set->target = atoi(value);
	else if (option == OPT_OWN_TARGET)
		set->own_target = true;
	else
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	struct setting set = {
		.readonly = "/probe", .single = "/single", .scratch = "/tmp",
		.secret = "/nonexistent/secret",
		.source = "/nonexistent/source", .shm = "/dev/shm/nonexistent",
		.run = "/run/nonexistent", .prefix = "/h",
		.abstract = "hutch-probe", .socket = "/nonexistent/socket",
		.address = "", .address6 = "", .target = 1,
		.host_pid = INT_MAX, .seconds = TRIAL_SECONDS,
	};
	int option;

	if (argc > 1 && !strncmp(argv[1], "--role=", 7))
		return role_play(argv[1] + 7, argv + 2);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == OPT_LIST) {
			print_list();
			return 0;
		}
		if (setting_take(&set, option, optarg))
			return 125;
	}
	struct trial *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		return 125;
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* cannot fail */
	run_wanted(t, &set, argc - optind, argv + optind);
	return 0;
}

#include "sandbox/explain/checks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/worker.h"
#include "sandbox/explain/probes.h"
#include "sandbox/kernel/diagnose.h"
#include "sandbox/kernel/idmap.h"

#define USER_NAMESPACES "user-namespaces"

static const char *const status_names[] = {
	[CHECK_OK] = "ok", [CHECK_LIMITED] = "limited", [CHECK_MISSING] = "missing",
};
_Static_assert(ARRAY_LEN(status_names) == CHECK_STATUS_COUNT, "a status has no name");

/* The checks of a host, in order.  The user namespace is tried before the
 * checks that need one. */
static const struct check_kind kinds[] = {
	{ "kernel", probe_kernel,
	  "hutch was never tried on it; it may fail, or bound less", false, 0 },
	{ USER_NAMESPACES, probe_user_namespaces,
	  "hutch run fails: no sandbox can be made", false, 0 },
	{ "namespaces", probe_namespaces, "hutch run fails", true, 0 },
	{ "network-namespace", probe_network_namespace,
	  "hutch run fails unless --network host is given, which puts this host's network "
	  "in reach",
	  true, 0 },
	{ "cgroup-namespace", probe_cgroup_namespace, "hutch run fails", true, 0 },
	{ "mounts", probe_mounts, "hutch run fails", true, 0 },
	{ "proc", probe_proc, "hutch run fails", true, 0 },
	{ "overlayfs", probe_overlayfs,
	  "--image dir:PATH fails unless --read-only is given; --image REF fails", true,
	  0 },
	{ "seccomp", probe_seccomp, "hutch run fails", false, 0 },
	{ "seccomp-notify", probe_seccomp_notify,
	  "which system calls were refused inside cannot be told", false, 0 },
	{ "landlock", probe_landlock,
	  "sandboxes have no second wall around their files, and with --network host unix "
	  "sockets do not work inside: those of the host could not be kept apart",
	  false, 0 },
	{ "id-ranges", probe_id_ranges,
	  "--idmap ranges fails; without it one id is mapped, which is enough for hutch run",
	  true, 0 },
	{ "cgroup", probe_cgroup,
	  "--memory, --cpus and --pids-limit fail unless --best-effort is given", false,
	  0 },
	{ "runtime-dir", probe_runtime_dir,
	  "a sandbox that keeps state on disk fails; a plain hutch run keeps none", false,
	  0 },
};
_Static_assert(ARRAY_LEN(kinds) == CHECKS_HOST, "checks.h has another number");

const char *check_status_name(enum check_status status)
{
	return status_names[status];
}

void trial_found(struct trial *t, enum check_status status, const char *fmt, ...)
{
	va_list ap;

	t->check.status = status;
	va_start(ap, fmt);
	(void)vsnprintf(t->check.detail, sizeof(t->check.detail), fmt,
			ap); /* vsnprintf(3) cuts a text that is too long */
	va_end(ap);
}

void trial_means(struct trial *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(t->check.means, sizeof(t->check.means), fmt, ap); /* may be cut */
	va_end(ap);
}

void trial_remedy(struct trial *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(t->check.remedy, sizeof(t->check.remedy), fmt,
			ap); /* vsnprintf(3) cuts a text that is too long */
	va_end(ap);
}

void trial_failed(struct trial *t)
{
	trial_found(t, CHECK_MISSING, "%s", t->e.text);
	trial_remedy(t, "%s", t->e.remedy);
}

struct inside {
	struct trial *t;
	struct idmap ids[2];
	int (*work)(struct trial *t);
};

/* Runs the trial's work in the child.  If the trial asks for a pid namespace, the
 * child is pid 1 in it. */
static int work_inside(void *arg, void *result, struct err *e)
{
	const struct inside *in = arg;
	struct trial *t = in->t;

	(void)result;
	if (idmap_write_both(&in->ids[0], &in->ids[1], &t->e) == 0 && in->work(t) == 0)
		return 0;
	diagnose_setup(&t->e);
	*e = t->e;
	return -1;
}

int trial_inside(struct trial *t, uint64_t namespaces, int (*work)(struct trial *t))
{
	/* The ids are read before the clone: in the new user namespace, geteuid(2)
	 * returns the overflow id until the id maps are written. */
	struct inside in = { t,
			     { { 1000, geteuid(), 1 }, { 1000, getegid(), 1 } },
			     work };
	/* The child keeps all descriptors.  One of them is the pipe by which
	 * is_over() notices that the last process of the probe has ended. */
	const struct worker_task task = { .name = "a trial",
					  .work = work_inside,
					  .arg = &in,
					  .has_all_fds = true,
					  .flags = namespaces | CLONE_NEWUSER };
	struct worker w;

	if (worker_start(&task, &w, &t->e) < 0)
		return diagnose_clone(task.flags, &t->e);
	return worker_wait(&w, NULL, &t->e);
}

/* Points the probe's stdio to /dev/null, since a program that the probe
 * starts, such as newuidmap, may print. */
static void silence(void)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		(void)dup2(null, fd);
}

static _Noreturn void probe(struct trial *t, const struct check_kind *kind)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* valid arguments */
	silence();
	kind->probe(t);
	_exit(0);
}

/* Waits for the end of a probe; returns false if it has not ended in `seconds`.  The
 * probe and its children hold the other end of the pipe, so the pipe closes when the
 * last of them ends.  A pidfd would need a system call that an outer container's
 * seccomp filter may refuse. */
static bool is_over(int alive, unsigned seconds)
{
	struct pollfd p = { .fd = alive, .events = POLLIN };
	int ready;

	while ((ready = poll(&p, 1, (int)seconds * 1000)) < 0 && errno == EINTR)
		;
	return ready == 1;
}

static void say_no_answer(struct trial *t, int status)
{
	if (WIFSIGNALED(status))
		trial_found(t, CHECK_MISSING, "the trial was ended by signal %d",
			    WTERMSIG(status));
	else
		trial_found(t, CHECK_MISSING, "the trial gave no answer");
}

/* Ends a trial.  SIGKILL does not end a process that hangs in the kernel: such
 * a process is left behind, and dies when its system call returns. */
static void end(struct trial *t, pid_t pid, int alive, unsigned seconds)
{
	if (!is_over(alive, seconds)) {
		(void)kill(pid, SIGKILL); /* the probe is our child and not yet reaped,
					   * so no other process has its pid */
		(void)waitpid(pid, NULL, is_over(alive, 1) ? 0 : WNOHANG);
		trial_found(t, CHECK_MISSING, "the trial did not end within %u s",
			    seconds);
		return;
	}
	const int status = worker_reap(pid);
	if (!t->check.detail[0])
		say_no_answer(t, status);
}

static void run_probe(struct trial *t, const struct check_kind *kind)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0) {
		trial_found(t, CHECK_MISSING, "no trial: make a pipe: %s",
			    err_words(errno));
		return;
	}
	AUTO_CLOSE int alive = ends[0];
	AUTO_CLOSE int held = ends[1];
	pid_t pid = fork();
	if (pid == 0)
		probe(t, kind);
	own_close(&held);
	if (pid < 0)
		trial_found(t, CHECK_MISSING, "no trial: fork: %s", err_words(errno));
	else
		end(t, pid, alive, kind->seconds ? kind->seconds : CHECK_SECONDS);
}

static void finish(struct check *c, const struct check_kind *kind)
{
	c->name = kind->name;
	if (c->status == CHECK_OK)
		c->means[0] = c->remedy[0] = '\0';
	else if (!c->means[0])
		(void)snprintf(c->means, sizeof(c->means), "%s", kind->means);
}

void check_try(const struct check_kind *kind, const struct host_user *user,
	       struct check *ret)
{
	struct trial *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*ret = (struct check){ .name = kind->name, .status = CHECK_MISSING };
	if (t == MAP_FAILED) {
		(void)snprintf(ret->detail, sizeof(ret->detail),
			       "no trial: map memory: %s", err_words(errno));
		return;
	}
	t->user = user;
	run_probe(t, kind);
	*ret = t->check;
	(void)munmap(t, sizeof(*t));
	finish(ret, kind);
}

static void pass_over(const struct check_kind *kind, struct check *ret)
{
	*ret = (struct check){ .name = kind->name, .status = CHECK_MISSING };
	(void)snprintf(ret->detail, sizeof(ret->detail),
		       "not tried: it needs a user namespace");
}

void checks_host(const struct host_user *user, struct check ret[CHECKS_HOST])
{
	bool has_user = false;

	for (size_t i = 0; i < CHECKS_HOST; i++) {
		if (kinds[i].needs_user && !has_user)
			pass_over(&kinds[i], &ret[i]);
		else
			check_try(&kinds[i], user, &ret[i]);
		if (!strcmp(kinds[i].name, USER_NAMESPACES))
			has_user = ret[i].status == CHECK_OK;
	}
}

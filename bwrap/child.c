/* Theory of operation.
 *
 *	launcher			child (new namespaces)
 *	clone3 ------------------------> map its ids, set up loopback
 *	--info-fd, --json-status-fd	 mounts, pivot_root
 *					 last user namespace, capabilities
 *					 --block-fd, --seccomp
 *	go ----------------------------> working directory, session
 *					 fork: the reaper stays, and the copy goes on
 *	wait				 filters, execve
 *
 * With --userns-block-fd the child waits for the launcher before all else, since its ids
 * are the caller's to map. */
#include "bwrap/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "bwrap/args.h"
#include "bwrap/command.h"
#include "bwrap/message.h"
#include "bwrap/namespaces.h"
#include "bwrap/privileges.h"
#include "bwrap/reaper.h"
#include "bwrap/status.h"
#include "bwrap/steps.h"
#include "bwrap/wording.h"
#include "sandbox/kernel/pivot.h"
#include "sandbox/raw/raw_mounts.h"
#include "sandbox/raw/raw_plan.h"

/* The state that one stage hands on to the next. */
struct state {
	struct child *c;
	mode_t mask; /* the caller's umask(2) */
	char *cwd;   /* owned: the caller's working directory; NULL: it has no path */
	int proc;    /* owned: O_PATH of the host's procfs */
	int root;    /* owned: the new root */
	struct raw_plan plan;
};

bool child_has_reaper(const struct args *a)
{
	return !a->as_pid_1 && (a->unshare_pid || a->locks.count > 0 || a->sync >= 0);
}

/* Waits for the launcher, once. */
static int await_go(struct child *c, struct err *e)
{
	char byte;

	if (c->go < 0)
		return 0;
	if (io_read_full(c->go, &byte, 1) != 1)
		return err_set(e, ERR_GONE, "the parent has ended");
	own_close(&c->go);
	return 0;
}

/* Closes a descriptor of the caller's that was meant for bwrap, and no standard one: it
 * may serve both. */
static void close_extra(int fd)
{
	if (fd > STDERR_FILENO)
		(void)close(fd);
}

/* Needs: nothing.  Does: waits until the caller has mapped the ids, if it is to; or maps
 * them; sets up loopback.  Leaves: all capabilities over a new user namespace. */
static int stage_ids(struct state *s, struct err *e)
{
	const struct args *a = s->c->args;

	close_extra(a->info);
	close_extra(a->json_status);
	close_extra(a->userns);
	close_extra(a->pidns);
	if (a->userns_block >= 0 && await_go(s->c, e) < 0)
		return -1;
	close_extra(a->userns_block);
	if (namespaces_take_ids(a, s->c->namespaces, e) < 0)
		return -1;
	return a->unshare_net ? namespaces_start_loopback(e) : 0;
}

/* Needs: CAP_SYS_ADMIN over all namespaces.  Does: makes the mounts, sets the host name.
 * Leaves: only paths of the sandbox in reach, and the host's procfs by a descriptor. */
static int stage_root(struct state *s, struct err *e)
{
	const struct args *a = s->c->args;

	s->cwd = get_current_dir_name();
	s->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->proc < 0)
		return err_sys(e, "Can't open /proc");
	s->mask = umask(0);
	if (steps_make(a, &s->plan, e) < 0)
		return -1;
	if (raw_mounts_make(&s->plan, &s->root, e) < 0)
		return wording_of_bwrap(e);
	if (a->hostname && sethostname(a->hostname, strlen(a->hostname)) < 0)
		return err_sys(e, "Can't set hostname to %.64s", a->hostname);
	if (pivot_into(s->root, false, e) < 0)
		return -1;
	own_close(&s->root);
	raw_plan_done(&s->plan); /* closes what --file and its kin have read */
	return 0;
}

/* Needs: all mounts done.  Does: enters the last user namespace, drops capabilities.
 * Leaves: the command's privileges. */
static int stage_privileges(struct state *s, struct err *e)
{
	const struct args *a = s->c->args;
	/* Some containers forbid capset(2) altogether; root's command is not in need of
	 * it. */
	const bool is_root = s->c->namespaces->outer_uid == 0 && !a->has_caps;

	if (namespaces_finish(a, s->c->namespaces, s->proc, e) < 0)
		return -1;
	own_close(&s->proc);
	close_extra(a->userns2);
	if (!is_root && privileges_reduce(a->caps, e) < 0)
		return -1;
	return privileges_show(e);
}

/* Needs: nothing.  Does: waits for --block-fd and the launcher, reads --seccomp, which
 * the caller may have written meanwhile.  Leaves: the filters in memory. */
static int stage_wait(struct state *s, struct err *e)
{
	struct args *a = s->c->args;
	char byte;

	if (a->block >= 0) {
		(void)io_read_full(a->block, &byte, 1); /* its end counts as well */
		(void)close(a->block);
	}
	if (a->seccomp >= 0 && filters_read(&a->filters, a->seccomp, e) < 0)
		return -1;
	return await_go(s->c, e);
}

/* Needs: the new root.  Does: sets the mask, the working directory and the session.
 * Leaves: nothing of the set-up. */
static int stage_place(struct state *s, struct err *e)
{
	const struct args *a = s->c->args;

	(void)umask(s->mask);
	if (command_chdir(a, s->cwd, e) < 0)
		return -1;
	if (a->new_session && setsid() < 0)
		return err_sys(e, "setsid");
	return 0;
}

static __attribute__((noreturn)) void fail(const struct child *c, const struct err *e)
{
	message_error(e, c->args->level_prefix);
	/* ignored: the launcher may have been killed */
	if (c->report >= 0)
		(void)io_write_all(c->report, e, sizeof(*e));
	_exit(1);
}

static __attribute__((noreturn)) void be_reaper(const struct child *c, pid_t command)
{
	const struct reaper r = { .command = command,
				  .ended = c->ended,
				  .alive = c->alive };
	struct err e = { 0 };

	if (reaper_begin(c->args, &r, &e) < 0)
		fail(c, &e);
	_exit(status_code(reaper_run(&r)));
}

/* Needs: to be what pid 1 is to be.  Does: forks; this process stays as the reaper, and
 * its copy goes on.  Leaves: the process that executes the command. */
static int stage_reaper(struct state *s, struct err *e)
{
	const struct args *a = s->c->args;

	if (!child_has_reaper(a))
		return 0;
	const pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "Can't fork for pid 1");
	if (pid > 0)
		be_reaper(s->c, pid);
	if (a->sync >= 0)
		(void)close(a->sync);
	return 0;
}

/* Needs: nothing.  Does: installs the filters, last of all since they may refuse any
 * other call; executes the command. */
static int stage_command(struct state *s, struct err *e)
{
	const struct child *c = s->c;
	const struct err ready = { .kind = ERR_NONE };
	sigset_t ends;

	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGCHLD);
	(void)sigprocmask(SIG_UNBLOCK, &ends, NULL); /* cannot fail */
	if (c->args->die_with_parent && reaper_die_with(c->alive, e) < 0)
		return -1;
	if (privileges_hand_on(c->args->caps, e) < 0)
		return -1;
	if (c->report >= 0)
		(void)io_write_all(c->report, &ready, sizeof(ready));
	if (filters_install(&c->args->filters, e) < 0)
		return -1;
	return command_exec(c->args, e);
}

static int (*const stages[])(struct state *, struct err *) = {
	stage_ids,   stage_root,   stage_privileges, stage_wait,
	stage_place, stage_reaper, stage_command,
};

void child_run(struct child *c)
{
	struct state s = { .c = c, .proc = -1, .root = -1 };
	struct err e = { 0 };

	raw_plan_init(&s.plan);
	for (size_t i = 0; i < ARRAY_LEN(stages); i++)
		if (stages[i](&s, &e) < 0)
			break;
	fail(c, &e);
}

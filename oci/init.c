#include "oci/init.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/await.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/cgroups.h"
#include "oci/cgroups_v1.h"
#include "oci/config.h"
#include "oci/console.h"
#include "oci/filter.h"
#include "oci/identity.h"
#include "oci/link.h"
#include "oci/mounts.h"
#include "oci/mounts_detached.h"
#include "oci/notify.h"
#include "oci/spaces.h"
#include "oci/state.h"
#include "sandbox/kernel/pivot.h"
#include "sandbox/raw/raw_mounts.h"
#include "sandbox/raw/raw_plan.h"

/* A session keyring of its own: the engine's keys stay the engine's.  A kernel without
 * keyrings, or an outer filter that refuses them, has none to share. */
static int join_keyring(const struct state *s, struct err *e)
{
	AUTO_FREE char *name = text_format("_ses.%s", s->id);

	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, name) < 0 &&
	    errno != ENOSYS && errno != EPERM && errno != EDQUOT)
		return err_sys(e, "join a new session keyring");
	return 0;
}

int init_enter_cgroups(int link, struct link_message *ret, struct err *e)
{
	for (;;) {
		AUTO_CLOSE int entry = -1;
		if (link_receive(link, ret, &entry, e))
			return -1;
		if (ret->kind != LINK_CGROUP)
			return link_check(ret, LINK_GO, e);
		if (cgroups_v1_enter(entry, e))
			return -1;
	}
}

/* Needs: the link.  Does: waits until ids are mapped and the process is in its cgroup.
 * Leaves: root inside, in all namespaces, and the pid as the host has it. */
static int arrive(struct init_order *o, int *ret_pid, struct err *e)
{
	struct link_message m;

	if (init_enter_cgroups(o->link, &m, e))
		return -1;
	*ret_pid = m.value;
	/* Other processes of the container may not look into this one, which has the
	 * host's descriptors (CVE-2016-9962). */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* can't fail */
	if (spaces_become_root(o->config, e) || spaces_enter_cgroup(o->config, e))
		return -1;
	(void)setsid(); /* fails only for the leader of a session, which is as good */
	/* Folders and devices have the modes that are asked for; the command has the umask
	 * of the caller again. */
	o->umask = umask(0);
	return o->has_old_keyring ? 0 : join_keyring(o->state, e);
}

/* Runs the hooks that belong between the mounts and pivot_root(2). */
static int run_hooks(struct init_order *o, const char *state, struct err *e)
{
	struct link_message m;

	if (link_send(o->link, LINK_HOOKS, 0, -1, e) ||
	    link_expect(o->link, LINK_GO, &m, e))
		return -1;
	return hooks_run(&o->config->hooks, HOOK_CREATE_CONTAINER, state, e);
}

/* --no-pivot: for a host's root on a ramfs, which pivot_root(2) refuses to leave.  The new
 * root lies over "/" already.  The old one stays below it, out of reach of paths, but not of
 * a process with CAP_SYS_CHROOT (docs/hutch-oci.md). */
static int change_root(int root, struct err *e)
{
	return fchdir(root) || chroot(".") || chdir("/")
		       ? err_sys(e, "make the container's root the root")
		       : 0;
}

static int add_mounts(struct init_order *o, struct raw_plan *plan, struct err *e)
{
	AUTO_FREE char *cgroup = NULL;
	struct mounts_order order = { .config = o->config,
				      .bundle = o->state->bundle,
				      .detached = o->detached };

	if (cgroups_choose(o->cgroups, &cgroup, e))
		return -1;
	order.cgroup = cgroup;
	if (mounts_plan(&order, plan, e))
		return -1;
	if (o->notify->is_wanted)
		notify_show(o->state, o->notify, plan, &o->config->process);
	return 0;
}

/* Needs: arrive().  Does: the mounts, the hooks, and pivot_root(2).  Leaves: this process
 * in the container's root. */
static int enter_root(struct init_order *o, const char *state, struct err *e)
{
	const struct config *c = o->config;
	struct raw_plan plan;

	raw_plan_init(&plan);
	AUTO_CLOSE int root = -1;
	int rc = spaces_set_up(c, e) || add_mounts(o, &plan, e) ||
		 raw_mounts_make(&plan, &root, e) || run_hooks(o, state, e);
	raw_plan_done(&plan);
	mounts_close(c, o->detached);
	own_close(&o->notify->mount);
	if (rc)
		return -1;
	if (o->keeps_root ? change_root(root, e)
			  : pivot_into(root, c->propagation & MS_SHARED, e))
		return -1;
	return c->propagation && mount(NULL, "/", NULL, c->propagation, NULL)
		       ? err_sys(e, "set linux.rootfsPropagation")
		       : 0;
}

/* Makes the terminal, and sends its master to the engine, or to the verb that stays. */
static int set_terminal(struct init_order *o, struct err *e)
{
	const struct process *p = &o->config->process;
	struct console c = { -1, -1 };

	if (!p->has_terminal)
		return 0;
	int rc = console_make(&c, p->rows, p->cols, p->uid, e) || console_bind(&c, e);
	if (!rc)
		rc = o->console >= 0 ? console_send(o->console, c.master, e)
				     : link_send(o->link, LINK_TERMINAL, 0, c.master, e);
	rc = rc || console_take(&c, e);
	console_done(&c);
	return rc ? -1 : 0;
}

static int enter_folder(const struct process *p, struct err *e)
{
	/* The user may reach a folder that root may not, such as one on a network file
	 * system; then it is tried again as the user (identity.c). */
	return chdir(p->cwd) && errno != EACCES
		       ? err_sys(e, "chdir to process.cwd '%s'", p->cwd)
		       : 0;
}

static int set_domain(const struct config *c, struct err *e)
{
	if (!c->domain)
		return 0;
	return personality(strcmp(c->domain, "LINUX32") ? PER_LINUX : PER_LINUX32) < 0
		       ? err_sys(e, "set linux.personality")
		       : 0;
}

/* Waits for `start`, whose connection replaces the link. */
static int await_start(struct init_order *o, struct err *e)
{
	struct link_message m;

	own_close(&o->link);
	if (await_ready(o->waiting, POLLIN, 0) < 0)
		return err_sys(e, "wait for start");
	o->link = accept4(o->waiting, NULL, NULL, SOCK_CLOEXEC);
	if (o->link < 0)
		return err_sys(e, "accept the connection of start");
	own_close(&o->waiting);
	return link_expect(o->link, LINK_GO, &m, e);
}

void init_keep_fds(const struct preserved *kept)
{
	/* All descriptors are close-on-exec since main(). */
	for (int i = 0; i < (int)sizeof(kept->bits) * 8; i++)
		if (kept->bits[i / 64] >> (i % 64) & 1)
			(void)fcntl(3 + i, F_SETFD,
				    0); /* main() has seen that it is open */
}

/* Returns the state with the pid as the host has it, for hooks inside. */
static char *inner_state(const struct init_order *o, int pid, enum state_status status)
{
	struct state s = *o->state;

	s.pid = pid;
	return state_json(&s, status);
}

static int set_up(struct init_order *o, int *ret_pid, char **ret_path, struct err *e)
{
	const struct process *p = &o->config->process;
	AUTO_CLOSE int home = -1;

	if (arrive(o, ret_pid, e) || spaces_leave_mounts(o->config, &home, e))
		return -1;
	AUTO_FREE char *state = inner_state(o, *ret_pid, STATE_CREATED);
	if (enter_root(o, state, e) || set_terminal(o, e) || spaces_return(home, e) ||
	    set_domain(o->config, e))
		return -1;
	if (!o->config->has_process)
		return link_send(o->link, LINK_READY, 0, -1, e);
	identity_add_home(&o->config->process);
	return enter_folder(p, e) || identity_find(p, ret_path, e) ||
			       link_send(o->link, LINK_READY, 0, -1, e)
		       ? -1
		       : 0;
}

/* The variables of sd_listen_fds(3); the command keeps this process's id. */
static void add_listen(struct process *p, const struct preserved *kept)
{
	if (!kept->listened)
		return;
	list_unset_env(&p->env, "LISTEN_FDS");
	list_unset_env(&p->env, "LISTEN_PID");
	list_addf(&p->env, "LISTEN_FDS=%zu", kept->listened);
	list_addf(&p->env, "LISTEN_PID=%d", (int)getpid());
}

static int become(struct init_order *o, int pid, const char *path, struct err *e)
{
	struct config *c = o->config;

	if (await_start(o, e))
		return -1;
	if (!path)
		return err_set(e, ERR_USAGE, "config.json has no process");
	AUTO_FREE char *state = inner_state(o, pid, STATE_CREATED);
	if (hooks_run(&c->hooks, HOOK_START_CONTAINER, state, e))
		return -1;
	(void)umask(o->umask); /* can't fail */
	init_keep_fds(o->preserved);
	add_listen(&o->config->process, o->preserved);
	if (identity_take(&c->process, o->filter, o->link, e))
		return -1;
	return identity_execute(&c->process, path, e);
}

_Noreturn void init_run(struct init_order *o)
{
	struct err e = { 0 };
	char *path = NULL;
	int pid = 0;

	if (set_up(o, &pid, &path, &e) == 0)
		(void)become(o, pid, path, &e); /* returns only with an error */
	link_send_error(o->link, &e);
	_exit(1);
}

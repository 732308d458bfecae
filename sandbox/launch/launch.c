#include "sandbox/launch/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "egress/launch/egress_news.h"
#include "policy/policy.h"
#include "policy/port_spec.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/launch/peers.h"
#include "sandbox/launch/result.h"
#include "sandbox/launch/supervise.h"
#include "sandbox/plan/limits.h"
#include "sandbox/plan/volumes.h"
#include "sandbox/root/overlay.h"
#include "sandbox/root/root_copy.h"
#include "store/folders.h"

/* Raises a low soft limit of descriptors, which the caller's shell may have set.  Each
 * pump, pipe and descriptor of the caller's counts against it; mounts, even thousands of
 * them, hold no descriptors. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 256) {
		limit.rlim_cur = limit.rlim_max < 256 ? limit.rlim_max : 256;
		/* if this fails, the limit stays as it was */
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

void launch_ready(void)
{
	raise_descriptor_limit();
	/* A process that ignores SIGCHLD cannot wait for its children (wait(2)); it may
	 * have inherited that from its caller. */
	(void)signal(SIGCHLD, SIG_DFL);
	/* When the reader of a pipe or socket has gone, write(2) should fail, instead of
	 * a signal ending this process. */
	(void)signal(SIGPIPE, SIG_IGN);
	/* When a file such as the audit log reaches RLIMIT_FSIZE, write(2) should fail,
	 * too, instead of a signal ending this process. */
	(void)signal(SIGXFSZ, SIG_IGN);
}

/* Closes the descriptors from `first` up to `end`, but not `end` itself; returns the
 * number after `end`. */
static unsigned close_until(unsigned first, int end)
{
	if (end < (int)first)
		return first;
	if (end > (int)first)
		(void)sys_close_range(first, (unsigned)end - 1, 0);
	return (unsigned)end + 1;
}

void launch_close_others(int keep, int also)
{
	unsigned next = close_until(3, keep < also ? keep : also);

	next = close_until(next, keep < also ? also : keep);
	(void)sys_close_range(next, ~0u, 0);
}

int launch_leave_caller(struct err *e)
{
	AUTO_CLOSE int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0)
		return err_sys(e, "open /dev/null");
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(nothing, fd) < 0)
			return err_sys(e, "dup2");
	return setsid() < 0 ? err_sys(e, "setsid") : 0;
}

void launch_init(struct launch *l, const struct policy *policy)
{
	*l = (struct launch){ .policy = policy,
			      .executor.fd = -1,
			      .server.program.fd = -1,
			      .terminal.fd = -1,
			      .words = 2,
			      .signals = -1 };
	plan_init(&l->plan);
	store_image_init(&l->store_image);
	stdio_init(&l->stdio);
	netns_init(&l->netns);
	egress_init(&l->egress);
	sandbox_init(&l->sandbox);
	ports_init(&l->ports);
	protect_watch_init(&l->protect_watch);
	overlay_upper_init(&l->upper);
	etc_folder_init(&l->etc);
	cow_init(&l->cow);
	cgroup_init(&l->cgroup);
	janitor_init(&l->janitor);
	audit_init(&l->audit);
}

/* Undoes the launch's changes to the host.  A supervisor that has confined itself may no
 * longer unlink: the janitor then removes the upper folder and the sockets. */
static void tidy_up(struct launch *l)
{
	bool has_heir = l->janitor.is_heir && l->janitor.pid > 0 &&
			(l->upper.path || l->ports.has_paths);

	/* The ports are closed first: a unix socket is removed only when no process
	 * listens at it any more. */
	ports_done(&l->ports);
	if (!has_heir) {
		overlay_upper_remove(&l->upper);
		listener_remove_all(&l->sockets);
	}
	cgroup_remove(&l->cgroup, l->janitor.pid);
	if (has_heir)
		janitor_work(&l->janitor);
	else
		janitor_dismiss(&l->janitor);
	own_close(&l->upper.lock);
	own_free(&l->upper.path);
	list_done(&l->sockets);
}

void launch_done(struct launch *l)
{
	sandbox_done(&l->sandbox);
	egress_done(&l->egress);
	netns_done(&l->netns);
	worker_end(&l->peers); /* hutch-egress has ended, and so this process ends */
	refused_hosts_done(&l->refused_hosts);
	protect_watch_done(&l->protect_watch);
	terminal_restore(&l->terminal);
	tidy_up(l);
	stdio_done(&l->stdio);
	seccomp_done(&l->profile);
	seccomp_done(&l->filter);
	program_done(&l->executor);
	etc_folder_done(&l->etc);
	root_fuse_overlayfs_done(&l->server);
	plan_done(&l->plan);
	store_image_done(&l->store_image);
	audit_done(&l->audit);
	own_close(&l->signals);
}

/* Lists the capabilities that the sandbox may hold: rules of Docker's profiles
 * depend on them. */
static void list_caps(const struct launch *l, struct list *ret)
{
	uint32_t uid, gid;

	/* The user that an image's files define is not known yet.  Root is assumed:
	 * at worst, a rule allows a call that the user has no capability for anyway. */
	if (policy_has_image_user(l->policy))
		uid = 0;
	else if (policy_user(l->policy, &uid, &gid, NULL) < 0)
		return; /* cannot happen: policy_check() has checked the user */
	uint64_t caps = caps_for(l->policy, uid);
	/* Commands have it in namespaces that they make. */
	if (l->policy->is_nesting)
		list_add(ret, "CAP_SYS_ADMIN");
	for (int n = 0; n < 64; n++)
		if (caps & (1ull << n))
			list_addf(ret, "CAP_%s", caps_name(n).text);
}

static enum seccomp_nesting nesting_of(const struct policy *p)
{
	return p->is_nesting ? SECCOMP_NESTS : SECCOMP_FLAT;
}

static int load_profile(struct launch *l, const struct list *caps, struct err *e)
{
	AUTO_FREE char *compiler = NULL;
	AUTO_FREE char *folder = folder_path(FOLDER_CACHE);
	AUTO_FREE char *cache = folder ? text_format("%s/seccomp", folder) : NULL;
	struct err uncached;

	if (program_find("hutch-seccomp", &compiler, e) < 0)
		return -1;
	/* No folder for the cache is made by a dry run, or if the launch is going to
	 * fail. */
	bool has_use = cache && !l->plan.is_dry_run &&
		       access(l->policy->seccomp, R_OK) == 0;
	const struct seccomp_request request = {
		.profile = l->policy->seccomp,
		.compiler = compiler,
		.cache_dir = has_use && folder_create(cache, &uncached) == 0 ? cache
									     : NULL,
		.caps = (const char *const *)caps->items,
		.nesting = nesting_of(l->policy),
	};
	return seccomp_obtain(&request, &l->profile, e);
}

int launch_load_filter(struct launch *l, struct err *e)
{
	struct list caps = { 0 };

	if (!l->policy->seccomp) {
		seccomp_default(nesting_of(l->policy), &l->filter);
		return 0;
	}
	seccomp_floor(nesting_of(l->policy), &l->filter);
	list_caps(l, &caps);
	int result = load_profile(l, &caps, e);
	list_done(&caps);
	if (result == 0)
		return 0;
	AUTO_FREE char *from = text_format("--seccomp %.200s", l->policy->seccomp);
	return err_from(e, from);
}

static int build_plan(struct launch *l, struct err *e)
{
	if (l->policy->image == IMAGE_STORE) {
		l->store_image.was_root = l->user.was_root;
		if (store_image_open(&l->store_image, l->policy, l->plan.is_dry_run, e) <
		    0)
			return -1;
		l->plan.store_image = &l->store_image;
	}
	if (plan_build(&l->plan, l->policy, &l->user, e) < 0)
		return -1;
	if (l->plan.store_image && l->plan.has_ranges)
		store_image_name_ranged(&l->store_image, &l->plan.ids);
	if (l->plan.pretends)
		seccomp_pretend_above(&l->profile);
	return 0;
}

static int from_netns(const struct policy *p, struct err *e)
{
	AUTO_FREE char *from = text_format("--network %.200s", p->netns);

	return err_from(e, from);
}

/* Opens the network namespace of --network ns:PATH. */
static int open_netns(struct launch *l, struct err *e)
{
	const struct policy *p = l->policy;

	if (p->network != NETWORK_NS)
		return 0;
	if (netns_open(policy_netns_path(p), l->user.was_root, &l->netns, e) < 0)
		return from_netns(p, e);
	if (p->idmap != IDMAP_RANGES || l->netns.owner < 0)
		return 0;
	/* newuidmap(1) would have to run within the owner, where its range of ids is not
	 * mapped. */
	(void)err_set(e, ERR_UNSUPPORTED,
		      "--idmap ranges cannot be had in the user namespace that owns "
		      "--network %.200s",
		      p->netns);
	return err_remedy(e, "leave --idmap ranges out, or start hutch as root");
}

/* Has root enter that namespace itself, which nothing of this process can do later.  An
 * ordinary user's sandbox is made by a process that enters (spawn.c). */
static int enter_netns(struct launch *l, struct err *e)
{
	if (open_netns(l, e) < 0)
		return -1;
	if (!l->user.was_root || l->netns.space < 0)
		return 0;
	int entered = netns_enter(&l->netns, e);
	netns_done(&l->netns);
	return entered < 0 ? from_netns(l->policy, e) : 0;
}

int launch_prepare(struct launch *l, bool has_stdio, struct err *e)
{
	/* An executor that runs a single command (`hutch run`) need not outlive that
	 * command. */
	l->outlives = l->cgroup.is_split = l->plan.has_logs = !has_stdio;
	if (host_user_decide(l->policy, &l->user, e) < 0)
		return -1;
	/* The executor, the stdio files and the ports are opened with the rights of the
	 * caller, even if that is root: the user that root becomes may have no access to
	 * the folder in which hutch is installed, or to the terminal. */
	if (program_open("hutch-executor", &l->executor, e) < 0 ||
	    (has_stdio && stdio_open(&l->stdio, l->policy, e) < 0) ||
	    ports_open(&l->ports, l->policy, false, e) < 0)
		return -1;
	if (l->policy->network == NETWORK_ALLOW && egress_open(&l->egress, e) < 0)
		return -1;
	/* The ports listen on the host, so they come before. */
	if (enter_netns(l, e) < 0 || launch_load_filter(l, e) < 0)
		return -1;
	if (host_user_become(&l->user, e) < 0 || audit_open(&l->audit, l->policy, e) < 0)
		return -1;
	if (l->policy->name && cow_check_name(l->policy->name, e) < 0)
		return -1;
	if (l->observer && l->observer->prepare(l->observer->self, &l->user, e) < 0)
		return -1;
	if (build_plan(l, e) < 0)
		return -1;
	/* A supervisor leaves the caller's folder, where relative sources begin, after
	 * this.  An observer shows folders that no user named. */
	if (!l->observer)
		volumes_tell_home(l->policy, &l->plan, l->words);
	return 0;
}

/* --- the root --------------------------------------------------------------------- */

/* Returns the flag by which the caller asked for an upper layer that outlives the
 * sandbox; NULL: there is no such flag. */
static const char *keeping_flag(const struct launch *l)
{
	return l->policy->upper ? "--upper" : l->policy->keeps ? "--keep" : NULL;
}

/* Uses `folder`, which outlives the sandbox, as the upper layer.  Its path is resolved
 * here, unless it is the folder of --upper and the policy's paths are resolved
 * already. */
static int keep_upper(struct launch *l, const char *flag, const char *folder,
		      struct err *e)
{
	const bool is_real = l->policy->upper && l->policy->is_resolved;
	AUTO_FREE char *real = is_real ? text_copy(folder) : realpath(folder, NULL);

	return real ? overlay_upper_keep(&l->upper, flag, real, e)
		    : err_sys(e, "%s %.200s", flag, folder);
}

static int make_upper(struct launch *l, struct err *e)
{
	const char *flag = keeping_flag(l);
	const char *folder = l->policy->upper ? l->policy->upper : l->files;

	if (!flag)
		return overlay_upper_make(&l->upper, e);
	if (!folder)
		return err_set(e, ERR_INTERNAL, "%s: there is no folder for its files",
			       flag);
	if (plan_has_overlay(&l->plan))
		return keep_upper(l, flag, folder, e);
	(void)err_set(e, ERR_REFUSED,
		      "%s: the image %.200s belongs to another user, and "
		      "cannot be written over",
		      flag, l->policy->image_path);
	return err_remedy(e,
			  "give all of it your owner and group, in a copy of it maybe");
}

static int prepare_upper(struct launch *l, struct err *e)
{
	bool is_needed = plan_has_overlay(&l->plan) && !l->policy->is_read_only &&
			 !overlay_upper_tmpfs_suffices();
	struct stat st;

	if (!is_needed && !keeping_flag(l))
		return 0;
	if (l->plan.has_ranges) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "--idmap ranges with a writable image needs "
			      "user.* attributes on tmpfs, kernel 6.6");
		return err_remedy(e, "add --read-only");
	}
	if (l->policy->limits.disk && !l->policy->is_best_effort) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "--disk cannot bound what is written over the "
			      "image: %s a folder on disk",
			      l->policy->upper	 ? "--upper names"
			      : l->policy->keeps ? "--keep needs"
						 : "on this kernel it needs");
		return err_remedy(e,
				  "add --read-only, or --best-effort, or use kernel 6.6");
	}
	if (l->policy->limits.disk)
		l->degraded |= DEGRADED_DISK;
	if (make_upper(l, e) < 0)
		return -1;
	if (fstat(l->upper.lock, &st) < 0)
		return err_sys(e, "stat %s", l->upper.path);
	plan_set_upper(&l->plan, l->upper.path, &st);
	return 0;
}

/* Refuses options that need the kernel's overlayfs, which is missing; `is` says for
 * messages what the launch uses instead. */
static int check_other(const struct launch *l, const char *is, const struct err *why,
		       struct err *e)
{
	const char *what = keeping_flag(l)   ? keeping_flag(l)
			   : l->plan.has_ranges ? "--idmap ranges with an image"
						: NULL;

	if (what) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "%s takes overlayfs, which is not here: %s", what,
			      why->text);
		return err_remedy(e, "%s", why->remedy);
	}
	if (!l->policy->limits.disk || l->policy->is_best_effort)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED,
		      "--disk cannot bound what is written to the root: it "
		      "is a folder on disk, %s, since there is no overlayfs "
		      "here (%s)",
		      is, why->text);
	return err_remedy(e, "%s; or add --best-effort", why->remedy);
}

static int prepare_copy(struct launch *l, const struct err *why, struct err *e)
{
	if (check_other(l, "a copy of the image", why, e) < 0 ||
	    overlay_upper_make_root(&l->upper, e) < 0)
		return -1;
	plan_set_copy(&l->plan, l->upper.path);
	l->degraded |= DEGRADED_IMAGE | (l->policy->limits.disk ? DEGRADED_DISK : 0u);
	const struct root_copy copy = { .root = &l->plan.steps[0],
					.why = why,
					.words = l->words,
					.was_root = l->user.was_root };
	return root_copy_fill(&copy, e);
}

static int prepare_served(struct launch *l, const struct err *why, struct err *e)
{
	if (check_other(l, "above the image by fuse-overlayfs", why, e) < 0 ||
	    overlay_upper_make_root(&l->upper, e) < 0)
		return -1;
	plan_set_served(&l->plan, l->upper.path);
	l->degraded |= DEGRADED_IMAGE | (l->policy->limits.disk ? DEGRADED_DISK : 0u);
	note_print_to(l->words,
		      "note: the root is served by %s, since there is no overlayfs here "
		      "(%s); hutch diff and snapshot cannot tell what is written to it",
		      l->server.program.path, why->text);
	return 0;
}

static int prepare_layered(struct launch *l, struct err *e)
{
	if (prepare_upper(l, e) < 0)
		return -1;
	if (!l->plan.store_image || !l->plan.has_ranges)
		return 0;
	return store_image_make_ranged(&l->store_image, &l->plan.ids, l->words, e);
}

static int prepare_root(struct launch *l, struct err *e)
{
	struct err why, none;

	if (!plan_has_overlay(&l->plan) || overlay_try(&why) == 0)
		return prepare_layered(l, e);
	if (root_fuse_suits(&l->plan) && root_fuse_find(&l->server, &none) == 0)
		return prepare_served(l, &why, e);
	return prepare_copy(l, &why, e);
}

/* --- the host --------------------------------------------------------------------- */

/* Notes which limits are not enforced for want of a cgroup, and limits the number of
 * processes by RLIMIT_NPROC instead. */
static void degrade(struct launch *l)
{
	const struct limits *limits = &l->policy->limits;

	l->degraded |= (limits->memory ? DEGRADED_MEMORY : 0u) |
		       (limits->cpus ? DEGRADED_CPUS : 0u) |
		       (limits->pids ? DEGRADED_PIDS : 0u);
	if (limits->pids)
		limits_count_processes(&l->plan, limits->pids);
}

/* Notes that --disk does not limit writes to writable folders of the host.
 * policy_check() allows that combination only with --best-effort. */
static void degrade_disk(struct launch *l)
{
	for (size_t i = 0; l->policy->limits.disk && i < l->policy->volume_count; i++)
		if (l->policy->volumes[i].is_writable &&
		    l->policy->volumes[i].kind != VOLUME_TMPFS)
			l->degraded |= DEGRADED_DISK;
}

/* If root started hutch, adds to the error which user's cgroup hutch looked for.  Root
 * reads the error, but the delegated cgroup that is missing is one of that user. */
static int explain_to_root(const struct launch *l, struct err *e)
{
	if (!l->user.was_root)
		return -1;
	return err_in(e, "as user %u, for whom root's sandboxes stand (%s)", l->user.uid,
		      l->user.why);
}

/* Finds a place for a cgroup.  Without a limit no cgroup is needed, and systemd is not
 * asked over D-Bus. */
static int place_cgroup(struct launch *l, struct err *e)
{
	if (!policy_wants_cgroup(l->policy) ||
	    cgroup_place(&l->cgroup, l->policy, e) == 0)
		return 0;
	if (!l->policy->is_best_effort)
		return explain_to_root(l, e);
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

/* Prepares folders for changes to copy-on-write folders of the host.  If the launch has
 * an observer (--learn), the changes are dropped: they go into a folder that the janitor
 * removes. */
static int prepare_copies(struct launch *l, struct err *e)
{
	if (!l->observer)
		return cow_make(&l->cow, &l->plan, l->entry, l->verb ? l->verb : "run",
				e);
	if (overlay_upper_make(&l->upper, e) < 0)
		return -1;
	return cow_make_dropped(&l->plan, l->upper.path, e);
}

/* Makes the changes to the host.  The janitor learns of each change that would outlive a
 * killed launcher before the change is made.  The only exception are folders that are
 * made a moment before the janitor starts: a later launch finds and removes them by
 * their unused lock. */
static int prepare_host(struct launch *l, struct err *e)
{
	const struct chores chores = { &l->terminal, &l->upper, &l->cgroup, l->entry,
				       l->store_image.lock, &l->sockets };

	for (size_t i = 0; i < l->policy->publish_count; i++)
		if (l->policy->publishes[i].path)
			list_add(&l->sockets, l->policy->publishes[i].path);
	degrade_disk(l);
	l->cow.is_roots = l->user.was_root;
	if (l->policy->name)
		(void)snprintf(l->cow.name, sizeof(l->cow.name), "%s", l->policy->name);
	for (size_t i = 0; i < l->policy->protects.count; i++)
		list_add(&l->cow.protects, l->policy->protects.items[i]);
	if (l->audit.is_on) {
		l->cow.audit = text_copy(l->audit.path);
		memcpy(l->cow.id, l->audit.id, sizeof(l->cow.id));
	}
	if (prepare_root(l, e) < 0 || prepare_copies(l, e) < 0)
		return -1;
	if (place_cgroup(l, e) < 0)
		return -1;
	if (l->stdio.has_terminal && terminal_open(&l->terminal, 0, e) < 0)
		return -1;
	if (janitor_start(&l->janitor, &chores, e) < 0 || make_cgroup(l, e) < 0 ||
	    ports_open(&l->ports, l->policy, true, e) < 0)
		return -1;
	return l->stdio.has_terminal ? terminal_raw(&l->terminal, e) : 0;
}

/* Records the protected files as they are now; to be called before anything is mounted.
 * From then on the child compares the files that it mounts with that record, and later
 * the protection watch notices replaced ones. */
static int watch_protected(struct launch *l, struct err *e)
{
	if (protect_watch_post(&l->protect_watch, &l->plan, e) == 0)
		return 0;
	if (!l->policy->is_best_effort)
		return err_in(e, "--protect");
	protect_watch_done(&l->protect_watch);
	l->degraded |= DEGRADED_PROTECT;
	return 0;
}

struct exec launch_command(const struct launch *l)
{
	struct exec x = {
		.uid = l->plan.uid, .gid = l->plan.gid,
		.cwd = l->plan.workdir,
		.argv = l->plan.argv.items, .env = l->plan.env.items,
		.rlimit_count = l->plan.rlimit_count,
		.filter = l->profile.insns,
		.filter_len = (uint32_t)l->profile.count * EXEC_FILTER_UNIT,
	};

	memcpy(x.rlimits, l->plan.rlimits, sizeof(x.rlimits));
	return x;
}

/* Starts the processes of a network of rules. */
static int start_network(struct launch *l, struct err *e)
{
	const struct policy *p = l->policy;

	return peers_start(l, e) < 0
		       ? -1
		       : egress_start(&l->egress, &p->egress_rules, &p->egress, e);
}

int launch_start(struct launch *l, struct err *e)
{
	l->signals = supervise_signals(e);
	if (l->signals < 0)
		return -1;
	if (audit_launch(&l->audit, l, e) < 0 || prepare_host(l, e) < 0 ||
	    watch_protected(l, e) < 0)
		return -1;
	if (l->policy->network == NETWORK_ALLOW && start_network(l, e) < 0)
		return -1;
	/* The plan itself goes on telling which files of the host are shown.  An entry of
	 * the registry lives in the same folder as prepared ones, so nothing new is left. */
	struct plan plan = l->plan;
	if (!l->observer)
		(void)etc_folder_use(&l->etc, &l->plan, l->entry, &plan);
	/* `has_proc`: the executor needs a procfs in order to end a command together
	 * with its descendants.  The executor of a single command never has to do
	 * that. */
	const struct spawn_parts parts = {
		.plan = &plan,
		.executor = &l->executor,
		.filter = &l->filter,
		.server = l->server.program.fd >= 0 ? &l->server.program : NULL,
		.stdio = l->policy->inherits_stdio ? l->stdio.inside : NULL,
		.gateway = l->egress.setup,
		.netns = &l->netns,
		.cgroup = l->cgroup.into,
		.has_proc = l->outlives,
		.tells = !l->policy->seccomp,
		.trace = l->observer ? l->observer->trace : NULL,
	};
	int started = spawn_sandbox(&parts, &l->sandbox, e);
	own_close(&l->egress.setup);
	netns_done(&l->netns);
	if (started < 0)
		return -1;
	ports_tell(&l->ports, l->words);
	/* PR_SET_DUMPABLE 0 keeps other processes out of this one's memory (ptrace(2),
	 * access mode checking): the user that root became may have other processes, and
	 * root's environment is still in this memory.  It also keeps secrets out of core
	 * files. */
	if ((l->user.was_root || l->policy->secrets.count) &&
	    prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(e, "prctl PR_SET_DUMPABLE");
	return 0;
}

struct egress *launch_egress(struct launch *l)
{
	return l->policy->network == NETWORK_ALLOW ? &l->egress : NULL;
}

const struct refused_host *launch_hear(struct launch *l, const struct egress_news *n,
				       int64_t now)
{
	if (n->kind == EGRESS_NEWS_SAID)
		audit_net_lost(&l->audit, json_member_uint(&n->value, "dropped", 0));
	if (n->kind != EGRESS_NEWS_NET)
		return NULL;
	const struct refused_host *host = refused_hosts_add(&l->refused_hosts, &n->value);
	if (!host || refused_host_is_news(host))
		audit_net(&l->audit, &n->value, now);
	return host;
}

int launch_plan(struct launch *l, struct err *e)
{
	l->plan.is_dry_run = true;
	if (host_user_decide(l->policy, &l->user, e) < 0 || open_netns(l, e) < 0 ||
	    launch_load_filter(l, e) < 0 || host_user_become(&l->user, e) < 0)
		return -1;
	return build_plan(l, e);
}

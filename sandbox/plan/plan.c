#include "sandbox/plan/plan.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/environment.h"
#include "policy/named_user.h"
#include "policy/policy.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/plan/image.h"
#include "sandbox/plan/limits.h"
#include "sandbox/plan/plan_rlimits.h"
#include "sandbox/plan/store_image.h"
#include "sandbox/plan/volumes.h"

#define ALL_NAMESPACES                                \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | \
	 CLONE_NEWNET | /* layer: net-namespace */    \
	 CLONE_NEWIPC | /* layer: ipc-namespace */    \
	 CLONE_NEWUTS | /* layer: uts-namespace */    \
	 CLONE_NEWCGROUP)

void plan_init(struct plan *p)
{
	*p = (struct plan){ .namespaces = ALL_NAMESPACES };
}

/* Leaves the step as it is: in a process that has forked, each page that is written to is
 * copied first. */
static void step_done(const struct step *s)
{
	free(s->source);
	free(s->target);
	free(s->data);
}

void plan_done(struct plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		step_done(&p->steps[i]);
	free(p->steps);
	free(p->hostname);
	free(p->workdir);
	list_done(&p->env);
	list_done(&p->argv);
	list_done(&p->guarded);
	list_done(&p->absent);
	image_user_done(&p->dir_user);
	*p = (struct plan){ 0 };
}

void plan_make_room(struct plan *p, size_t more)
{
	if (p->room - p->count >= more)
		return;
	p->room = p->count + more;
	p->steps = mem_resize(p->steps, p->room, sizeof(*p->steps));
}

struct step *plan_add(struct plan *p, enum step_kind kind, const char *target)
{
	if (p->count == p->room)
		plan_make_room(p, p->room ? p->room : 128);
	struct step *s = &p->steps[p->count++];
	*s = (struct step){ .kind = kind, .target = text_copy(target) };
	return s;
}

int plan_ranges(struct plan *p, const struct host_user *user, struct err *e)
{
	AUTO_FREE char *name = host_user_name(user->uid);
	const struct subid_owner owner = { name, user->uid };

	if (idmaps_find(&p->ids, &owner, user->gid, e) < 0)
		return -1;
	p->has_ranges = true;
	return 0;
}

/* Returns the user that the image's files decide; NULL: the policy alone does. */
static const struct image_user *image_user_of(const struct plan *p,
					      const struct policy *policy)
{
	return p->store_image ? &p->store_image->user
	       : policy_has_image_user(policy) || p->dir_user.is_added ? &p->dir_user
								       : NULL;
}

static int plan_ids(struct plan *p, const struct policy *policy,
		    const struct host_user *user, struct err *e)
{
	if (!p->store_image && policy_has_image_user(policy) &&
	    image_user_decide_dir(&p->dir_user, policy, e) < 0)
		return -1;
	struct named_user named;
	if (policy->image == IMAGE_HOST && policy_adds_user(policy, &named))
		image_user_add(&p->dir_user, &named);
	const struct image_user *user_inside = image_user_of(p, policy);
	if (user_inside) {
		p->uid = user_inside->uid;
		p->gid = user_inside->gid;
	} else if (policy_user(policy, &p->uid, &p->gid, e) < 0) {
		return -1;
	}
	p->pretends = policy->image != IMAGE_HOST && policy->idmap == IDMAP_SINGLE &&
		      p->uid == 0 && !policy->seccomp;
	if (policy->idmap == IDMAP_RANGES)
		return plan_ranges(p, user, e);
	/* layer: one-id */
	p->ids.uid_count = idmap_single(p->ids.uids, p->uid, user->uid);
	p->ids.gid_count = idmap_single(p->ids.gids, p->gid, user->gid);
	return 0;
}

/* Decides how a sandbox in a network namespace that it shares is kept from the abstract
 * sockets there; of the host these are D-Bus, X11, containerd's.  Landlock can do that
 * since ABI 6; on older kernels all AF_UNIX sockets are refused. */
static void plan_network(struct plan *p, const struct policy *policy)
{
	if (!policy_shares_network(policy))
		return;
	p->namespaces &= ~(uint64_t)CLONE_NEWNET;
	p->hides_abstract = landlock_abi() >= LANDLOCK_ABI_SCOPES;
	p->refuses_unix = !p->hides_abstract;
}

/* Decides whether Landlock, too, confines processes to the files below the root.  A
 * kernel without Landlock is an error only if the user asked for that (--landlock
 * on). */
static int plan_landlock_root(struct plan *p, const struct policy *policy, struct err *e)
{
	/* Landlock refuses all mounts, which commands make with --nesting. */
	if (policy->landlock_root == LANDLOCK_ROOT_OFF || policy->is_nesting)
		return 0;
	p->has_landlock_root = landlock_abi() >= LANDLOCK_ABI_REFER;
	if (p->has_landlock_root || policy->landlock_root == LANDLOCK_ROOT_AUTO)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED,
		      "--landlock on: this kernel has no Landlock of ABI "
		      "%d, or it is off",
		      LANDLOCK_ABI_REFER);
	return err_remedy(
		e, "a kernel 5.19 or newer with 'landlock' in lsm= on its command "
		   "line; or --landlock auto, which does without where there is none");
}

static bool has_workspace(const struct policy *policy)
{
	for (size_t i = 0; i < policy->volume_count; i++)
		if (policy->volumes[i].kind == VOLUME_WORKSPACE)
			return true;
	return false;
}

/* Chooses host name and working directory.  The image's working directory is used only
 * if the caller names neither one nor a workspace. */
static void plan_place(struct plan *p, const struct policy *policy)
{
	const char *of_image = p->store_image ? p->store_image->workdir : NULL;
	const char *workdir = policy->workdir			     ? policy->workdir
			      : of_image && !has_workspace(policy) ? of_image
								     : "/workspace";

	p->hostname = text_copy(policy->hostname ? policy->hostname : PLAN_HOSTNAME);
	p->workdir = text_copy(workdir);
}

/* Sets the variable in `pair` to the value there, in place of its default value, unless
 * the caller has set that variable. */
static void set_unless_said(struct plan *p, const struct policy *policy, const char *pair)
{
	AUTO_FREE char *name = text_format("%.*s", (int)strcspn(pair, "="), pair);

	if (!list_get_env(&policy->env_set, name))
		list_set_env(&p->env, pair);
}

static void plan_account(struct plan *p, const struct policy *policy,
			 const struct image_user *u)
{
	AUTO_FREE char *user = text_format("USER=%s", u->name);
	AUTO_FREE char *logname = text_format("LOGNAME=%s", u->name);
	AUTO_FREE char *home = text_format("HOME=%s", u->home);

	set_unless_said(p, policy, user);
	set_unless_said(p, policy, logname);
	set_unless_said(p, policy, home);
}

static void plan_image_environment(struct plan *p, const struct policy *policy)
{
	for (size_t i = 0; i < p->store_image->launch_config.env.count; i++)
		set_unless_said(p, policy, p->store_image->launch_config.env.items[i]);
}

/* Puts folders in front of those in the variable; NULL: none. */
static void put_first(struct list *env, const char *name, const char *folders)
{
	const char *others = list_get_env(env, name);
	AUTO_FREE char *pair = text_format("%s=%s%s%s", name, folders ? folders : "",
					   others && *others ? ":" : "",
					   others ? others : "");

	if (folders)
		list_set_env(env, pair);
}

static void plan_environment(struct plan *p, const struct policy *policy)
{
	AUTO_FREE char *shell = image_shell(p, policy);
	AUTO_FREE char *zone = image_timezone();

	const struct image_user *user = image_user_of(p, policy);

	environment_build(policy, p->uid, shell, zone, &p->env);
	if (user && user->name)
		plan_account(p, policy, user);
	if (p->store_image)
		plan_image_environment(p, policy);
	put_first(&p->env, "PATH", policy->plugin_uses.path);
	put_first(&p->env, "PYTHONPATH", policy->plugin_uses.python_path);
}

static void plan_command(struct plan *p, const struct policy *policy)
{
	const struct list *argv = p->store_image ? &p->store_image->argv : &policy->argv;

	for (size_t i = 0; i < argv->count; i++)
		list_add(&p->argv, argv->items[i]);
}

/* Adds a step that makes the working directory if it does not exist, as docker does. */
static void plan_workdir(struct plan *p)
{
	if (p->store_image && strcmp(p->workdir, "/") != 0)
		plan_add(p, STEP_DIR, p->workdir)->mode = 0755;
}

bool plan_has_overlay(const struct plan *p)
{
	return p->count && p->steps[0].kind == STEP_OVERLAY;
}

void plan_set_upper(struct plan *p, const char *path, const struct stat *st)
{
	p->steps[0].upper = path;
	p->steps[0].upper_dev = st->st_dev;
	p->steps[0].upper_ino = st->st_ino;
}

void plan_set_copy(struct plan *p, const char *path)
{
	p->steps[0].upper = path;
	p->steps[0].is_copied = true;
}

void plan_set_served(struct plan *p, const char *path)
{
	p->steps[0].upper = path;
	p->steps[0].is_served = true;
}

#define NOT_ROOT 1000u /* any id but root's: caps_for() treats all of these alike */

uint64_t plan_executor_caps(const struct plan *p)
{
	const uint64_t tools =
		1ull << CAP_SETUID | 1ull << CAP_SETGID | 1ull << CAP_KILL;

	return p->root_caps | (p->has_ranges ? tools : 0);
}

int plan_build(struct plan *p, const struct policy *policy, const struct host_user *user,
	       struct err *e)
{
	if (plan_ids(p, policy, user, e) < 0)
		return -1;
	p->caps = p->root_caps = p->other_caps = caps_for(policy, p->uid);
	if (p->has_ranges) {
		p->root_caps = caps_for(policy, 0);
		p->other_caps = caps_for(policy, NOT_ROOT) & p->root_caps;
	}
	p->nests = policy->is_nesting;
	plan_network(p, policy);
	if (plan_landlock_root(p, policy, e) < 0)
		return -1;
	plan_place(p, policy);
	plan_environment(p, policy);
	plan_command(p, policy);
	if (plan_rlimits(p, policy, e) < 0)
		return -1;
	if (image_plan(p, policy, e) < 0)
		return -1;
	/* The tmpfs for the logs comes before the volumes, so that a volume can be
	 * mounted over it. */
	if (p->has_logs)
		limits_plan_logs(p, policy);
	if (volumes_plan(p, policy, e) < 0)
		return -1;
	plan_workdir(p);
	limits_plan(p, policy);
	if (p->steps[0].kind == STEP_ROOT || policy->is_read_only)
		plan_add(p, STEP_SEAL, "/");
	return 0;
}

#include "sandbox/plan.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "sandbox/caps.h"
#include "sandbox/identity.h"
#include "sandbox/image.h"
#include "sandbox/landlock.h"
#include "sandbox/limits.h"
#include "sandbox/rlimits.h"
#include "sandbox/upper.h"
#include "sandbox/volumes.h"

#define ALL_NAMESPACES                                                              \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | \
	 CLONE_NEWUTS | CLONE_NEWCGROUP)

void plan_init(struct plan *p)
{
	*p = (struct plan){ .namespaces = ALL_NAMESPACES };
}

void plan_done(struct plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++) {
		free(p->steps[i].source);
		free(p->steps[i].target);
		free(p->steps[i].data);
	}
	free(p->steps);
	free(p->hostname);
	free(p->workdir);
	list_done(&p->env);
	*p = (struct plan){ 0 };
}

struct step *plan_add(struct plan *p, enum step_kind kind, const char *target)
{
	if (p->count == p->room) {
		p->room = p->room ? p->room * 2 : 128;
		p->steps = mem_resize(p->steps, p->room, sizeof(*p->steps));
	}
	struct step *s = &p->steps[p->count++];
	*s = (struct step){ .kind = kind, .target = text_copy(target) };
	return s;
}

int plan_ranges(struct plan *p, const struct identity *who, struct err *e)
{
	AUTO_FREE char *number = text_format("%u", who->uid);
	const struct idmap uid = { 1000, who->uid, 1 }, gid = { 1000, who->gid, 1 };
	const char *name = getenv(who->was_root ? "SUDO_USER" : "USER");

	if (!name || !*name)
		name = number;
	p->uid_count = idmap_ranges(p->uids, "/etc/subuid", name, uid, e);
	if (p->uid_count == 0)
		return -1;
	p->gid_count = idmap_ranges(p->gids, "/etc/subgid", name, gid, e);
	if (p->gid_count == 0)
		return -1;
	p->has_ranges = true;
	return 0;
}

static int plan_ids(struct plan *p, const struct policy *policy,
		    const struct identity *who, struct err *e)
{
	if (policy_user(policy, &p->uid, &p->gid, e) < 0)
		return -1;
	if (policy->idmap == IDMAP_RANGES)
		return plan_ranges(p, who, e);
	p->uid_count = idmap_single(p->uids, p->uid, who->uid);
	p->gid_count = idmap_single(p->gids, p->gid, who->gid);
	return 0;
}

/* With the host's network namespace its abstract sockets are in reach: D-Bus,
 * X11, containerd's.  Landlock can scope them since ABI 6; before, AF_UNIX as
 * a whole is refused. */
static void plan_network(struct plan *p, const struct policy *policy)
{
	if (policy->network == NETWORK_NONE)
		return;
	p->namespaces &= ~(uint64_t)CLONE_NEWNET;
	p->hides_abstract = landlock_abi() >= LANDLOCK_ABI_SCOPES;
	p->refuses_unix = !p->hides_abstract;
}

static void plan_place(struct plan *p, const struct policy *policy)
{
	const char *workdir = policy->workdir ? policy->workdir : "/workspace";

	p->hostname = text_copy(policy->hostname ? policy->hostname : "hutch");
	p->workdir = text_copy(workdir);
}

static void plan_environment(struct plan *p, const struct policy *policy)
{
	AUTO_FREE char *shell = image_shell(policy);
	AUTO_FREE char *zone = image_timezone();

	environment_build(policy, p->uid, shell, zone, &p->env);
}

bool plan_needs_upper(const struct plan *p)
{
	return p->count && p->steps[0].kind == STEP_OVERLAY && !upper_tmpfs_suffices();
}

void plan_set_upper(struct plan *p, const char *path)
{
	p->steps[0].upper = path;
}

uint64_t plan_executor_caps(const struct plan *p)
{
	const uint64_t tools =
		1ull << CAP_SETUID | 1ull << CAP_SETGID | 1ull << CAP_KILL;

	return p->caps | (p->has_ranges ? tools : 0);
}

int plan_build(struct plan *p, const struct policy *policy, const struct identity *who,
	       struct err *e)
{
	if (plan_ids(p, policy, who, e) < 0)
		return -1;
	p->caps = caps_for(policy, p->uid);
	plan_network(p, policy);
	plan_place(p, policy);
	plan_environment(p, policy);
	if (rlimits_plan(p, policy, e) < 0)
		return -1;
	if ((policy->image == IMAGE_HOST ? image_plan_host(p, policy, e)
					 : image_plan_dir(p, policy, e)) < 0)
		return -1;
	/* Before what may be mounted over it. */
	if (p->has_logs)
		limits_plan_logs(p, policy);
	if (volumes_plan(p, policy, e) < 0)
		return -1;
	limits_plan(p, policy);
	if (p->steps[0].kind == STEP_ROOT)
		plan_add(p, STEP_SEAL, "/");
	return 0;
}

/* Theory of operation.
 *
 * A limit needs a cgroup that hutch may make, and the kernel lets an ordinary
 * user move a process only within a subtree that belongs to the user and that
 * the process is in already (cgroups(7), "Delegation containment").  A cgroup
 * that systemd manages is systemd's alone, though the user may write there,
 * except where a unit was marked with Delegate=yes.  So there are three ways,
 * in this order: a cgroup above ours, in our unit, in which no process lives;
 * our own, if no other process lives in it; a new scope of systemd's user
 * manager.
 *
 * A cgroup made as a trial would be visible to every process on the host.  So
 * the kernel is asked whether we may write (access(2), which knows read-only
 * mounts too), and the user's bus whether it answers. */
#include "sandbox/explain/probes.h"

#include <unistd.h>

#include "base/own.h"
#include "sandbox/cgroup/delegate.h"
#include "sandbox/cgroup/scope.h"
#include "sandbox/explain/checks.h"

static void explain_none(struct trial *t, const struct outlook *o)
{
	trial_found(t, CHECK_MISSING,
		    "%.300s is not delegated to user %u, and no user manager "
		    "of systemd answers",
		    o->own, geteuid());
}

static void explain_manager(struct trial *t, const struct outlook *o)
{
	AUTO_FREE char *folder = delegate_manager(o);
	AUTO_FREE char *missing = delegate_names(delegate_missing(folder));

	if (*missing) {
		trial_found(t, CHECK_LIMITED,
			    "systemd's user manager makes one for each sandbox "
			    "with a limit, without %s",
			    missing);
		trial_means(t, "limits by %s fail unless --best-effort is given",
			    missing);
	} else {
		trial_found(t, CHECK_OK,
			    "systemd's user manager makes one for each sandbox with "
			    "a limit");
	}
}

static void explain_lack(struct trial *t, const struct outlook *o, const char *missing)
{
	trial_found(t, CHECK_LIMITED, "%.300s is delegated to user %u, without %s",
		    o->own, geteuid(), missing);
	trial_means(t, "limits by %s fail unless --best-effort is given", missing);
}

static void explain_others(struct trial *t, const struct outlook *o)
{
	trial_found(t, CHECK_LIMITED,
		    "%.300s is delegated to user %u, but %u other processes "
		    "live in it",
		    o->own, geteuid(), o->others);
	trial_means(t,
		    "limits fail: a cgroup with processes in it hands no controllers on");
}

static bool is_ours(const struct outlook *o)
{
	return o->is_marked && o->is_ours;
}

/* Says whether and how hutch can use a cgroup v2 that has controllers. */
static void explain_place(struct trial *t, const struct outlook *o)
{
	AUTO_FREE char *missing = delegate_names(o->missing);

	if (o->above)
		trial_found(t, CHECK_OK, "%.300s, above our own, is delegated to user %u",
			    o->above, geteuid());
	else if (is_ours(o) && !o->missing && !o->others)
		trial_found(t, CHECK_OK, "%.300s is delegated to user %u", o->own,
			    geteuid());
	else if (scope_has_bus())
		explain_manager(t, o);
	else if (!is_ours(o))
		explain_none(t, o);
	else if (o->missing)
		explain_lack(t, o, missing);
	else
		explain_others(t, o);
}

void probe_cgroup(struct trial *t)
{
	AUTO_OUTLOOK struct outlook o;

	/* Two processes in the cgroup are hutch's and do not count as others: this
	 * process and its parent. */
	delegate_look(&o, CONTROLLERS_ALL, getppid());
	if (!o.root)
		trial_found(t, CHECK_MISSING,
			    "cgroup v2 is not mounted at /sys/fs/cgroup");
	else if (delegate_missing(o.root) == CONTROLLERS_ALL)
		trial_found(t, CHECK_MISSING,
			    "cgroup v2 is at %s, but memory, cpu and pids are bound "
			    "to v1",
			    o.root);
	else if (!o.own)
		trial_found(t, CHECK_MISSING,
			    "cgroup v2 is at %s, which does not show our own "
			    "cgroup",
			    o.root);
	else
		explain_place(t, &o);
	AUTO_FREE char *remedy =
		t->check.status == CHECK_OK ? NULL : delegate_remedy(&o, getppid());
	if (remedy)
		trial_remedy(t, "%s", remedy);
}

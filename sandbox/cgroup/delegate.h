/* delegate -- finds the cgroup in which hutch may make cgroups.
 *
 * cgroups(7) has rules that decide where that is.  A process may be moved or
 * cloned only below a folder that belongs to its user and that the process
 * lives below already.  A folder whose children get controllers may not hold
 * processes itself.  And systemd's cgroups are systemd's alone, except where a
 * unit was marked with Delegate=yes.  So hutch tries, in this order:
 *
 *	--cgroup-parent DIR
 *	a folder above hutch's own that holds no process, in the same unit
 *	hutch's own folder, if no other process is in it: hutch moves to a leaf of it
 *	a new scope of the systemd user manager's, with hutch in it */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct policy;

enum controller { CONTROLLER_MEMORY = 1, CONTROLLER_PIDS = 2, CONTROLLER_CPU = 4 };
#define CONTROLLERS_ALL (CONTROLLER_MEMORY | CONTROLLER_CPU | CONTROLLER_PIDS)

/* The findings about hutch's own cgroup and the folders above it: a launch decides
 * by them where it makes cgroups, and `hutch doctor` explains them.  `own` is the
 * folder of the cgroup that this process lives in. */
struct outlook {
	const char *root; /* where cgroup2 is mounted; NULL: it is not mounted */
	char *own;	  /* owned; NULL: the mount does not show this process's cgroup */
	char *above;	  /* owned; a usable folder above `own`; NULL: none */
	bool is_marked;	  /* `own` has systemd's mark of delegation
			   * (delegate_is_marked()) */
	bool is_ours;	  /* this user may write to the files of `own` */
	unsigned missing; /* needed controllers that `own` lacks */
	unsigned others;  /* processes in `own` that are not hutch's */
};

struct delegate {
	char *path;	  /* owned; path of the cgroup that was found; NULL: none */
	int fd;		  /* owned; the folder's descriptor */
	unsigned has;	  /* bits of enum controller: the controllers that cgroups made
			   * in the folder can have */
	bool is_own;	  /* this process lives in the folder */
	bool is_scope;	  /* the service manager made the folder for hutch, and removes
			   * it */
};

void delegate_init(struct delegate *d);
void delegate_done(struct delegate *d);

/* Finds a folder with the controllers `needs`.  May ask the user manager for a
 * scope, which moves this process.  `waiter`, a hutch process that waits for this
 * one (0: none), does not count as a process in the folder. */
int delegate_find(struct delegate *d, const struct policy *policy, unsigned needs,
		  pid_t waiter, struct err *e);

/* Looks for a usable folder, without changing anything or asking the manager.  A
 * folder that holds processes is not usable, since its children get no controllers.
 * This process and `companion` (0: none) do not count, since both would move to a
 * leaf. */
void delegate_look(struct outlook *ret, unsigned needs, pid_t companion);
void outlook_done(struct outlook *o);
#define AUTO_OUTLOOK __attribute__((cleanup(outlook_done)))

/* Returns the commands that would give hutch a cgroup for limits, or controllers in it;
 * allocated.  NULL: none is known.  `hutch` is the process that the caller's shell has
 * started: the commands move that shell. */
char *delegate_remedy(const struct outlook *o, pid_t hutch);

/* Returns the controllers that the cgroup `folder` does not have. */
unsigned delegate_missing(const char *folder);

/* Returns the folder of the user manager's own cgroup, from which the manager's scopes
 * get their controllers; allocated. */
char *delegate_manager(const struct outlook *o);

/* Returns the names of the controllers in the set, such as "memory, cpu, pids";
 * allocated. */
char *delegate_names(unsigned controllers);

/* Writes the word that enables or disables one controller, such as "+memory", as
 * cgroup.subtree_control takes it; `sign` is '+' or '-'. */
void delegate_word(char word[16], char sign, enum controller which);

/* Reads the controllers that a file such as cgroup.controllers names. */
unsigned delegate_controllers(int folder, const char *file);

/* Tells whether the innermost systemd unit of a path below `root` is marked as
 * delegated; a path without a unit has no manager, and counts as marked.  A manager
 * marks a unit with the extended attribute user.delegate.  The user manager of
 * systemd 252 does not set it; hutch then asks for a scope that it would not need. */
bool delegate_is_marked(const char *path, const char *root);

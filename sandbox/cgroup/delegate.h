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

/* The state of the second way and the third: a launch decides by it, and `hutch
 * doctor` explains it.  `own` is the folder that this process lives in. */
struct outlook {
	const char *root; /* of the file system; NULL: it is not mounted */
	char *own;	  /* owned; NULL: not visible below the root */
	char *above;	  /* owned; a usable folder above it; NULL: none */
	bool is_marked;	  /* own: the manager's mark allows its use */
	bool is_ours;	  /* own: its files may be written */
	unsigned missing; /* own: needed controllers that it lacks */
	unsigned others;  /* own: processes in it that are not hutch's */
};

struct delegate {
	char *path;	  /* owned; NULL: none */
	int fd;		  /* owned */
	unsigned has;	  /* enum controller: those that cgroups in it can have */
	bool is_own;	  /* this process lives in it */
	bool is_scope;	  /* made for hutch by the service manager, which removes it */
};

void delegate_init(struct delegate *d);
void delegate_done(struct delegate *d);

/* Finds a folder with the controllers `needs`.  May ask the user manager for a
 * scope, which moves this process.  `waiter` is treated as the companion below. */
int delegate_find(struct delegate *d, const struct policy *policy, unsigned needs,
		  pid_t waiter, struct err *e);

/* Looks, without changing anything or asking the manager.  A folder with
 * processes in it hands no controllers on; this process, and `companion`, which
 * would move with it (0: none), do not count. */
void delegate_look(struct outlook *ret, unsigned needs, pid_t companion);
void outlook_done(struct outlook *o);
#define AUTO_OUTLOOK __attribute__((cleanup(outlook_done)))

/* "memory, cpu, pids", of those in the set; allocated. */
char *delegate_names(unsigned controllers);

/* "+memory" for one controller; `sign` is '+' or '-'. */
void delegate_word(char word[16], char sign, enum controller which);

/* Reads the controllers that a file such as cgroup.controllers names. */
unsigned delegate_controllers(int folder, const char *file);

/* Whether the innermost systemd unit of a path below `root` is marked as
 * delegated; a path without a unit has no manager, and counts as marked.
 * Managers mark by an attribute, user.delegate; the user manager of systemd 252
 * does not, and then hutch asks for a scope that would not have been needed. */
bool delegate_is_marked(const char *path, const char *root);

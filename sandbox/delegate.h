/* delegate -- the folder of the cgroup file system that we may make cgroups in.
 *
 * cgroups(7) has rules that decide where that is: a process may be put, or
 * cloned, only below a folder that belongs to us and that it lives below already;
 * a folder whose children get controllers may not hold processes itself; and
 * what systemd manages is systemd's alone, except where a unit was marked with
 * Delegate=yes.  So, in this order:
 *
 *	--cgroup-parent DIR
 *	a folder above us that holds no process, in the unit that we live in
 *	the folder that we live in, if nobody else does: we move to a leaf of it
 *	a new scope of the systemd user manager's, with us in it */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct policy;

enum controller { CONTROLLER_MEMORY = 1, CONTROLLER_PIDS = 2, CONTROLLER_CPU = 4 };

/* What there is of the second way and the third: what a launch decides by, and
 * `hutch doctor` explains.  Own is the folder that we live in. */
struct outlook {
	const char *root; /* of the file system; NULL: it is not mounted */
	char *own;	  /* owned; NULL: not to be seen from the root */
	char *above;	  /* owned; one above it that can be used; NULL: none */
	bool is_marked;	  /* own: what the manager says allows it */
	bool is_ours;	  /* own: its files may be written */
	unsigned missing; /* own: of the controllers that are needed */
	unsigned others;  /* own: processes in it that are not ours */
};

struct delegate {
	char *path;	  /* owned; NULL: none */
	int fd;		  /* owned */
	unsigned has;	  /* enum controller: what cgroups in it can have */
	bool is_own;	  /* we live in it */
	bool is_scope;	  /* made for us by the service manager, which removes it */
};

void delegate_init(struct delegate *d);
void delegate_done(struct delegate *d);

/* Finds a folder with the controllers `needs`.  May ask the user manager, which
 * moves this process.  `waiter`: as the companion below. */
int delegate_find(struct delegate *d, const struct policy *policy, unsigned needs,
		  pid_t waiter, struct err *e);

/* Looks; nothing is changed and nobody is asked.  A folder with processes in it
 * hands no controllers on: our own in it, and that of `companion`, who would move
 * with us (0: nobody), do not count. */
void delegate_look(struct outlook *ret, unsigned needs, pid_t companion);
void outlook_done(struct outlook *o);
#define AUTO_OUTLOOK __attribute__((cleanup(outlook_done)))

/* "memory, cpu, pids", of those in the set; allocated. */
char *delegate_names(unsigned controllers);

/* "+memory" for one controller; `sign` is '+' or '-'. */
void delegate_word(char word[16], char sign, enum controller which);

/* The controllers that a file such as cgroup.controllers names. */
unsigned delegate_controllers(int folder, const char *file);

/* Whether the innermost systemd unit of a path below `root` is marked as
 * delegated; a path with no unit in it is nobody's and counts as such.  Managers
 * mark by an attribute, user.delegate; the user manager of systemd 252 does not,
 * and then a scope is asked for that would not have been needed. */
bool delegate_is_marked(const char *path, const char *root);

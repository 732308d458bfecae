/* janitor -- undoes the launcher's changes when the launcher can no longer undo
 * them.
 *
 * The janitor is a process that is forked before anything is changed.  It holds a
 * pidfd of the launcher and a list of the changes to undo; when the launcher ends
 * without having dismissed the janitor, SIGKILL included, the janitor undoes them.
 * The janitor is in a session of its own, so that no Ctrl-C and no hang-up reaches
 * it.
 *
 * The list can hold the modes of the caller's terminal, the folder of an overlay's
 * upper layer, unix sockets of published ports, the sandbox's cgroup and, for a
 * sandbox with a name, its entry in the registry, whose lock the janitor shares.  A
 * sandbox's processes, mounts and tmpfs need no janitor: they end with its pid 1,
 * which the kernel kills with the launcher (PR_SET_PDEATHSIG).  With an empty list
 * there is no janitor. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct cgroup;
struct err;
struct list;
struct registry_entry;
struct terminal;
struct overlay_upper;

struct janitor {
	pid_t pid;   /* 0: there is no janitor */
	int dismiss; /* owned: the pipe to the janitor; a byte says whether it is
		      * dismissed or is to work */
	bool is_heir; /* the janitor removes an upper folder in any case, for a
		       * launcher that has confined itself */
};

void janitor_init(struct janitor *j);

/* The list of changes to undo; a zero or merely initialised object stands for nothing. */
struct chores {
	const struct terminal *terminal; /* the terminal's modes are restored, if it
					  * has a descriptor */
	const struct overlay_upper *upper;	 /* the folder is removed, if it has a
						  * path */
	const struct cgroup *cgroup;	 /* the cgroup is removed, if it has a place;
					  * it is not made yet */
	const struct registry_entry *entry; /* the registry entry is ended, if it has a
					     * name; may be NULL */
	int image; /* the lock of an image, held until everything is undone; 0 or less:
		    * none */
	/* Paths of unix sockets; a socket at which no process listens is removed.  May
	 * be NULL. */
	const struct list *sockets;
};

/* Starts a janitor, if there is anything on the list.  With an entry on the list,
 * returns only when the janitor no longer holds the lock that says that the launcher
 * lives. */
int janitor_start(struct janitor *j, const struct chores *chores, struct err *e);

/* Dismisses the janitor and waits for its end.  The caller has undone everything
 * itself. */
void janitor_dismiss(struct janitor *j);

/* Has the janitor undo everything on its list, and waits for its end.  The caller
 * has undone nothing, or a part. */
void janitor_work(struct janitor *j);

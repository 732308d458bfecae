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
	int dismiss; /* owned: the write end of the pipe to the janitor; one byte tells
		      * it to exit or to undo everything */
	/* the launcher has confined itself and may no longer unlink, so the janitor
	 * removes an upper folder and unix sockets even after a normal end */
	bool is_heir;
};

void janitor_init(struct janitor *j);

/* The list of changes to undo.  A member that is zero, or only initialised, has nothing
 * to undo. */
struct chores {
	const struct terminal *terminal; /* the terminal whose modes are restored;
					  * without a descriptor: none */
	const struct overlay_upper *upper;	 /* the folder of an overlay's upper
						  * layer, which is removed; without a
						  * path: none */
	const struct cgroup *cgroup;	 /* the cgroup that is removed, made only after
					  * the janitor starts; without a place in the
					  * hierarchy: none */
	const struct registry_entry *entry; /* the registry entry that is removed; NULL,
					     * or without a name: none */
	int image; /* the lock that keeps an image in the store, held until everything is
		    * undone; 0 or less: none */
	/* Paths of unix sockets; a socket at which no process listens is removed.  May
	 * be NULL. */
	const struct list *sockets;
};

/* Starts a janitor, if the list has any change to undo.  If the list has a registry
 * entry, waits until the janitor has closed its copy of the lock that says that the
 * launcher lives. */
int janitor_start(struct janitor *j, const struct chores *chores, struct err *e);

/* Dismisses the janitor and waits for its end.  The caller has undone everything
 * itself. */
void janitor_dismiss(struct janitor *j);

/* Makes the janitor undo everything on its list, and waits for its end.  The caller has
 * undone nothing, or only a part. */
void janitor_work(struct janitor *j);

/* protect_watch -- notices on the host that a protected file is no longer the one that
 * the sandbox shows.
 *
 * A mount belongs to the file that it is on, not to the file's name.  A process
 * on the host that renames another file over a protected one, or removes it,
 * thereby takes away the read-only mount inside (detach_mounts(), since 3.18),
 * and the file that has the name then is as writable as the folder around it.
 * No mount can be made inside from outside, so all that can be done is to
 * notice and to stop (instance.h).  A process inside that is quick enough has
 * written by then.
 *
 *	protect_watch_init
 *	protect_watch_post	before the sandbox is made
 *	protect_watch_look	whenever its descriptor is readable
 *	protect_watch_done
 *
 * inotify(7) watches the folders in which protected names are, and those that
 * lead there.  Processes inside cannot change such a name, but can make any
 * number of events with other names: those are skipped by comparing names, a
 * bounded number at a time.  Where events were lost, or a name may be another
 * spelling, the file itself is looked at: its device, inode number and time of
 * birth, since an inode number alone may be used for a new file at once.
 *
 * With --protect-missing, processes inside make none of the protected names that
 * did not exist (broker.h); if the host makes one, that is noticed in the same
 * way.
 *
 * The protection watch does not notice what inotify does not report: other machines'
 * changes of a network file system, and mounts over a name. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct plan;
struct post;

struct protect_watch {
	int fd; /* owned: the descriptor of inotify; -1: nothing is watched */
	struct post *posts; /* owned */
	size_t count;
	bool is_lost; /* a change was noticed; no event is read until
		       * protect_watch_give_up() */
};

void protect_watch_init(struct protect_watch *s);
void protect_watch_done(struct protect_watch *s);

/* Watches the names that the plan has marked; borrows the plan's texts.
 * ERR_LIMIT: the user may watch no more. */
int protect_watch_post(struct protect_watch *s, const struct plan *p, struct err *e);

/* Reads events.  Returns true if a name no longer leads to the same file; *e
 * says which name. */
bool protect_watch_look(struct protect_watch *s, struct err *e);

/* Stops watching the names that have changed so far; the other names are still
 * watched. */
void protect_watch_give_up(struct protect_watch *s);

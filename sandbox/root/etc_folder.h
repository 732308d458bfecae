/* etc_folder -- prepares the /etc of sandboxes that show the host's files.
 *
 * A plan shows single files of the host's /etc, each by a mount of its own, and adds
 * links and files of hutch's.  Most launches show the same ones.  A prepared folder has
 * copies of all these, and a launch mounts that folder instead.  Folders of the host,
 * such as /etc/ssl, remain mounts, on empty folders there.
 *
 * Prepared folders are entries of .etc in the state folder: the folder "tree", the empty
 * files "lock0" to "lockf", and the file "key", the bytes of everything that decided the
 * content.  The key has device, inode, size and time of change of each copied file, so a
 * change on the host leads to another entry.  The entry's name is a hash of the key, and a
 * launch compares the whole key.
 *
 * Each sandbox holds a shared lock (flock(2)) on one of the entry's files for locks, which
 * its process id chooses: the kernel keeps the locks of a file in a list, and a process
 * that locks or unlocks the file passes all of them.  In /tmp the lock is on the entry's
 * folder.  Entries that no process locks are removed as soon as there are
 * ETC_FOLDERS_MAX. */
#pragma once
#include <stdbool.h>

struct plan;
struct step;

#define ETC_FOLDERS_MAX 16

struct etc_folder {
	int lock; /* owned: the entry's file or folder that is locked; -1: none */
	struct step *steps; /* owned: of the plan that etc_folder_use() returned; what the
			     * steps point at is borrowed, but for the next two */
	char *source, *target; /* owned: of the mount of the folder */
};

void etc_folder_init(struct etc_folder *f);
void etc_folder_done(struct etc_folder *f);

/* Returns the plan with a prepared folder in *ret, which borrows from `p` and `f`.  If
 * there is none, and `may_make`, makes it.  False, with a copy of the plan in *ret: the
 * plan cannot have one, for example since the caller mounts something in /etc, or the
 * folder cannot be had; the sandbox then gets the same files by the plan's own steps. */
bool etc_folder_use(struct etc_folder *f, const struct plan *p, bool may_make,
		    struct plan *ret);

/* Makes the folder for later launches of this plan, unless there is one. */
void etc_folder_make(const struct plan *p);

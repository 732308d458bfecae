/* etc_folder -- prepares the /etc of sandboxes that show the host's files.
 *
 * A plan shows single files of the host's /etc, each by a mount of its own, and adds
 * links and files of hutch's.  Most launches show the same ones.  A prepared folder has
 * copies of all these, and a launch mounts that folder instead.  Folders of the host,
 * such as /etc/ssl, remain mounts, on empty folders there.
 *
 * Prepared folders are entries of the state folder (etc_entry.h).  An entry's key has device,
 * inode, size and time of change of each copied file, so a change on the host leads to
 * another entry. */
#pragma once
#include <stdbool.h>

#include "sandbox/root/etc_entry.h"

struct plan;
struct step;

struct etc_folder {
	struct etc_entry entry; /* owned */
	struct step *steps; /* owned: of the plan that etc_folder_use() returned; what the
			     * steps point at is borrowed, but for the entry's path and
			     * the next */
	char *target;	    /* owned: of the mount of the folder */
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

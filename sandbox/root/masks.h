/* masks -- hides files and folders so that no process inside can open them.
 *
 * A mask is a mount.  The mask of a file is the host's /dev/null on a nodev mount: opening
 * it fails with EACCES whatever the capabilities; a file of mode 000 would open for
 * CAP_DAC_OVERRIDE and read as empty.  The mask of a folder is procfs' tty/driver, which
 * is 0500 and belongs to the host's root.  No user namespace of ours maps that id, so not
 * even CAP_DAC_OVERRIDE applies (capable_wrt_inode_uidgid()). */
#pragma once

struct err;
struct step;
struct targets;

struct masks {
	/* Both arrays have the first mask of a file, and then that of a folder.  Others
	 * are clones of these. */
	int mount[2];	     /* owned; -1: there is no mask yet */
	const char *name[2]; /* borrowed from the plan: the first name in /proc that has
			      * such a mask; NULL: none */
};

void masks_init(struct masks *m);
void masks_done(struct masks *m);

/* Hides the target of STEP_MASK, if it is there. */
int masks_hide(struct masks *m, struct targets *t, const struct step *s, struct err *e);

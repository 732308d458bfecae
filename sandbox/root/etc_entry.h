/* etc_entry -- keeps prepared folders between launches (etc_folder.h).
 *
 * Entries are folders of .prepared in the state folder.  An entry has a chain of folders,
 * "0/1/2/.../f", and at the end of it the folder "tree", which is the prepared one, and the
 * file "key", the bytes of everything that decided the content.  The entry's name is a hash
 * of the key, and a launch compares the whole key.
 *
 * Each sandbox holds a shared lock (flock(2)) on one folder of the chain, which the launcher's
 * process id chooses.  There are several, since the kernel keeps the locks of a file in a
 * list, and a process that locks or unlocks the file passes all of them.  They are folders
 * above the tree and not files beside it: a program that removes old files cannot remove a
 * folder that is not empty, so each lock is found as long as there is a tree, and
 * systemd-tmpfiles(8) leaves alone all that is in a locked folder.  Entries that no process
 * locks are removed as soon as there are ETC_ENTRIES_MAX. */
#pragma once
#include <sys/types.h>

struct buffer;

#define ETC_ENTRIES_MAX 16

/* An entry in use. */
struct etc_entry {
	int lock;   /* owned: the folder of the chain that is locked; -1: none */
	char *tree; /* owned: path of the prepared folder */
	dev_t dev;  /* of the prepared folder */
	ino_t ino;
};

#define ETC_ENTRY_NONE ((struct etc_entry){ .lock = -1 })

/* Fills the empty folder `tree`, an O_PATH descriptor; -1: the entry is not made. */
typedef int etc_entry_fill(int tree, const void *arg);

/* Opens and locks the entry of the key; -1: there is none, or it is being removed. */
int etc_entry_open(const struct buffer *key, struct etc_entry *ret);

/* Makes the entry, in place of one that has another key or has lost files, and locks it;
 * -1: it cannot be made, or sandboxes use as many as there may be. */
int etc_entry_make(const struct buffer *key, etc_entry_fill *fill, const void *arg,
		   struct etc_entry *ret);

void etc_entry_done(struct etc_entry *x);

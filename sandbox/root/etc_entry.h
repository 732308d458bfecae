/* etc_entry -- keeps prepared folders between launches (etc_folder.h).
 *
 * Entries are folders of .etc in the state folder: the folder "tree", which is the prepared
 * one, the empty files "lock0" to "lockf", and the file "key", the bytes of everything that
 * decided the content.  The entry's name is a hash of the key, and a launch compares the
 * whole key.
 *
 * Each sandbox holds a shared lock (flock(2)) on one of "lock0" to "lockf", which the
 * launcher's process id chooses.  There are several, since the kernel keeps the locks of a
 * file in a list, and a process that locks or unlocks the file passes all of them.  In /tmp
 * all sandboxes lock the entry's folder instead, since systemd-tmpfiles(8) spares a folder
 * that is locked itself.  Entries that no process locks are removed as soon as there are
 * ETC_ENTRIES_MAX. */
#pragma once
#include <sys/types.h>

struct buffer;

#define ETC_ENTRIES_MAX 16

/* An entry in use. */
struct etc_entry {
	int lock;   /* owned: the file or folder of the entry that is locked; -1: none */
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

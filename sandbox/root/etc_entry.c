#include "sandbox/root/etc_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fnv1a.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/state/state_dir.h"
#include "store/folders.h"
#include "store/rm_tree.h"

#define ENTRIES	  ".prepared"
#define NAME_SIZE 17
#define CHAIN	  "0/1/2/3/4/5/6/7/8/9/a/b/c/d/e/f"
#define LOCKS	  ((sizeof(CHAIN)) / 2) /* folders of an entry that sandboxes lock */

void etc_entry_done(struct etc_entry *x)
{
	own_close(&x->lock);
	own_free(&x->tree);
}

static void put_name(char name[NAME_SIZE], const struct buffer *key)
{
	const unsigned long long hash =
		fnv1a(FNV1A_START, buffer_data(key), buffer_len(key));

	(void)snprintf(name, NAME_SIZE, "%016llx", hash); /* 16 digits always fit */
}

/* Describes the entry of that name, and takes the lock. */
static int take(struct etc_entry *x, int entry, const char *name, int *lock)
{
	AUTO_FREE char *state = folder_path(FOLDER_STATE);
	struct stat tree;

	if (!state || fstatat(entry, CHAIN "/tree", &tree, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	x->tree = text_format("%s/" ENTRIES "/%s/" CHAIN "/tree", state, name);
	x->dev = tree.st_dev;
	x->ino = tree.st_ino;
	x->lock = fd_take(lock);
	return 0;
}

/* --- an entry that exists --------------------------------------------------------- */

/* Tells whether the entry has this key, and is whole: the key is written last, so a tree
 * that was changed later has lost files, for example to a program that cleans /tmp. */
static bool has_key(int entry, const struct buffer *key)
{
	const size_t len = buffer_len(key);
	/* O_NONBLOCK: open(2) waits for no FIFO, which hutch never makes here. */
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	AUTO_FREE char *there = mem_new(len + 1);
	AUTO_CLOSE int fd = openat(entry, CHAIN "/key", flags);
	struct stat written, tree;

	return fd >= 0 && fstat(fd, &written) == 0 &&
	       fstatat(entry, CHAIN "/tree", &tree, AT_SYMLINK_NOFOLLOW) == 0 &&
	       clock_ns(&tree.st_ctim) <= clock_ns(&written.st_ctim) &&
	       io_read_full(fd, there, len + 1) == (ssize_t)len &&
	       memcmp(there, buffer_data(key), len) == 0;
}

/* Puts the path of the folder with this number in the chain, 0 for the outermost. */
static void put_link(char path[sizeof(CHAIN)], size_t number)
{
	(void)snprintf(path, sizeof(CHAIN), "%.*s", (int)(2 * number + 1), CHAIN);
}

static int open_link(int entry, size_t number)
{
	char path[sizeof(CHAIN)];

	put_link(path, number);
	return openat(entry, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Locks the entry for this process, and returns the descriptor that has the lock; -1: the
 * entry is being removed or cleaned, or has lost its folders. */
static int lock_entry(int entry)
{
	AUTO_CLOSE int lock = open_link(entry, (size_t)getpid() % LOCKS);

	return lock >= 0 && state_dir_lock(lock, LOCK_SH | LOCK_NB) == 0 ? fd_take(&lock)
									 : -1;
}

/* Each folder is opened below the one before, and has to be this user's. */
int etc_entry_open(const struct buffer *key, struct etc_entry *ret)
{
	struct err unused;
	char name[NAME_SIZE];

	put_name(name, key);
	AUTO_CLOSE int state = state_dir_state(false, &unused);
	AUTO_CLOSE int entries = state < 0 ? -1
					   : state_dir_folder(state, ENTRIES, &unused);
	AUTO_CLOSE int entry = entries < 0 ? -1
					   : state_dir_folder(entries, name, &unused);

	AUTO_CLOSE int lock = entry < 0 ? -1 : lock_entry(entry);
	/* A process that removes an entry takes all locks, and removes the key first.  So
	 * a key that is read under a lock is that of an entry which stays. */
	return lock >= 0 && has_key(entry, key) ? take(ret, entry, name, &lock) : -1;
}

/* --- a new entry ------------------------------------------------------------------ */

struct source {
	etc_entry_fill *fill;
	const void *arg;
};

/* Fills the tree with the modes that sandboxes see, whatever the caller's umask is. */
static int fill_tree(int entry, const struct source *from)
{
	const mode_t callers = umask(022);
	const int made = mkdirat(entry, CHAIN "/tree", 0755);
	AUTO_CLOSE int tree =
		made < 0 ? -1
			 : openat(entry, CHAIN "/tree", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int filled = tree < 0 ? -1 : from->fill(tree, from->arg);

	(void)umask(callers);
	return filled;
}

static int make_chain(int entry)
{
	char path[sizeof(CHAIN)];

	for (size_t i = 0; i < LOCKS; i++) {
		put_link(path, i);
		if (mkdirat(entry, path, 0700) < 0)
			return -1;
	}
	return 0;
}

static int write_key(int entry, const struct buffer *key)
{
	AUTO_CLOSE int fd = openat(entry, CHAIN "/key",
				   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : io_write_all(fd, buffer_data(key), buffer_len(key));
}

struct sweeping {
	int entries; /* borrowed: the folder ENTRIES */
	bool removes;
	size_t count; /* of entries that are there */
};

/* Takes all locks of the entry; false: a sandbox has one.  Where a folder is missing, the
 * entry has no tree, since that would be below it. */
static bool lock_all(int entry, int locks[LOCKS])
{
	for (size_t i = 0; i < LOCKS; i++) {
		locks[i] = open_link(entry, i);
		if (locks[i] < 0)
			return errno == ENOENT;
		if (state_dir_lock(locks[i], LOCK_EX | LOCK_NB) < 0)
			return false;
	}
	return true;
}

/* Removes the entry if this process can take all of its locks; true: it is gone. */
static bool remove_unlocked(int entries, const char *name, int entry)
{
	int locks[LOCKS];

	memset(locks, -1, sizeof(locks));
	const bool is_ours = lock_all(entry, locks);
	if (is_ours) {
		/* An entry without a key is never used, also if its removal stops midway. */
		(void)unlinkat(entry, CHAIN "/key", 0);
		rm_tree_remove(entries, name);
	}
	for (size_t i = 0; i < LOCKS; i++)
		own_close(&locks[i]);
	return is_ours;
}

/* Removes an entry that no process uses, makes or removes; true: it is gone. */
static bool remove_unused(int entries, const char *name)
{
	AUTO_CLOSE int entry = rm_tree_open(entries, name);

	/* Another process may have replaced the entry before the lock. */
	return entry >= 0 && state_dir_lock(entry, LOCK_EX | LOCK_NB) == 0 &&
	       state_dir_is_at(entries, name, entry) &&
	       remove_unlocked(entries, name, entry);
}

static void look_at_entry(void *arg, const char *name)
{
	struct sweeping *x = arg;

	if (!x->removes || !remove_unused(x->entries, name))
		x->count++;
}

/* Makes room for one more entry; false: sandboxes use as many as there may be. */
static bool make_room(int entries)
{
	struct sweeping x = { .entries = entries };
	struct err unused;

	if (state_dir_each(entries, look_at_entry, &x, &unused) < 0)
		return false;
	if (x.count < ETC_ENTRIES_MAX)
		return true;
	x = (struct sweeping){ .entries = entries, .removes = true };
	return state_dir_each(entries, look_at_entry, &x, &unused) == 0 &&
	       x.count < ETC_ENTRIES_MAX;
}

/* Makes all that the entry has, the key last, with a lock on the entry's folder until the
 * caller closes it.  *ret_lock is this process's lock as a user of the entry. */
static int make_all(int entry, const struct source *from, const struct buffer *key,
		    int *ret_lock)
{
	if (state_dir_lock(entry, LOCK_SH | LOCK_NB) < 0 || make_chain(entry) < 0 ||
	    fill_tree(entry, from) < 0)
		return -1;
	AUTO_CLOSE int lock = lock_entry(entry);
	if (lock < 0 || write_key(entry, key) < 0)
		return -1;
	*ret_lock = fd_take(&lock);
	return 0;
}

/* Makes the entry under another name, and gives it its own when it is complete. */
int etc_entry_make(const struct buffer *key, etc_entry_fill *fill, const void *arg,
		   struct etc_entry *ret)
{
	const struct source from = { fill, arg };
	struct err unused;
	char name[NAME_SIZE], fresh[40];

	put_name(name, key);
	AUTO_CLOSE int state = state_dir_state(true, &unused);
	AUTO_CLOSE int entries = state < 0 ? -1 : state_dir_made(state, ENTRIES, &unused);

	if (entries < 0 || !make_room(entries))
		return -1;
	(void)snprintf(fresh, sizeof(fresh), ".new-%s-%d", name, getpid()); /* fits */
	(void)remove_unused(entries, fresh); /* of a process that was killed */
	/* The entry has another key, or has lost files. */
	if (!remove_unused(entries, name) &&
	    faccessat(entries, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -1;
	if (mkdirat(entries, fresh, 0700) < 0)
		return -1;
	AUTO_CLOSE int entry = state_dir_folder(entries, fresh, &unused);
	AUTO_CLOSE int lock = -1;
	if (entry >= 0 && make_all(entry, &from, key, &lock) == 0 &&
	    renameat(entries, fresh, entries, name) == 0)
		return take(ret, entry, name, &lock);
	rm_tree_remove(entries, fresh);
	return -1;
}

#include "sandbox/root/etc_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fnv1a.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/kernel/mount_target.h"
#include "sandbox/plan/plan.h"
#include "sandbox/state/state_dir.h"
#include "store/folders.h"
#include "store/rm_tree.h"

#define ETC	   "/etc"
#define COPY_MAX  (1 << 20) /* larger files remain mounts */
#define KEY_MAX	   (4 << 20)
#define ENTRIES	  ".etc"
#define TMP_STATE  "/tmp/hutch-" /* and the user's number (store/folders.c) */
#define NAME_SIZE 17
#define LOCKS	   16 /* files of an entry that sandboxes lock */
#define SHOWN	   (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* The part that a step of the plan gets in the prepared folder. */
enum part {
	PART_NONE,   /* the step has another place than /etc */
	PART_LINK,   /* the link itself */
	PART_FILE,   /* the file that the step writes */
	PART_COPY,   /* a copy of the file that the step mounts */
	PART_FOLDER, /* an empty folder, over which the step mounts */
	PART_PLACE,  /* an empty file, over which the step mounts */
	PART_NOT     /* the step does not go with a prepared folder */
};

void etc_folder_init(struct etc_folder *f)
{
	*f = (struct etc_folder){ .lock = -1 };
}

void etc_folder_done(struct etc_folder *f)
{
	own_close(&f->lock);
	own_free(&f->steps);
	own_free(&f->source);
	own_free(&f->target);
}

/* --- the parts -------------------------------------------------------------------- */

static enum part part_of_bind(const struct step *s)
{
	/* Every user may read a file that is copied: the copy shows nothing that the
	 * mount would not show. */
	const bool is_open = s->is_public && s->size <= COPY_MAX;

	if (s->attr != SHOWN)
		return PART_NOT;
	return s->is_dir ? PART_FOLDER : is_open ? PART_COPY : PART_PLACE;
}

static enum part part_of(const struct step *s)
{
	const size_t len = sizeof(ETC) - 1;

	if (strncmp(s->target, ETC, len) != 0 || (s->target[len] && s->target[len] != '/'))
		return PART_NONE;
	if (s->from || !s->target[len])
		return PART_NOT;
	if (s->kind == STEP_BIND)
		return part_of_bind(s);
	if (s->kind == STEP_FILE)
		return s->is_own ? PART_PLACE : PART_FILE;
	return s->kind == STEP_SYMLINK ? PART_LINK : PART_NOT;
}

/* Tells whether the plan can have a prepared folder. */
static bool suits(const struct plan *p)
{
	size_t parts = 0;

	if (p->has_ranges || !p->count || p->steps[0].kind != STEP_ROOT)
		return false;
	for (size_t i = 0; i < p->count; i++) {
		const enum part part = part_of(&p->steps[i]);
		if (part == PART_NOT)
			return false;
		parts += part != PART_NONE;
	}
	return parts > 0;
}

/* --- the key ---------------------------------------------------------------------- */

/* Adds the boot to the key: a crash may leave an entry with empty files on a disk. */
static int add_boot(struct buffer *key)
{
	char id[64];
	AUTO_CLOSE int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	const ssize_t len = fd < 0 ? -1 : read(fd, id, sizeof(id));

	return len > 0 && buffer_append(key, id, (size_t)len) ? 0 : -1;
}

static bool add_text(struct buffer *key, const char *text)
{
	return buffer_append(key, text, strlen(text) + 1);
}

/* Adds what decides the content of this part, with 0 for what does not. */
static bool add_part(struct buffer *key, const struct step *s)
{
	const enum part part = part_of(s);
	const bool is_copy = part == PART_COPY;
	const bool is_own = part == PART_LINK || part == PART_FILE;
	const uint64_t numbers[] = { part,
				     is_own ? s->mode : 0,
				     is_copy ? s->dev : 0,
				     is_copy ? s->ino : 0,
				     is_copy ? (uint64_t)s->size : 0,
				     is_copy ? (uint64_t)s->changed_ns : 0 };

	if (part == PART_NONE)
		return true;
	return buffer_append(key, numbers, sizeof(numbers)) && add_text(key, s->target) &&
	       (!is_own || add_text(key, s->data));
}

/* Makes the key in `ret`, an empty buffer; -1: there is none. */
static int key_of(const struct plan *p, struct buffer *ret)
{
	bool fits = add_boot(ret) == 0;

	for (size_t i = 0; i < p->count && fits; i++)
		fits = add_part(ret, &p->steps[i]);
	return fits ? 0 : -1;
}

static void put_name(char name[NAME_SIZE], const struct buffer *key)
{
	const unsigned long long hash =
		fnv1a(FNV1A_START, buffer_data(key), buffer_len(key));

	(void)snprintf(name, NAME_SIZE, "%016llx", hash); /* 16 digits always fit */
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
	AUTO_CLOSE int fd = openat(entry, "key", flags);
	struct stat written, tree;

	return fd >= 0 && fstat(fd, &written) == 0 &&
	       fstatat(entry, "tree", &tree, AT_SYMLINK_NOFOLLOW) == 0 &&
	       clock_ns(&tree.st_ctim) <= clock_ns(&written.st_ctim) &&
	       io_read_full(fd, there, len + 1) == (ssize_t)len &&
	       memcmp(there, buffer_data(key), len) == 0;
}

static int open_lock(int entry, unsigned number, int flags)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "lock%x", number); /* always fits */
	return openat(entry, name, O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
}

/* Tells whether the state folder is in /tmp.  A program that removes old files there
 * leaves a folder alone that is locked itself (systemd-tmpfiles(8)). */
static bool is_cleaned(void)
{
	AUTO_FREE char *state = folder_path(FOLDER_STATE);

	return state && strncmp(state, TMP_STATE, sizeof(TMP_STATE) - 1) == 0 &&
	       !strchr(state + sizeof(TMP_STATE) - 1, '/');
}

/* Locks the entry for this process; -1: it is being removed, or has lost the file. */
static int lock_entry(int entry)
{
	AUTO_CLOSE int lock =
		is_cleaned() ? fcntl(entry, F_DUPFD_CLOEXEC, 3)
			     : open_lock(entry, (unsigned)getpid() % LOCKS, O_RDONLY);

	return lock >= 0 && state_dir_lock(lock, LOCK_SH | LOCK_NB) == 0 ? fd_take(&lock)
									 : -1;
}

/* Opens the entry, and locks it in *ret_lock; -1: there is none, or it is being removed.
 * Each folder is opened below the one before, and has to be this user's. */
static int open_entry(const char *name, const struct buffer *key, int *ret_lock)
{
	struct err unused;
	AUTO_CLOSE int state = state_dir_state(false, &unused);
	AUTO_CLOSE int entries = state < 0 ? -1
					   : state_dir_folder(state, ENTRIES, &unused);
	AUTO_CLOSE int entry = entries < 0 ? -1
					   : state_dir_folder(entries, name, &unused);

	AUTO_CLOSE int lock = entry < 0 ? -1 : lock_entry(entry);
	/* The key is read after the lock was taken: it is removed first, by a process
	 * that has all locks. */
	if (lock < 0 || !has_key(entry, key))
		return -1;
	*ret_lock = fd_take(&lock);
	return fd_take(&entry);
}

/* --- a new entry ------------------------------------------------------------------ */

/* Copies the host's file, which has to be the one that the plan has found. */
static int copy(const struct step *s, int to)
{
	AUTO_CLOSE int from = open(s->source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	ssize_t n = 1;

	while (n > 0 && from >= 0)
		n = sendfile(to, from, NULL, COPY_MAX);
	if (from < 0 || n < 0 || fstat(from, &st) < 0)
		return -1;
	const bool is_same = st.st_dev == s->dev && st.st_ino == s->ino &&
			     st.st_size == s->size &&
			     clock_ns(&st.st_ctim) == s->changed_ns;
	return is_same ? 0 : -1;
}

static int make_file(int folder, const char *name, const struct step *s, enum part part)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(folder, name, flags, 0600);

	if (fd < 0 || fchmod(fd, part == PART_FILE ? s->mode : 0644) < 0)
		return -1;
	if (part == PART_FILE)
		return io_write_all(fd, s->data, strlen(s->data));
	return part == PART_COPY ? copy(s, fd) : 0;
}

static int make_part(struct targets *tree, const struct step *s)
{
	const enum part part = part_of(s);
	const char *name, *path = s->target + sizeof(ETC) - 1;
	struct err unused;

	if (part == PART_NONE)
		return 0;
	const int folder = mount_target_parent(tree, path, &name, &unused);
	if (folder < 0)
		return -1;
	if (part == PART_LINK)
		return symlinkat(s->data, folder, name);
	return part == PART_FOLDER ? mkdirat(folder, name, 0755)
				   : make_file(folder, name, s, part);
}

static int fill_tree(int entry, const struct plan *p)
{
	if (mkdirat(entry, "tree", 0755) < 0)
		return -1;
	AUTO_CLOSE int root = openat(entry, "tree", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct targets tree;
	int made = root < 0 ? -1 : 0;

	targets_init(&tree, root);
	for (size_t i = 0; i < p->count && made == 0; i++)
		made = make_part(&tree, &p->steps[i]);
	targets_done(&tree);
	return made;
}

/* Fills the folder with the modes that sandboxes see, whatever the caller's umask is. */
static int fill(int entry, const struct plan *p)
{
	const mode_t callers = umask(022);
	const int filled = fill_tree(entry, p);

	(void)umask(callers);
	return filled;
}

static int make_locks(int entry)
{
	for (unsigned i = 0; i < LOCKS; i++) {
		AUTO_CLOSE int lock = open_lock(entry, i, O_WRONLY | O_CREAT | O_EXCL);
		if (lock < 0)
			return -1;
	}
	return 0;
}

static int write_key(int entry, const struct buffer *key)
{
	AUTO_CLOSE int fd = openat(entry, "key", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : io_write_all(fd, buffer_data(key), buffer_len(key));
}

struct sweeping {
	int entries; /* borrowed: the folder .etc */
	bool removes;
	size_t count; /* of entries that are there */
};

/* Takes all locks of the entry; false: a sandbox has one.  An entry that is not complete,
 * or was made by an earlier version, has no such files. */
static bool lock_all(int entry, int locks[LOCKS])
{
	for (unsigned i = 0; i < LOCKS; i++) {
		locks[i] = open_lock(entry, i, O_RDONLY);
		if (locks[i] < 0 ? errno != ENOENT
				 : state_dir_lock(locks[i], LOCK_EX | LOCK_NB) < 0)
			return false;
	}
	return true;
}

/* Removes the entry from which this process keeps others by all of its locks. */
static bool remove_locked(int entries, const char *name, int entry)
{
	int locks[LOCKS];

	memset(locks, -1, sizeof(locks));
	const bool is_ours = lock_all(entry, locks);
	if (is_ours) {
		(void)unlinkat(entry, "key", 0); /* a half removed entry is never used */
		rm_tree_remove(entries, name);
	}
	for (unsigned i = 0; i < LOCKS; i++)
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
	       remove_locked(entries, name, entry);
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
	if (x.count < ETC_FOLDERS_MAX)
		return true;
	x = (struct sweeping){ .entries = entries, .removes = true };
	return state_dir_each(entries, look_at_entry, &x, &unused) == 0 &&
	       x.count < ETC_FOLDERS_MAX;
}

/* Makes all of the entry, which this process locks meanwhile, and locks it in *ret_lock
 * for its use. */
static int make_all(int entry, const struct plan *p, const struct buffer *key,
		    int *ret_lock)
{
	if (state_dir_lock(entry, LOCK_SH | LOCK_NB) < 0 || fill(entry, p) < 0 ||
	    make_locks(entry) < 0)
		return -1;
	AUTO_CLOSE int lock = lock_entry(entry);
	if (lock < 0 || write_key(entry, key) < 0)
		return -1;
	*ret_lock = fd_take(&lock);
	return 0;
}

/* Makes the entry under another name, and gives it its own when it is complete. */
static int make_entry(const struct plan *p, const char *name, const struct buffer *key,
		      int *ret_lock)
{
	struct err unused;
	char fresh[40];
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
	if (entry >= 0 && make_all(entry, p, key, &lock) == 0 &&
	    renameat(entries, fresh, entries, name) == 0) {
		*ret_lock = fd_take(&lock);
		return fd_take(&entry);
	}
	rm_tree_remove(entries, fresh);
	return -1;
}

/* --- the plan --------------------------------------------------------------------- */

static void show(struct etc_folder *f, const char *name, const struct stat *tree,
		 struct step *ret)
{
	AUTO_FREE char *state = folder_path(FOLDER_STATE);

	f->source = text_format("%s/" ENTRIES "/%s/tree", state, name);
	f->target = text_copy(ETC);
	*ret = (struct step){ .kind = STEP_BIND,
			      .source = f->source,
			      .target = f->target,
			      .attr = SHOWN, /* layer: etc-readonly */
			      .dev = tree->st_dev,
			      .ino = tree->st_ino,
			      .is_dir = true,
			      .is_prepared = true };
}

/* Tells whether the step binds something over a place in the folder. */
static bool binds_over(const struct step *s)
{
	const enum part part = part_of(s);

	return s->kind == STEP_BIND && (part == PART_FOLDER || part == PART_PLACE);
}

static void add_placed(struct plan *p, const struct step *s)
{
	p->steps[p->count] = *s;
	p->steps[p->count++].is_placed = true;
}

/* Copies the steps, without those that the folder replaces.  In front of the first one in
 * /etc come the mount of the folder and the binds over its places. */
static void change(struct etc_folder *f, const char *name, const struct stat *tree,
		   struct plan *p)
{
	const struct step *const old = p->steps;
	const size_t count = p->count;

	f->steps = mem_zeroed(count + 1, sizeof(*f->steps));
	p->steps = f->steps;
	p->count = 0;
	for (size_t i = 0; i < count; i++) {
		const enum part part = part_of(&old[i]);
		if (part != PART_NONE && !f->source) {
			show(f, name, tree, &p->steps[p->count++]);
			for (size_t k = i; k < count; k++)
				if (binds_over(&old[k]))
					add_placed(p, &old[k]);
		}
		if (part == PART_NONE)
			p->steps[p->count++] = old[i];
		else if (part == PART_PLACE && old[i].kind == STEP_FILE)
			add_placed(p, &old[i]);
	}
}

static bool use(struct etc_folder *f, const struct buffer *key, const struct plan *p,
		bool may_make, struct plan *ret)
{
	char name[NAME_SIZE];
	struct stat tree;

	put_name(name, key);
	AUTO_CLOSE int lock = -1;
	AUTO_CLOSE int entry = open_entry(name, key, &lock);
	if (entry < 0 && may_make)
		entry = make_entry(p, name, key, &lock);
	if (entry < 0 || fstatat(entry, "tree", &tree, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	change(f, name, &tree, ret);
	f->lock = fd_take(&lock);
	return true;
}

bool etc_folder_use(struct etc_folder *f, const struct plan *p, bool may_make,
		    struct plan *ret)
{
	struct buffer key;

	*ret = *p;
	if (!suits(p))
		return false;
	buffer_init(&key, KEY_MAX);
	const bool uses = key_of(p, &key) == 0 && use(f, &key, p, may_make, ret);
	buffer_done(&key);
	return uses;
}

void etc_folder_make(const struct plan *p)
{
	struct etc_folder f;
	struct plan unused;

	etc_folder_init(&f);
	(void)etc_folder_use(&f, p, true, &unused);
	etc_folder_done(&f);
}

#include "executor/process/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

#define EVENTS "/sys/fs/cgroup/memory.events"
#define SHARED "/dev/shm"

/* SHM_STAT_ANY of ipc(2), since kernel 4.17: unlike SHM_STAT it also returns objects
 * whose mode forbids us to read them. */
#define KERNEL_SHM_STAT_ANY 15
#define KERNEL_SEM_STAT_ANY 20
#define KERNEL_MSG_STAT_ANY 13

void cgroup_init(struct cgroup *c)
{
	*c = (struct cgroup){ .procs = -1, .events = -1 };
}

void cgroup_done(struct cgroup *c)
{
	own_close(&c->procs);
	own_close(&c->events);
}

uint64_t cgroup_count(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == ' ')
			return strtoull(line + len + 1, NULL, 10);
	}
	return 0;
}

static uint64_t read_kills(const struct cgroup *c)
{
	char text[512];
	ssize_t len = pread(c->events, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return c->kills;
	text[len] = '\0';
	return cgroup_count(text, "oom_kill");
}

void cgroup_hold(struct cgroup *c, int procs)
{
	c->procs = procs;
	c->events = open(EVENTS, O_RDONLY | O_CLOEXEC); /* fails if the sandbox has no
							 * memory controller, that is,
							 * without --memory */
	c->kills = read_kills(c);
}

static DIR *open_folder(int parent, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(parent, name, flags);

	/* The folder belongs to our uid, but a command may have set a mode that denies us
	 * access.  All commands were killed, so no process can replace the folder by a
	 * symbolic link before fchmodat(2). */
	if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
		fd = openat(parent, name, flags);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		own_close(&fd);
	return dir;
}

/* Moves a folder up to `top`.  This changes the folder's "..", so the folder itself must
 * be writable. */
static bool move_up(int folder, const char *name, int top, const char *to)
{
	if (renameat(folder, name, top, to) == 0)
		return true;
	return errno == EACCES && fchmodat(folder, name, 0700, 0) == 0 &&
	       renameat(folder, name, top, to) == 0;
}

/* Unlinks the entries of `folder`.  A subfolder that is not empty is moved up to `top`,
 * where a later pass empties it, so that deep nesting needs no recursion and no
 * additional work. */
static bool flatten(int top, const char *folder, unsigned *number)
{
	DIR *dir = open_folder(top, folder);
	bool has_moved = false;
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		char up[32];
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		if (unlinkat(dirfd(dir), d->d_name, 0) == 0 ||
		    unlinkat(dirfd(dir), d->d_name, AT_REMOVEDIR) == 0)
			continue;
		(void)snprintf(up, sizeof(up), ".hutch-%u", (*number)++);
		has_moved |= move_up(dirfd(dir), d->d_name, top, up);
	}
	if (dir)
		(void)closedir(dir); /* the folder was only read, so an error of
				      * closedir(3) does not matter */
	return has_moved;
}

/* Makes one pass over `top`: empties and removes each folder in it.  Returns true if
 * subfolders were moved up to `top`, so that another pass is needed. */
static bool sweep(int top, unsigned *number)
{
	int again = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	bool has_moved = false;
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		if (unlinkat(top, d->d_name, 0) == 0)
			continue;
		has_moved |= flatten(top, d->d_name, number);
		(void)unlinkat(top, d->d_name, AT_REMOVEDIR); /* an entry that cannot be
							       * removed stays */
	}
	if (dir)
		(void)closedir(dir); /* the folder was only read, so an error of
				      * closedir(3) does not matter */
	return has_moved;
}

static void empty_shared_folder(void)
{
	AUTO_CLOSE int top = open(SHARED, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned number = 0;

	while (top >= 0 && sweep(top, &number))
		;
}

/* Removes the shared memory segments of our uid.  SHM_INFO returns the highest index in
 * use, and SHM_STAT_ANY returns the id of the segment at an index. */
static void remove_shared_memory(void)
{
	struct shmid_ds ds;
	struct shm_info info;
	int last = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info);

	for (int i = 0; i <= last; i++) {
		int id = shmctl(i, KERNEL_SHM_STAT_ANY, &ds);
		if (id >= 0)
			(void)shmctl(id, IPC_RMID, NULL); /* fails for a segment of
							   * another user, which stays */
	}
}

union semun {
	int val;
	struct semid_ds *buf;
	struct seminfo *info;
};

static void remove_semaphores(void)
{
	struct seminfo info;
	struct semid_ds ds;
	int last = semctl(0, 0, SEM_INFO, (union semun){ .info = &info });

	for (int i = 0; i <= last; i++) {
		int id = semctl(i, 0, KERNEL_SEM_STAT_ANY, (union semun){ .buf = &ds });
		if (id >= 0)
			(void)semctl(id, 0, IPC_RMID); /* fails for a semaphore set of
						        * another user, which stays */
	}
}

static void remove_queues(void)
{
	struct msqid_ds ds;
	struct msginfo info;
	int last = msgctl(0, MSG_INFO, (struct msqid_ds *)(void *)&info);

	for (int i = 0; i <= last; i++) {
		int id = msgctl(i, KERNEL_MSG_STAT_ANY, &ds);
		if (id >= 0)
			(void)msgctl(id, IPC_RMID, NULL); /* fails for a message queue of
							   * another user, which stays */
	}
}

void cgroup_recover(struct cgroup *c)
{
	uint64_t kills = c->events < 0 ? 0 : read_kills(c);

	if (kills <= c->kills)
		return;
	c->kills = kills;
	empty_shared_folder();
	remove_shared_memory();
	remove_semaphores();
	remove_queues();
}

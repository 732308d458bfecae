#include "sandbox/cgroup/cgroup_remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "sandbox/kernel/cgroup_tree.h"

/* The time in ms of a wait for killed processes to leave a cgroup. */
#define GONE_MS 5000

int cgroup_open_below(int folder, const char *name)
{
	return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Waits until no process is left in the cgroup, at most GONE_MS for each change.
 * The kernel signals POLLPRI on cgroup.events when the last process is gone. */
static void wait_until_empty(int folder)
{
	AUTO_CLOSE int events = openat(folder, "cgroup.events", O_RDONLY | O_CLOEXEC);
	struct pollfd change = { .fd = events, .events = POLLPRI };
	char text[128];
	ssize_t len;

	while (events >= 0 && (len = pread(events, text, sizeof(text) - 1, 0)) > 0) {
		text[len] = '\0';
		if (!strstr(text, "populated 1") || poll(&change, 1, GONE_MS) == 0)
			return;
	}
}

void cgroup_remove_leaf(int folder, const char *name)
{
	if (unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
		return;
	AUTO_CLOSE int leaf = cgroup_open_below(folder, name);
	if (leaf >= 0)
		wait_until_empty(leaf);
	(void)unlinkat(folder, name, AT_REMOVEDIR); /* if this fails, the next launch
						     * removes the folder */
}

/* Removes a leaf whose processes were killed, and the cgroups that a command may have made
 * below it, where it could write to the leaf. */
static void remove_killed(int folder, const char *name)
{
	struct err e = { 0 };

	if (cgroup_tree_remove(folder, name, &e) == 0 || e.kind != ERR_BUSY)
		return;
	wait_until_empty(folder);
	(void)cgroup_tree_remove(folder, name, NULL); /* if this fails, the next launch
						       * removes the folder */
}

void cgroup_remove_folder(int parent, const char *name)
{
	AUTO_CLOSE int folder = cgroup_open_below(parent, name);

	if (folder < 0)
		return;
	/* A failure is ignored: if the making of a cgroup failed halfway, its folder
	 * may have no cgroup.kill. */
	(void)io_write_proc(folder, "cgroup.kill", "1", NULL);
	remove_killed(folder, CGROUP_CMDS);
	remove_killed(folder, CGROUP_EXEC);
	(void)unlinkat(parent, name, AT_REMOVEDIR); /* if this fails, the next launch
						     * removes the folder */
}

void cgroup_sweep(int parent)
{
	int again = cgroup_open_below(parent, ".");
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, CGROUP_PREFIX, strlen(CGROUP_PREFIX)))
			continue;
		AUTO_CLOSE int old = cgroup_open_below(parent, entry->d_name);
		if (old >= 0 && flock(old, LOCK_EX | LOCK_NB) == 0)
			cgroup_remove_folder(parent, entry->d_name);
	}
	if (dir)
		(void)closedir(dir); /* an error is harmless: the folder was only read */
}

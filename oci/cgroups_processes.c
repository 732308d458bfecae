#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/cgroups.h"
#include "oci/cgroups_v1.h"
#include "oci/systemd.h"
#include "sandbox/kernel/cgroup_tree.h"

#define PATIENCE_MS 10000

/* Reads the first bytes of a small file of the cgroup; "" if there is none. */
static void read_word(const char *path, const char *name, char ret[16])
{
	AUTO_FREE char *file = text_format("%s/%s", path, name);
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? 0 : io_read_full(fd, ret, 15);

	ret[n > 0 ? n : 0] = '\0';
}

bool cgroups_is_frozen(const char *path)
{
	char text[16] = "", v1[16] = "";

	if (path)
		read_word(path, "cgroup.freeze", text);
	if (path && !*text)
		read_word(path, "freezer.state", v1);
	return *text == '1' || *v1 == 'F';
}

/* Waits until cgroup.events has the line, for some seconds: a freezer of cgroup v1 holds
 * back even SIGKILL. */
static int await_event(const char *path, const char *line, struct err *e)
{
	const int64_t due = clock_ms() + PATIENCE_MS;

	AUTO_FREE char *file = text_format("%s/cgroup.events", path);
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);

	for (;;) {
		char text[256];
		const ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
		if (n < 0)
			return err_sys(e, "read %s", file);
		text[n] = '\0';
		if (strstr(text, line))
			return 0;
		const int rc = await_ready(fd, POLLPRI, due);
		if (rc < 0)
			return err_sys(e, "wait for %s", file);
		if (rc == 0)
			return err_set(e, ERR_BUSY, "%s has not become '%s' in time",
				       file, line);
	}
}

int cgroups_freeze(const char *path, bool is_frozen, struct err *e)
{
	if (!path)
		return err_set(e, ERR_UNSUPPORTED,
			       "the container has no cgroup, which pause "
			       "and resume need");
	AUTO_FREE char *file = text_format("%s/cgroup.freeze", path);
	if (access(file, F_OK))
		return cgroups_v1_freeze(path, is_frozen, e);
	if (io_write_proc(AT_FDCWD, file, is_frozen ? "1" : "0", e))
		return -1;
	return await_event(path, is_frozen ? "frozen 1" : "frozen 0", e);
}

static int open_folder(const char *path, struct err *e)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open %s", path) : fd;
}

int cgroups_pids(const char *path, pid_t **ret, size_t *ret_count, struct err *e)
{
	AUTO_CLOSE int fd = open_folder(path, e);

	if (fd < 0)
		return -1;
	return cgroup_tree_pids(fd, ret, ret_count, e) ? err_in(e, "%s", path) : 0;
}

static int signal_each(const char *path, int sig, struct err *e)
{
	AUTO_FREE pid_t *pids = NULL;
	size_t count;

	if (cgroups_pids(path, &pids, &count, e))
		return -1;
	for (size_t i = 0; i < count; i++)
		if (pids[i] > 1 && kill(pids[i], sig) && errno != ESRCH)
			return err_sys(e, "signal process %d", (int)pids[i]);
	return 0;
}

/* Kills the processes of a cgroup of v1, which has no cgroup.kill.  A frozen one takes
 * SIGKILL, but no process of it forks before it is thawed. */
static int kill_v1(const char *path, struct err *e)
{
	/* A process that cannot be frozen, such as one in an uninterruptible sleep, cannot
	 * fork either. */
	(void)cgroups_v1_freeze(path, true, NULL);
	const int rc = signal_each(path, SIGKILL, e);
	return cgroups_v1_thaw(path, rc ? NULL : e) || rc ? -1 : 0;
}

static bool is_v1(const char *path)
{
	AUTO_FREE char *file = text_format("%s/freezer.state", path);

	return access(file, F_OK) == 0;
}

int cgroups_signal(const char *path, int sig, struct err *e)
{
	AUTO_FREE char *file = text_format("%s/cgroup.kill", path);

	/* since 5.14; no process escapes it by a fork */
	if (sig == SIGKILL && io_write_proc(AT_FDCWD, file, "1", NULL) == 0)
		return 0;
	return sig == SIGKILL && is_v1(path) ? kill_v1(path, e)
					     : signal_each(path, sig, e);
}

static int await_end(pid_t pid, int64_t due, struct err *e)
{
	AUTO_CLOSE int fd = sys_pidfd_open(pid, 0);

	return fd < 0 || await_ready(fd, POLLIN, due) > 0
		       ? 0
		       : err_set(e, ERR_BUSY, "process %d has not ended in time",
				 (int)pid);
}

/* Waits for the ends of the killed processes, until none is left: v1 has no event for it,
 * and a process may have forked before it was killed. */
static int await_ends(const char *path, struct err *e)
{
	const int64_t due = clock_ms() + PATIENCE_MS;

	for (;;) {
		AUTO_FREE pid_t *pids = NULL;
		size_t count;
		if (kill_v1(path, e) || cgroups_pids(path, &pids, &count, e))
			return -1;
		if (!count)
			return 0;
		if (clock_ms() >= due)
			return err_set(e, ERR_BUSY, "%s: processes come again", path);
		for (size_t i = 0; i < count; i++)
			if (await_end(pids[i], due, e))
				return -1;
	}
}

int cgroups_remove(const struct cgroups_place *p, struct err *e)
{
	const char *path = p->folder;
	/* A cgroup without processes goes at once, by rmdir(2). */
	const bool is_there = path && rmdir(path) && errno != ENOENT;

	if (is_there &&
	    (cgroups_signal(path, SIGKILL, e) ||
	     (is_v1(path) ? await_ends(path, e) : await_event(path, "populated 0", e))))
		return -1;
	if (p->v1 && cgroups_v1_remove(p->v1, e))
		return -1;
	if (is_there && cgroup_tree_remove(AT_FDCWD, path, e))
		return err_in(e, "%s", path);
	return p->scope ? systemd_stop(p->scope, e) : 0;
}

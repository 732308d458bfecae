#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/own.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/monitor/broker_parts.h"

#define STATUS_MAX 8192

/* Reads a file of the caller's /proc/PID, as text. */
static int read_file(const struct job *j, const char *name, char *to, size_t size)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "%u/%s", j->target.call->pid, name); /* fits */
	AUTO_CLOSE int fd = openat(j->work->proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, to, size - 1);
	if (len <= 0)
		return len < 0 ? -errno : -ESRCH;
	to[len] = '\0';
	return 0;
}

/* Returns the text behind `key` in /proc/PID/status.  The first line of that
 * file has the name that the caller gave itself, in which the kernel escapes a
 * newline (proc(5)), so a caller cannot forge a line. */
static const char *value_of(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? at + strlen(key) : NULL;
}

/* Returns the last number of a line that has one number for each pid namespace: the
 * number in the innermost one. */
static pid_t last_of(const char *value)
{
	const size_t len = strcspn(value, "\n");
	size_t at = len;

	while (at > 0 && value[at - 1] != '\t')
		at--;
	return (pid_t)strtol(value + at, NULL, 10);
}

int job_begin(struct job *j)
{
	char text[STATUS_MAX];
	int error = read_file(j, "status", text, sizeof(text));

	if (error)
		return error;
	const char *leader = value_of(text, "\nTgid:\t"), *mask = value_of(text, "\nUmask:\t"),
		   *caps = value_of(text, "\nCapEff:\t"),
		   *process = value_of(text, "\nNStgid:\t"),
		   *thread = value_of(text, "\nNSpid:\t");
	if (!leader || !mask || !caps || !process || !thread)
		return -EACCES;
	j->leader = (pid_t)strtol(leader, NULL, 10);
	j->umask = (mode_t)strtoul(mask, NULL, 8);
	j->caps = strtoull(caps, NULL, 16);
	j->process = last_of(process);
	j->thread = last_of(thread);
	return notify_target_waits(&j->target) ? 0 : -ESRCH;
}

/* --- with CAP_SYS_PTRACE over the inside, which nothing else is done with --------------
 */

/* Makes CAP_SYS_PTRACE effective, which a look at the caller needs, until look_end().
 * look_end() does not change errno. */
static int look_begin(const struct job *j)
{
	const uint64_t all = j->work->caps | 1ull << CAP_SYS_PTRACE;

	return caps_raise(all, all) < 0 ? -errno : 0;
}

static void look_end(const struct job *j)
{
	const int saved = errno;

	if (caps_raise(j->work->caps | 1ull << CAP_SYS_PTRACE,
		       j->caps & j->work->caps) < 0) /* layer: caller-capabilities */
		/* caps_raise() cannot fail here: a process may always give up
		 * capabilities (capabilities(7)). */
		abort();
	errno = saved;
}

int job_read(const struct job *j, uint64_t at, void *to, size_t size)
{
	int error = look_begin(j);

	if (error)
		return error;
	if (notify_target_read(&j->target, at, to, size) != (ssize_t)size)
		error = -EFAULT;
	look_end(j);
	return error;
}

int job_read_path(const struct job *j, uint64_t at, char *to)
{
	int error = look_begin(j);

	if (error)
		return error;
	if (notify_target_read_path(&j->target, at, to) < 0)
		error = -errno;
	look_end(j);
	return error;
}

static int open_folder(const struct job *j)
{
	char link[32];

	(void)snprintf(link, sizeof(link), "%u/cwd", j->target.call->pid); /* fits */
	return openat(j->work->proc, link, O_PATH | O_CLOEXEC);
}

static int copy_of_first(const struct job *j, int fd)
{
	AUTO_CLOSE int process = sys_pidfd_open(j->leader, 0);

	return process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
}

/* Copies a descriptor of the calling thread, which may have a descriptor table of its
 * own.  Its /proc/TID/fd cannot be opened if the caller may not be traced (proc(5));
 * then the descriptor of the process's first thread is copied. */
static int copy_folder(const struct job *j, int fd)
{
	char link[48];

	(void)snprintf(link, sizeof(link), "%u/fd/%d", j->target.call->pid, fd); /* fits */
	const int copy = openat(j->work->proc, link, O_PATH | O_CLOEXEC);
	if (copy >= 0 || errno != EACCES)
		return copy < 0 && errno == ENOENT ? (errno = EBADF, -1) : copy;
	return copy_of_first(j, fd);
}

/* Drops CAP_SYS_PTRACE again after a look at the caller, and checks that the caller
 * still waits.  Returns `fd`, or a negative errno. */
static int end_look(const struct job *j, int fd)
{
	AUTO_CLOSE int taken = fd;

	look_end(j);
	if (taken < 0)
		return -errno;
	return notify_target_waits(&j->target) ? fd_take(&taken) : -ESRCH;
}

int job_base(const struct job *j, int fd)
{
	const int error = look_begin(j);

	if (error)
		return error;
	return end_look(j, fd == AT_FDCWD ? open_folder(j) : copy_folder(j, fd));
}

int job_copy(const struct job *j, int fd)
{
	const int error = look_begin(j);

	return error ? error : end_look(j, copy_of_first(j, fd));
}

/* Returns the device number of the caller's controlling terminal: the seventh
 * number of /proc/PID/stat, counted from behind the name in brackets
 * (proc(5)). */
static unsigned terminal_of(const struct job *j)
{
	char text[STATUS_MAX];
	int number;

	if (read_file(j, "stat", text, sizeof(text)) < 0)
		return 0;
	const char *at = strrchr(text, ')');
	return at && sscanf(at + 1, " %*c %*d %*d %*d %d", &number) == 1 ? (unsigned)number : 0;
}

int job_terminal(const struct job *j, int flags)
{
	const unsigned is = terminal_of(j);
	const unsigned minor = (is & 0xff) | (is >> 12 & 0xfff00), major = is >> 8 & 0xfff;
	struct stat st;
	char path[32];

	(void)snprintf(path, sizeof(path), "/dev/pts/%u", minor + (major - 136) * 256); /* fits */
	AUTO_CLOSE int fd = is ? open(path, flags) : -1;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) ||
	    st.st_rdev != makedev(major, minor))
		return -ENXIO;
	return fd_take(&fd);
}

#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

void trial_says(struct trial *t, const char *result, const char *fmt, ...)
{
	va_list args;

	snprintf(t->result, sizeof(t->result), "%s", result);
	va_start(args, fmt);
	vsnprintf(t->detail, sizeof(t->detail), fmt, args);
	va_end(args);
}

void trial_note(struct trial *t, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(t->detail, sizeof(t->detail), fmt, args);
	va_end(args);
}

void trial_error(struct trial *t, const char *kind, int error)
{
	const char *name = strerrorname_np(error);

	snprintf(t->result, sizeof(t->result), "%s:%s", kind,
		 name ? name : "EUNKNOWN");
}

void trial_file(struct trial *t, long ret)
{
	int error = errno;

	if (ret >= 0) {
		snprintf(t->result, sizeof(t->result), "allowed");
		return;
	}
	switch (error) {
	case ENOENT:
	case ENOTDIR:
	case ESRCH:
	case ENXIO:
	case ENODEV:
		snprintf(t->result, sizeof(t->result), "absent");
		return;
	case EPERM:
	case EACCES:
	case EROFS:
	case ENOSYS:
	case ETXTBSY:
	case EXDEV:
	case ELOOP:
	case EBUSY:
		trial_error(t, "refused", error);
		return;
	default:
		trial_error(t, "reached", error);
	}
}

void trial_call(struct trial *t, long ret)
{
	int error = errno;

	if (ret >= 0)
		snprintf(t->result, sizeof(t->result), "allowed");
	else if (error == EPERM || error == EACCES || error == ENOSYS)
		trial_error(t, "refused", error);
	else
		trial_error(t, "reached", error);
}

void trial_clone(struct trial *t, long pid)
{
	if (!pid)
		_exit(0);
	trial_call(t, pid);
	if (pid > 0)
		(void)child_wait((pid_t)pid); /* it ended with 0 */
}

void trial_count(struct trial *t, long got, long wanted, int error)
{
	if (got >= wanted)
		snprintf(t->result, sizeof(t->result), "allowed");
	else
		trial_error(t, "refused", error);
	trial_note(t, "got %ld of %ld", got, wanted);
}

struct path path_in(const char *dir, const char *name)
{
	struct path path;

	snprintf(path.s, sizeof(path.s), "%s/%s", dir, name);
	return path;
}

struct path path_of_pid(int pid, const char *name)
{
	struct path path;

	snprintf(path.s, sizeof(path.s), "/proc/%d/%s", pid, name);
	return path;
}

ssize_t file_read(const char *path, char *buf, size_t size)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -1;

	ssize_t len = read(fd, buf, size - 1);
	if (len >= 0)
		buf[len] = '\0';
	return len;
}

int file_make(const char *path, const char *text, mode_t mode)
{
	(void)unlink(path); /* usually there is no such file */
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				 mode);
	if (fd < 0)
		return -1;
	if (write(fd, text, strlen(text)) < 0)
		return -1;
	return fchmod(fd, mode);
}

long long status_value(const char *key, int base)
{
	char text[8192];

	if (file_read("/proc/self/status", text, sizeof(text)) < 0)
		return -1;
	const char *at = strstr(text, key);
	return at ? strtoll(at + strlen(key), NULL, base) : -1;
}

int child_wait(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return WIFSIGNALED(status) ? -1 - WTERMSIG(status) : WEXITSTATUS(status);
}

/* ask -- tries the operation that hutch why was asked about, so that a test can
 * compare the result with the answer.
 *
 *	ask < QUESTIONS
 *
 * Each line is a question as in the arguments of `hutch why`, except that a
 * system call has its number before its name.  Prints for each "yes", or "no"
 * and the name of the errno.  The operations leave nothing behind and start no
 * program. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/patience.h"

/* Closes `fd`.  Returns 0, or the errno of the open(2) that failed. */
static int close_it(int fd)
{
	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

static int read_it(const char *path)
{
	DIR *dir = opendir(path);

	if (dir) {
		errno = 0;
		(void)readdir(dir);
		int error = errno;
		(void)closedir(dir);
		return error;
	}
	if (errno != ENOTDIR)
		return errno;
	return close_it(open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
}

static int make_in(const char *folder)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/hutch-ask-XXXXXX", folder);
	int fd = mkstemp(path);
	if (fd >= 0)
		(void)unlink(path);
	return close_it(fd);
}

static int write_it(const char *path)
{
	struct stat st;
	bool is_there = stat(path, &st) == 0;

	if (is_there && S_ISDIR(st.st_mode))
		return make_in(path);
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | (is_there ? 0 : O_CREAT),
		      0600);
	if (fd < 0 && errno == ENXIO && is_there && S_ISFIFO(st.st_mode))
		return 0; /* ENXIO: writing is permitted, but the FIFO has no reader */
	char name[PATH_MAX];
	if (fd >= 0 && !is_there && realpath(path, name))
		(void)unlink(name);
	return close_it(fd);
}

/* Starts the program under ptrace(2), so that it stops before its first instruction. */
static int exec_it(const char *path)
{
	int told[2], error = 0, status;

	if (pipe2(told, O_CLOEXEC) < 0)
		abort();
	pid_t pid = fork();
	if (pid == 0) {
		char *const argv[] = { (char *)path, NULL };
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)execv(path, argv);
		error = errno;
		(void)!write(told[1], &error, sizeof(error));
		_exit(1);
	}
	(void)close(told[1]);
	(void)waitpid(pid, &status, 0);
	if (WIFSTOPPED(status)) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
	}
	(void)!read(told[0], &error, sizeof(error));
	(void)close(told[0]);
	return error;
}

/* Executes a program like execvp(3), but does not pass a file that is no program to a
 * shell. */
static int exec_name(const char *name)
{
	char path[PATH_MAX];
	int error = ENOENT;

	if (strchr(name, '/'))
		return exec_it(name);
	for (const char *at = getenv("PATH"); at && error;
	     at = at[strcspn(at, ":")] ? at + strcspn(at, ":") + 1 : NULL) {
		(void)snprintf(path, sizeof(path), "%.*s/%s", (int)strcspn(at, ":"), at,
			       name);
		int next = exec_it(path);
		if (next != ENOENT && next != ENOTDIR)
			error = next;
		if (next && next != ENOENT && next != ENOTDIR && next != EACCES)
			return next;
	}
	return error;
}

static int connect_unix(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct stat st;
	socklen_t len =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));

	/* connect(2) fails with ECONNREFUSED for a file that is no socket as well as
	 * for a socket without a listener, so the file's type is checked first. */
	if (stat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return ENOTSOCK;
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (s < 0)
		return errno;
	memcpy(to.sun_path, path, strlen(path));
	if (*path == '@')
		to.sun_path[0] = '\0';
	else
		len++;
	int error = connect(s, (struct sockaddr *)&to, len) < 0 ? errno : 0;
	(void)close(s);
	/* A socket without a listener counts as reached: the kernel has permitted the
	 * access. */
	return error == ECONNREFUSED && *path != '@' ? 0 : error;
}

/* Connects to a numeric address; names are not resolved. */
static int connect_it(const char *where)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	char host[64];

	if (!strncmp(where, "unix:", 5))
		return connect_unix(where + 5);
	const char *colon = strrchr(where, ':');
	(void)snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
	to.sin_port = htons((uint16_t)atoi(colon + 1));
	if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1",
		      &to.sin_addr) != 1)
		return EINVAL;
	int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int error = s < 0 || connect(s, (struct sockaddr *)&to, sizeof(to)) < 0 ? errno :
										  0;
	if (s >= 0)
		(void)close(s);
	return error == ECONNREFUSED || error == EINPROGRESS ? 0 : error;
}

/* Makes the system call in a separate process, since the call may harm the process. */
static int call_it(char *words)
{
	unsigned long n[7] = { 0 };
	char *word = strtok(words, " ");
	int told[2], error = 0;

	n[0] = strtoul(word, NULL, 0);
	(void)strtok(NULL, " "); /* its name */
	for (int i = 1; i < 7 && (word = strtok(NULL, " ")); i++)
		n[i] = strtoul(word, NULL, 0);
	if (pipe2(told, O_CLOEXEC) < 0)
		abort();
	pid_t pid = fork();
	if (pid == 0) {
		(void)alarm(PATIENCE_S);
		errno = 0;
		long rc = syscall((long)n[0], n[1], n[2], n[3], n[4], n[5], n[6]);
		error = rc < 0 ? errno : 0;
		(void)!write(told[1], &error, sizeof(error));
		_exit(0);
	}
	(void)close(told[1]);
	if (read(told[0], &error, sizeof(error)) != sizeof(error))
		error = ECHILD; /* the child sent no result: the call has ended it */
	(void)close(told[0]);
	(void)waitpid(pid, NULL, 0);
	return error;
}

static int answer(char *line)
{
	char *word = strchr(line, ' ') + 1;

	if (!strncmp(line, "read ", 5))
		return read_it(word);
	if (!strncmp(line, "write ", 6))
		return write_it(word);
	if (!strncmp(line, "exec ", 5))
		return exec_name(word);
	if (!strncmp(line, "connect ", 8))
		return connect_it(word);
	if (!strncmp(line, "syscall ", 8))
		return call_it(word);
	return EINVAL;
}

int main(void)
{
	char line[PATH_MAX + 64];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		int error = answer(line);
		(void)printf("%s%s\n", error ? "no " : "yes",
			     error ? strerrorname_np(error) : "");
		(void)fflush(stdout);
	}
	return 0;
}

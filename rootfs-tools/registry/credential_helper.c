#include "rootfs-tools/registry/credential_helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/worker.h"

#define NAME_CHARACTERS \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/* A helper's words for "no such credentials"; the protocol fixes them
 * (docker-credential-helpers, credentials/error.go). */
#define NONE_KNOWN "credentials not found in native keychain"

extern char **environ;

struct talk {
	pid_t pid;
	int from;   /* owned; the helper's stdout */
	char *text; /* owned; the helper's output, up to `max` + 1 bytes */
	size_t len, max;
	int64_t due_ms;
};

static int hint(const char *name, struct err *e)
{
	return err_remedy(e, "to see its error: echo HOST | docker-credential-%s get",
			  name);
}

/* Returns the reading end of a pipe that holds the whole text already, so that writing
 * never waits for the helper. */
static int filled_pipe(const char *text, struct err *e)
{
	int ends[2];
	const size_t len = strlen(text);

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int in = ends[0];
	AUTO_CLOSE int out = ends[1];
	if (write(out, text, len) != (ssize_t)len)
		return err_sys(e, "write to a pipe");
	return fd_take(&in);
}

static int spawn(const char *program, int in, int out, pid_t *ret)
{
	const char *const words[] = { program, "get", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	(void)posix_spawnattr_init(&attr);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setsigdefault(&attr, &all);
	(void)posix_spawnattr_setflags(&attr,
				       POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	/* posix_spawn(3) does not change the words, though its type has no const. */
	int rc = posix_spawnp(ret, program, &actions, &attr, (char *const *)words,
			      environ);
	(void)posix_spawnattr_destroy(&attr);
	(void)posix_spawn_file_actions_destroy(&actions);
	return rc;
}

static int start(struct talk *t, const char *name, const char *text, struct err *e)
{
	AUTO_FREE char *program = text_format("docker-credential-%s", name);
	AUTO_CLOSE int in = filled_pipe(text, e);
	int ends[2];

	if (in < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int out = ends[1];
	t->from = ends[0];
	int rc = spawn(program, in, out, &t->pid);
	if (!rc)
		return 0;
	t->pid = 0;
	errno = rc;
	(void)err_sys(e, "start %s, which has the credentials", program);
	return err_remedy(e, "put it on PATH, or take its name out of that file");
}

/* Reads from the helper.  Returns 1 if more bytes came, 0 at the end of the helper's
 * stdout. */
static int hear(struct talk *t, const char *name, struct err *e)
{
	if (await_ready(t->from, POLLIN, t->due_ms) <= 0) {
		(void)err_set(e, ERR_LIMIT, "docker-credential-%s gave no answer in %d s",
			      name, CREDENTIAL_HELPER_SECONDS);
		return hint(name, e);
	}
	ssize_t n = read(t->from, t->text + t->len, t->max + 1 - t->len);
	if (n < 0 && errno != EINTR)
		return err_sys(e, "read from docker-credential-%s", name);
	t->len += n > 0 ? (size_t)n : 0;
	if (t->len > t->max)
		return err_set(e, ERR_LIMIT,
			       "docker-credential-%s printed more than %zu bytes", name,
			       t->max);
	return n != 0;
}

/* Waits for the helper and returns its status.  A helper that has closed its
 * stdout but does not end in time is killed. */
static int reap(struct talk *t)
{
	AUTO_CLOSE int pidfd = sys_pidfd_open(t->pid, 0);

	if (await_ready(pidfd, POLLIN, t->due_ms) <= 0)
		(void)kill(t->pid, SIGKILL); /* the helper is our child and not yet
					      * waited for, so no other process has its
					      * pid */
	const int status = worker_reap(t->pid);
	t->pid = 0;
	return status;
}

static int judge(const struct talk *t, const char *name, int status, struct err *e)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 1;
	if (!strncmp(t->text, NONE_KNOWN, strlen(NONE_KNOWN)))
		return 0;
	/* The helper's output is not repeated: it may hold a secret. */
	(void)err_set(e, ERR_REFUSED, "docker-credential-%s failed, with %s %d", name,
		      WIFEXITED(status) ? "code" : "signal",
		      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return hint(name, e);
}

static int converse(struct talk *t, const char *name, const char *text, struct err *e)
{
	int more = start(t, name, text, e);

	if (more < 0)
		return -1;
	do
		more = hear(t, name, e);
	while (more > 0);
	if (more < 0)
		t->due_ms = 1; /* the time is over: reap() kills the helper */
	int status = reap(t);
	return more < 0 ? -1 : judge(t, name, status, e);
}

int credential_helper_get(const char *name, const char *text, size_t max, char **ret,
	       size_t *ret_len, struct err *e)
{
	struct talk t = { .from = -1, .max = max };

	if (!*name || strlen(name) > 64 || name[strspn(name, NAME_CHARACTERS)])
		return err_set(e, ERR_USAGE, "'%.64s' is no name of a credential helper",
			       name);
	t.text = mem_zeroed(1, max + 2);
	t.due_ms = clock_ms() + CREDENTIAL_HELPER_SECONDS * 1000;
	int got = converse(&t, name, text, e);
	own_close(&t.from);
	if (got == 1) {
		*ret = t.text;
		*ret_len = t.len;
		return 1;
	}
	explicit_bzero(t.text, max + 2);
	free(t.text);
	return got;
}

#include "oci/hooks.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"
#include "base/worker.h"
#include "oci/fields.h"
#include "policy/json/json.h"

static const char *const names[HOOK_POINT_COUNT] = {
	[HOOK_PRESTART] = "prestart",
	[HOOK_CREATE_RUNTIME] = "createRuntime",
	[HOOK_CREATE_CONTAINER] = "createContainer",
	[HOOK_START_CONTAINER] = "startContainer",
	[HOOK_POSTSTART] = "poststart",
	[HOOK_POSTSTOP] = "poststop",
};

const char *hooks_name(enum hook_point point)
{
	return names[point];
}

static int read_hook(const struct json_at *at, struct hook *h, struct err *e)
{
	struct json_at timeout, env;

	if (json_expect(at, JSON_OBJECT, e) || fields_text(at, "path", &h->path, e) ||
	    fields_list(at, "args", &h->args, e) || fields_list(at, "env", &h->env, e) ||
	    fields_u32(at, "timeout", &h->timeout, e))
		return -1;
	h->has_env = json_member(at, "env", &env);
	if (!h->path || h->path[0] != '/')
		return err_set(e, ERR_USAGE, "%s.path: an absolute path was expected",
			       at->place);
	if (json_member(at, "timeout", &timeout) && h->timeout == 0)
		return err_set(e, ERR_USAGE, "%s: a time above 0 was expected",
			       timeout.place);
	return 0;
}

int hooks_read(const struct json_at *config, struct hooks *ret, struct err *e)
{
	struct json_at object, array;
	const int found = fields_object(config, "hooks", &object, e);

	if (found <= 0)
		return found;
	for (int i = 0; i < HOOK_POINT_COUNT; i++) {
		struct json_at item = { 0 };
		const int64_t count = fields_array(&object, names[i], &array,
						   &ret->points[i], sizeof(struct hook),
						   e);
		if (count < 0)
			return -1;
		while ((int64_t)ret->counts[i] < count && json_step(&array, &item))
			if (read_hook(&item, &ret->points[i][ret->counts[i]++], e))
				return -1;
	}
	return 0;
}

void hooks_done(struct hooks *h)
{
	for (int i = 0; i < HOOK_POINT_COUNT; i++) {
		for (size_t k = 0; k < h->counts[i]; k++) {
			list_done(&h->points[i][k].args);
			list_done(&h->points[i][k].env);
		}
		free(h->points[i]);
	}
	*h = (struct hooks){ 0 };
}

/* A hook's stdin is a file in memory, not a pipe: a hook that reads nothing then blocks
 * and ends nothing. */
static int open_state(const char *state, struct err *e)
{
	AUTO_CLOSE int fd = memfd_create("state", MFD_CLOEXEC);

	if (fd < 0 || io_write_all(fd, state, strlen(state)) ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(e, "keep the state for a hook");
	return fd_take(&fd);
}

/* A hook that runs inside gets nothing of this process's environment, which is the host's. */
_Noreturn static void become(const struct hook *h, bool is_inside, int state)
{
	char *const no_args[] = { (char *)h->path, NULL };
	char *const no_env[] = { NULL };

	if (dup2(state, 0) == 0)
		(void)execve(h->path, h->args.items ? h->args.items : no_args,
			     !h->has_env && !is_inside ? environ
			     : h->env.items	       ? h->env.items
						       : no_env);
	_exit(127); /* execve(2) returns only if it failed */
}

/* Waits for the hook, at most for its time. */
static int await(const struct hook *h, pid_t pid, struct err *e)
{
	AUTO_CLOSE int fd = sys_pidfd_open(pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const int most = h->timeout > 2000000 ? -1 : (int)h->timeout * 1000;
	int n;

	do
		n = poll(&p, 1, h->timeout ? most : -1);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		(void)kill(pid, SIGKILL); /* the child was not waited for, so the pid is
					   * its own */
	const int status = worker_reap(pid);
	if (n == 0)
		return err_set(e, ERR_LIMIT, "%s: not done after %u s", h->path,
			       h->timeout);
	if (WIFSIGNALED(status))
		return err_set(e, ERR_SYSTEM, "%s: ended by signal %d", h->path,
			       WTERMSIG(status));
	return WEXITSTATUS(status) == 0 ? 0
					: err_set(e, ERR_SYSTEM, "%s: exit status %d",
						  h->path, WEXITSTATUS(status));
}

static int run_hook(const struct hook *h, bool is_inside, const char *state,
		    struct err *e)
{
	AUTO_CLOSE int fd = open_state(state, e);

	if (fd < 0)
		return -1;
	if (access(h->path, X_OK))
		return err_sys(e, "%s", h->path);
	const pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork");
	if (pid == 0)
		become(h, is_inside, fd);
	return await(h, pid, e);
}

int hooks_run(const struct hooks *h, enum hook_point point, const char *state,
	      struct err *e)
{
	const bool goes_on = point == HOOK_POSTSTOP ||
			     (point == HOOK_POSTSTART && h->may_fail_late);
	int rc = 0;

	for (size_t i = 0; i < h->counts[point]; i++) {
		if (run_hook(&h->points[point][i], point == HOOK_START_CONTAINER, state,
			     e) == 0)
			continue;
		rc = err_in(e, "%s hook", names[point]);
		if (!goes_on)
			break;
	}
	return rc;
}

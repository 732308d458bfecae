#include "executor/fileops/ripgrep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/kernel.h"
#include "base/own.h"
#include "base/worker.h"
#include "executor/process/spawn.h"
#include "executor/search/grep_tree.h"
#include "protocol/message.h"

bool ripgrep_is_there(const struct exec *as)
{
	char path[PATH_MAX];

	return spawn_find(as->env, "rg", path);
}

static bool is_plain(char c)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._-+*";

	return c && strchr(plain, c);
}

/* Returns the end, the '}', of braces that ripgrep and glob.h understand alike: with two
 * or more choices, none of them empty. Without a comma they are ordinary text in glob.h,
 * and ripgrep ignores empty choices. NULL: these are other braces. */
static const char *choice_end(const char *open)
{
	bool has_comma = false;

	for (const char *at = open + 1;; at++) {
		if (is_plain(*at))
			continue;
		if ((*at != ',' && *at != '}') || at[-1] == '{' || at[-1] == ',')
			return NULL;
		if (*at == '}')
			return has_comma ? at : NULL;
		has_comma = true;
	}
}

/* Returns false for a glob with which ripgrep may find fewer files than glob.h. `?` is an
 * example: in glob.h it matches a character, in ripgrep a byte. */
bool ripgrep_knows_glob(const char *include)
{
	if (strstr(include, "**"))
		return false;
	for (; *include; include++) {
		if (*include == '{' && !(include = choice_end(include)))
			return false;
		if (!is_plain(*include) && *include != ',' && *include != '}')
			return false;
	}
	return true;
}

/* --- the process ------------------------------------------------------------ */

/* The most arguments for ripgrep. They make the search independent of the user's
 * configuration: hidden and ignored files are searched, ".git" is not, and no encoding
 * is decoded. The last -g takes precedence. */
#define ARGS_MAX 20

static void fill_args(const struct ripgrep *r, char *path, char *args[ARGS_MAX])
{
	static const char *const fixed[] = {
		"--no-config",	 "--no-messages",   "--no-ignore",	    "--hidden",
		"--color=never", "--encoding=none", "--files-with-matches", "--null",
	};
	size_t n = 0;

	args[n++] = path;
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		args[n++] = (char *)(uintptr_t)fixed[i];
	if (r->include) {
		args[n++] = (char *)(uintptr_t)"-g";
		args[n++] = (char *)(uintptr_t)r->include;
	}
	args[n++] = (char *)(uintptr_t)"-g";
	args[n++] = (char *)(uintptr_t)"!.git";
	args[n++] = (char *)(uintptr_t)"-e";
	args[n++] = (char *)(uintptr_t)r->pattern;
	args[n++] = (char *)(uintptr_t)"--";
	args[n++] = (char *)(uintptr_t)"./";
	args[n] = NULL;
}

struct ends {
	int out, said; /* the pipes for rg's output and its error messages */
	int pid;       /* a pidfd, readable when rg has ended; -1: there is none */
};

/* Called in the child process: executes rg. rg is killed when its parent ends; if the
 * parent has ended before the prctl(2), getppid(2) shows that. */
static _Noreturn void become(const struct ripgrep *r, int root, char *path,
			     pid_t parent, struct ends e)
{
	char *args[ARGS_MAX];
	struct exec x = *r->as;
	sigset_t none;

	/* the arguments are valid, so this cannot fail */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)sigemptyset(&none);
	/* the arguments are valid, so this cannot fail */
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (getppid() != parent || fchdir(root) < 0 || dup2(e.out, 1) < 0 ||
	    dup2(e.said, 2) < 0)
		_exit(127);
	/* stdin becomes the write end of a pipe, where reads fail: rg needs no input */
	(void)dup2(e.said, 0);
	(void)sys_close_range(3, ~0u, 0);
	fill_args(r, path, args);
	x.argv = args;
	spawn_execute(&x);
}

static pid_t start(const struct ripgrep *r, int root, struct ends *ret)
{
	char path[PATH_MAX];
	int out[2], said[2];

	if (!spawn_find(r->as->env, "rg", path) || pipe2(out, O_CLOEXEC) < 0)
		return -1;
	AUTO_CLOSE int from = out[0], into = out[1];
	if (pipe2(said, O_CLOEXEC) < 0)
		return -1;
	AUTO_CLOSE int from_said = said[0], into_said = said[1];
	pid_t self = getpid(), pid = fork();
	if (pid == 0)
		become(r, root, path, self, (struct ends){ into, into_said, -1 });
	if (pid > 0)
		*ret = (struct ends){ fd_take(&from), fd_take(&from_said),
				      sys_pidfd_open(pid, 0) };
	return pid;
}

/* --- output ----------------------------------------------------------------- */

struct output {
	struct grep_paths *found; /* borrowed; the paths that rg has printed */
	struct buffer bytes;	  /* the last part of rg's output: the beginning of a
				   * path whose end has not come yet */
	bool is_wrong, is_late;
};

/* Takes complete paths from rg's output, each "./PATH"; ignores anything else. */
static void take_paths(struct output *h)
{
	const uint8_t *at = buffer_data(&h->bytes), *end = at + buffer_len(&h->bytes),
		      *zero;
	const uint8_t *from = at;

	for (; at < end && (zero = memchr(at, 0, (size_t)(end - at))); at = zero + 1) {
		size_t len = (size_t)(zero - at);
		if (len > 2 && at[0] == '.' && at[1] == '/')
			(void)grep_paths_add(h->found, (const char *)at + 2,
					     len - 2); /* is_cut */
	}
	buffer_consume(&h->bytes, (size_t)(at - from));
}

/* Reads rg's output once. False: reading failed, or there is no room for more paths. */
static bool hear(struct output *h, int *out)
{
	const size_t most = 64u << 10;
	uint8_t *room = buffer_reserve(&h->bytes, most);
	ssize_t n = room ? read(*out, room, most) : -1;

	if (n < 0 && room && errno == EINTR)
		return true;
	if (n < 0)
		return !(h->is_wrong = true);
	if (n == 0) {
		own_close(out);
		return true;
	}
	buffer_added(&h->bytes, (size_t)n);
	take_paths(h);
	return !h->found->is_cut;
}

/* Waits for the next event of rg. False: rg has ended and its output was read, or the
 * search must end. Any error message counts as a failure: with --no-messages rg prints
 * only fatal errors. */
static bool listen_once(struct output *h, struct ends *e, int late)
{
	struct pollfd fds[] = { { .fd = e->out, .events = POLLIN },
				{ .fd = e->said, .events = POLLIN },
				{ .fd = late, .events = POLLIN },
				{ .fd = e->out < 0 ? e->pid : -1, .events = POLLIN } };

	if (e->out < 0 && e->pid < 0)
		return false;
	if (poll(fds, ARRAY_LEN(fds), -1) < 0)
		return errno == EINTR || !(h->is_wrong = true);
	if (fds[1].revents & POLLIN)
		return !(h->is_wrong = true);
	if (fds[2].revents & POLLIN)
		return !(h->is_late = true);
	if (fds[3].revents)
		return false;
	if (fds[1].revents) /* stderr was closed, which poll(2) would report in each turn
			     * of the loop */
		own_close(&e->said);
	return !fds[0].revents || hear(h, &e->out);
}

/* Turns rg's exit code into a result: 0 is a match, 1 none, 2 that some files could not
 * be read. */
static int judge(struct output *h, int status)
{
	if (h->is_wrong)
		return -1;
	h->found->is_cut = h->found->is_cut || h->is_late;
	if (h->found->is_cut)
		return 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 2)
		return -1;
	h->found->closed += WEXITSTATUS(status) == 2;
	return 0;
}

static bool has_said_more(int said)
{
	struct pollfd fd = { .fd = said, .events = POLLIN };

	return said >= 0 && poll(&fd, 1, 0) == 1 && (fd.revents & POLLIN);
}

int ripgrep_tree(int root, const struct ripgrep *r, struct grep_paths *ret)
{
	struct output h = { .found = ret };
	struct ends ends = { -1, -1, -1 };
	pid_t pid = start(r, root, &ends);

	if (pid < 0)
		return -1;
	buffer_init(&h.bytes, 256u << 10);
	while (listen_once(&h, &ends, r->late))
		;
	own_close(&ends.out);
	if (h.is_wrong || h.is_late || ret->is_cut)
		(void)kill(pid, SIGKILL); /* the pid is still rg's, since waitpid(2) has
					   * not been called yet */
	const int status = worker_reap(pid);
	h.is_wrong = h.is_wrong || has_said_more(ends.said);
	own_close(&ends.out);
	own_close(&ends.said);
	own_close(&ends.pid);
	buffer_done(&h.bytes);
	return judge(&h, status);
}

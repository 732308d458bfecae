#include "executor/fileops/git.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "executor/fileops/errand.h"
#include "executor/process/spawn.h"
#include "protocol/message.h"

/* The limits in bytes of git's output, if the caller sets no other, and of its error
 * messages. */
#define OUT_MAX	 (64u << 10)
#define SAID_MAX (16u << 10)

/* The most bytes of git's error message that are quoted in an answer. */
#define WHY_MAX 600

int git_init(struct git *g, struct errand *x, const char *folder)
{
	char path[PATH_MAX];

	*g = (struct git){ .as = x->as, .folder = folder, .most = OUT_MAX };
	if (!x->as)
		return errand_refuse(x,
				     "git runs as the commands of a session do, and no "
				     "shell could be started for this one.");
	if (spawn_find(x->as->env, "git", path))
		return 0;
	return errand_refuse(x,
			     "there is no git on the session's PATH: use an image that "
			     "has it, or install it there.");
}

void git_done(struct git *g)
{
	buffer_done(&g->out);
	buffer_done(&g->said);
}

/* --- arguments and environment ------------------------------------------------ */

/* Settings for every git command. `core.fsmonitor` may name a program in old versions
 * of git; empty, it names none in any version. An empty `credential.helper` removes
 * all helpers that configuration files name. A garbage collection would outlive the
 * errand. */
static const char *const settings[] = {
	"core.fsmonitor=", "core.quotePath=false",   "credential.helper=",
	"gc.auto=0",	   "maintenance.auto=false", "advice.detachedHead=false",
	"color.ui=false",
};

static void add_setting(struct list *to, const char *setting)
{
	list_add(to, "-c");
	list_add(to, setting);
}

static void make_args(const struct git *g, const char *path, const char *const *words,
		      struct list *ret)
{
	list_add(ret, path);
	list_add(ret, "--no-pager");
	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		add_setting(ret, settings[i]);
	if (!g->may_hook)
		add_setting(ret, "core.hooksPath=/dev/null");
	for (size_t i = 0; i < ARRAY_LEN(g->config) && g->config[i]; i++)
		add_setting(ret, g->config[i]);
	for (; *words; words++)
		list_add(ret, *words);
}

static bool is_kept(const char *variable)
{
	if (!strncmp(variable, "GIT_SSL_", 8))
		return true;
	return strncmp(variable, "GIT_", 4) != 0 &&
	       strncmp(variable, "SSH_ASKPASS", 11) != 0;
}

static void make_env(const struct git *g, struct list *ret)
{
	static const char *const ours[] = {
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=", /* empty, so that git runs no program that asks for a
				 * password */
		"GIT_ALLOW_PROTOCOL=https:http:ssh:git:file",
		"GIT_OPTIONAL_LOCKS=0", /* reading a repository must change nothing */
		"LC_ALL=C.UTF-8",	/* git's messages are parsed, so they must be in
					 * English */
	};

	for (char *const *env = g->as->env; *env; env++)
		if (is_kept(*env))
			list_add(ret, *env);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		list_set_env(ret, ours[i]);
	if (!g->only_looks)
		return;
	list_set_env(ret, "GIT_NO_LAZY_FETCH=1"); /* git must not fetch missing objects;
						   * known from 2.45 on, and in Debian's
						   * 2.39 */
	list_set_env(ret, "GIT_ALLOW_PROTOCOL="); /* for older versions: their fetch of
						   * missing objects fails, since no
						   * transport is allowed */
}

/* --- the process ------------------------------------------------------------ */

struct ends {
	int out, said, secret; /* owned; the pipes for output, error messages and the
			        * secret; secret: -1 if there is none */
};

static void ends_close(struct ends *e)
{
	own_close(&e->out);
	own_close(&e->said);
	own_close(&e->secret);
}

static void take_descriptors(const struct ends *e)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	unsigned from = 3;

	/* Without /dev/null, stdin becomes the write end of a pipe, where reads fail. */
	(void)dup2(null < 0 ? e->said : null, 0); /* dup2(2) does not fail for open
						   * descriptors */
	(void)dup2(e->out, 1);
	(void)dup2(e->said, 2);
	if (e->secret >= 0) {
		(void)dup2(e->secret, GIT_SECRET_FD);
		(void)fcntl(GIT_SECRET_FD, F_SETFD, 0);
		(void)sys_close_range(3, GIT_SECRET_FD - 1, 0);
		from = GIT_SECRET_FD + 1;
	}
	(void)sys_close_range(from, ~0u, 0);
}

struct command {
	struct list args, env; /* owned */
};

/* Called in the child process: executes git. git is killed when its parent ends; if the
 * parent has ended before the prctl(2), getppid(2) shows that. */
static _Noreturn void become(const struct git *g, const struct command *c, pid_t parent,
			     const struct ends *e)
{
	struct exec x = *g->as;
	sigset_t none;

	/* the arguments are valid, so this cannot fail */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)sigemptyset(&none);
	/* the arguments are valid, so this cannot fail */
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	take_descriptors(e);
	if (getppid() != parent || chdir(g->folder) < 0) {
		dprintf(2, "fatal: cannot change to '%s': %s\n", g->folder,
			strerror(errno));
		_exit(128); /* git itself has this exit code for fatal errors */
	}
	x.argv = c->args.items;
	x.env = c->env.items;
	spawn_execute(&x);
}

/* Makes a pipe that holds the whole secret, and closes its write end; *ret is the read
 * end, or -1 if there is no secret. */
static int secret_pipe(struct bytes secret, int *ret)
{
	int ends[2];

	*ret = -1;
	if (secret.len == 0)
		return 0;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	AUTO_CLOSE int from = ends[0], into = ends[1];
	if (write(into, secret.data, secret.len) != (ssize_t)secret.len ||
	    fcntl(from, F_SETFL, 0) < 0)
		return -1;
	*ret = fd_take(&from);
	return 0;
}

/* Makes the pipes. `ours` are the ends that this process reads; `theirs` are git's
 * ends. */
static int make_ends(const struct git *g, struct ends *ours, struct ends *theirs)
{
	int out[2], said[2];

	if (secret_pipe(g->secret, &theirs->secret) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return -1;
	ours->out = out[0];
	theirs->out = out[1];
	if (pipe2(said, O_CLOEXEC) < 0)
		return -1;
	ours->said = said[0];
	theirs->said = said[1];
	return 0;
}

static pid_t start(const struct git *g, const char *const *words, struct ends *ret)
{
	struct ends theirs = { -1, -1, -1 };
	struct command c = { 0 };
	char path[PATH_MAX];
	pid_t self = getpid(), pid = -1;

	if (spawn_find(g->as->env, "git", path) && make_ends(g, ret, &theirs) == 0) {
		make_args(g, path, words, &c.args);
		make_env(g, &c.env);
		pid = fork();
	}
	if (pid == 0)
		become(g, &c, self, &theirs);
	ends_close(&theirs);
	list_done(&c.args);
	list_done(&c.env);
	return pid;
}

/* --- output ----------------------------------------------------------------- */

/* Reads once from one of git's pipes. Bytes beyond the limit are dropped, so that git
 * does not block. False: the pipe has ended. */
static bool hear(int *fd, struct buffer *to, bool *ret_is_cut)
{
	uint8_t chunk[32 << 10];
	ssize_t n = read(*fd, chunk, sizeof(chunk));
	size_t left = to->max - buffer_len(to);

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0) {
		own_close(fd);
		return false;
	}
	*ret_is_cut = *ret_is_cut || (size_t)n > left;
	return buffer_append(to, chunk, (size_t)n < left ? (size_t)n : left);
}

static int late_signal(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGALRM); /* cannot fail: the arguments are valid */
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Reads git's output until git has ended or closed both pipes. The end of the pipes
 * alone does not suffice: a process that git started may hold them open longer. */
static void listen_to(struct git *g, struct ends *e, pid_t pid)
{
	AUTO_CLOSE int late = late_signal();
	AUTO_CLOSE int process = sys_pidfd_open(pid, 0);
	bool is_cut = false, is_dropped = false;

	while ((e->out >= 0 || e->said >= 0) && !g->is_late && !is_cut) {
		struct pollfd fds[] = { { e->out, POLLIN, 0 },
					{ e->said, POLLIN, 0 },
					{ late, POLLIN, 0 },
					{ process, POLLIN, 0 } };
		if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			(void)hear(&e->out, &g->out, &is_cut);
		if (fds[1].revents)
			(void)hear(&e->said, &g->said, &is_dropped);
		g->is_late = fds[2].revents;
		if (fds[3].revents && !fds[0].revents && !fds[1].revents)
			break;
	}
	/* SIGTERM, not SIGKILL: so git removes the files of an unfinished clone. The pid
	 * is still git's, since waitpid(2) has not been called yet. */
	if (g->is_late || is_cut)
		(void)kill(pid, SIGTERM);
}

int git_run(struct git *g, const char *const *words)
{
	struct ends ends = { -1, -1, -1 };

	git_done(g);
	buffer_init(&g->out, g->most);
	buffer_init(&g->said, SAID_MAX);
	pid_t pid = start(g, words, &ends);
	if (pid > 0)
		listen_to(g, &ends, pid);
	const int status = pid > 0 ? worker_reap(pid) : 0;
	ends_close(&ends);
	return pid > 0 && WIFEXITED(status) && !g->is_late ? WEXITSTATUS(status) : -1;
}

char *git_text(struct git *g, const char *const *words)
{
	if (git_run(g, words) != 0)
		return NULL;
	int len = (int)buffer_len(&g->out);
	const char *text = (const char *)buffer_data(&g->out);

	while (len > 0 && text[len - 1] == '\n')
		len--;
	return text_format("%.*s", len, len ? text : "");
}

/* --- failures --------------------------------------------------------------- */

/* Advice for the reader of an error message that contains `words`; the first match
 * counts. */
static const struct advice {
	const char *words, *help;
} advices[] = {
	{ "No space left on device", "there is no room left: a larger --disk, or remove "
				     "what is not needed" },
	{ "Disk quota exceeded", "there is no room left" },
	{ "could not read Username", "the server requires a token, and was given none "
				     "that is for it" },
	{ "could not read Password", "the server requires a token, and was given none "
				     "that is for it" },
	{ "Authentication failed", "the server refused this token" },
	{ "returned error: 403", "the token does not allow it" },
	{ "/' not found",
	  "there is no repository of this name, or the token may not see it" },
	{ "returned error: 404",
	  "there is no repository of this name, or the token may not see it" },
	{ "returned error: 30",
	  "the server redirects to another address, and a token is not sent there: "
	  "use that address" },
	{ "redirect",
	  "the server redirects to another address, and a token is not sent there: "
	  "use that address" },
	{ "Could not resolve host", "the sandbox may have no network: --network host" },
	{ "Network is unreachable", "the sandbox may have no network: --network host" },
	{ "Failed to connect", "the sandbox may have no network: --network host" },
	{ "Couldn't connect", "the sandbox may have no network: --network host" },
	{ "dubious ownership", "git_setup makes the folder a safe.directory" },
	{ "not a git repository",
	  "git_clone or git_setup with \"init\": true makes one" },
	{ "already exists and is not an empty",
	  "give another \"path\", or an empty folder" },
	{ "unable to read ",
	  "a read-only action fetches nothing, and this clone lacks some objects" },
	{ "could not get object info",
	  "a read-only action fetches nothing, and this clone lacks some objects" },
	{ "would be overwritten", "nothing was changed: commit or stash it first" },
};

static const char *advice_for(const char *said)
{
	for (size_t i = 0; i < ARRAY_LEN(advices); i++)
		if (strstr(said, advices[i].words))
			return advices[i].help;
	return NULL;
}

/* Returns the text behind `begin` in the last line that begins with it; NULL: there is
 * none. */
static const char *last_line(const char *text, const char *begin)
{
	const char *found = NULL;

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, begin, strlen(begin)))
			found = at + strlen(begin);
	}
	return found;
}

static const char *complaint(const char *said)
{
	const char *line = last_line(said, "fatal: ");

	line = line ? line : last_line(said, "error: ");
	return line ? line : said;
}

int git_fail(struct errand *x, const struct git *g, const char *what)
{
	if (g->is_late) {
		x->end.outcome = OUTCOME_TIMED_OUT;
		return -1;
	}
	int len = (int)buffer_len(&g->said);
	AUTO_FREE char *said =
		text_format("%.*s", len, len ? (const char *)buffer_data(&g->said) : "");
	const char *line = complaint(said), *help = advice_for(said);
	size_t most = strcspn(line, "\n");
	most -= most > 0 && strchr(".:", line[most - 1]);
	AUTO_FREE char *why = text_format(
		"git cannot %s: %.*s%s%s.", what, (int)(most < WHY_MAX ? most : WHY_MAX),
		most ? line : "it gives no reason", help ? ": " : "", help ? help : "");
	return errand_refuse(x, why);
}

char *git_server(const char *url)
{
	const char *host = strstr(url, "://");

	if (!host || host == url)
		return NULL;
	host += 3;
	size_t len = strcspn(host, "/?#");
	/* leaves out "USER@" in front of the host */
	const char *name = memrchr(host, '@', len);
	const char *from = name ? name + 1 : host;
	len -= (size_t)(from - host);
	return len ? text_format("%.*s://%.*s", (int)(host - 3 - url), url, (int)len,
				 from)
		   : NULL;
}

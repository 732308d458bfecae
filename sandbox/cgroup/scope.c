#include "sandbox/cgroup/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "sandbox/kernel/program.h"

#define SENTENCE_MAX 400

/* Tells whether `path` is a socket of this user at which a process answers.  A
 * socket that was left behind by an ended session does not answer. */
static bool is_answered(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct stat st;

	if (strlen(path) >= sizeof(at.sun_path) || stat(path, &st) < 0 ||
	    st.st_uid != geteuid())
		return false;
	memcpy(at.sun_path, path, strlen(path));
	AUTO_CLOSE int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* EAGAIN means that the queue of connections is full (unix(7)), so a process
	 * listens. */
	return connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 ||
	       errno == EAGAIN;
}

/* Returns the path of this user's bus, allocated, or NULL.  XDG_RUNTIME_DIR may be
 * left over from before a sudo and name another user's bus, so a socket counts only
 * if this user owns it. */
static char *bus_path(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	AUTO_FREE char *usual = text_format("/run/user/%u", geteuid());
	const char *const folders[] = { runtime && *runtime == '/' ? runtime : usual,
					usual };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		char *path = text_format("%s/bus", folders[i]);
		if (is_answered(path))
			return path;
		free(path);
	}
	return NULL;
}

bool scope_has_bus(void)
{
	AUTO_FREE char *path = bus_path();

	return path != NULL;
}

/* Executes hutch-scope, in the child of scope_ask().  Its stderr is `says`, the writing end
 * of a pipe, into which it writes one sentence if it fails. */
__attribute__((noreturn)) static void run(const char *program, char **argv, char **env,
					  int says)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* sigprocmask(2) cannot fail: its
						      * arguments are valid */
	if (dup2(says, 2) == 2)
		(void)execve(program, argv, env);
	_exit(127);
}

static int failed(int status, char *sentence, struct err *e)
{
	sentence[strcspn(sentence, "\n")] = '\0';
	(void)err_set(e, ERR_REFUSED, "%s",
		      *sentence ? sentence : "hutch-scope failed silently");
	if (!WIFEXITED(status))
		(void)err_set(e, ERR_INTERNAL, "hutch-scope died of signal %d",
			      WTERMSIG(status));
	return -1;
}

/* Runs hutch-scope with these words and this environment. */
static int spawn(const char *program, struct list *words, struct list *env, struct err *e)
{
	char sentence[SENTENCE_MAX + 1] = "";
	char *const no_env[] = { NULL };
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int listen = ends[0];
	pid_t pid = fork();
	if (pid == 0)
		run(program, words->items, env->count ? env->items : (char **)no_env,
		    ends[1]);
	own_close(&ends[1]);
	if (pid < 0)
		return err_sys(e, "fork for hutch-scope");
	/* if the read fails, `sentence` is empty, and failed() has another text */
	(void)io_read_full(listen, sentence, SENTENCE_MAX);
	own_close(&listen); /* closed before the wait for hutch-scope, which would
			     * otherwise block if it wrote more than the pipe holds */
	const int status = worker_reap(pid);
	return status == 0 ? 0 : failed(status, sentence, e);
}

int scope_ask(const struct scope_call *c, struct err *e)
{
	AUTO_FREE char *path = c->is_user ? bus_path() : NULL;
	struct list words = { 0 }, env = { 0 };

	if (c->is_user && !path)
		return err_set(e, ERR_NOT_FOUND,
			       "there is no systemd user manager to ask");
	list_add(&words, "hutch-scope");
	for (size_t i = 0; c->words[i]; i++)
		list_add(&words, c->words[i]);
	if (path)
		list_addf(&env, "DBUS_SESSION_BUS_ADDRESS=unix:path=%s", path);
	const int rc = spawn(c->program, &words, &env, e);
	list_done(&words);
	list_done(&env);
	return rc ? err_in(e, c->is_user ? "ask the systemd user manager for a scope"
					 : "ask systemd for a scope")
		  : 0;
}

int scope_enter(struct err *e)
{
	AUTO_FREE char *program = NULL;
	AUTO_FREE char *pid = text_format("%d", (int)getpid());
	const char *const words[] = { pid, NULL };
	struct scope_call c = { .is_user = true, .words = words };

	/* Without a manager the program is not needed, and the lack of the manager is the
	 * error. */
	if (scope_has_bus() && program_find("hutch-scope", &program, e) < 0)
		return -1;
	c.program = program;
	return scope_ask(&c, e);
}

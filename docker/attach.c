#include "docker/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/worker.h"
#include "cli/common/json_view.h"
#include "cli/common/log_print.h"
#include "docker/container.h"
#include "docker/verb.h"
#include "docker/verbs.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/launch/result.h"
#include "sandbox/state/registry.h"

struct signals {
	sigset_t taken;	 /* those that attach_run() waits for */
	sigset_t before; /* the caller's mask */
};

/* Runs "hutch VERB FLAG WORD". */
static int run(const char *const words[3], enum verb_output output, struct err *e)
{
	struct list list = { 0 };

	for (size_t i = 0; i < 3; i++)
		list_add(&list, words[i]);
	int code = verb_run(&list, output, NULL, e);
	list_done(&list);
	return code;
}

/* Prints the container's output, for which its main process waits.  It runs in a child
 * that dies with the caller (prctl(2); a change of user undoes that, so it comes behind
 * it): a main process without a reader goes on. */
static int print_output(const struct container *box, pid_t caller, struct err *e)
{
	const struct log_wanted wanted = { .follows = true,
					   .holds = true,
					   .tail = LOG_PRINT_ALL };

	if (host_user_become_client(e) < 0)
		return -1;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_sys(e, "prctl PR_SET_PDEATHSIG");
	return getppid() != caller ? 0 : log_print(box->name, &wanted, e);
}

/* Starts the child that prints.  It holds `end`, the end of a pipe, for as long as it
 * lives.  Its session is its own, so that a key of the terminal that stops the container
 * does not stop the output first. */
static pid_t start_output(const struct container *box, const struct signals *s, int *end)
{
	const pid_t caller = getpid(), pid = fork();
	struct err e;

	if (pid == 0) {
		(void)setsid();
		(void)sigprocmask(SIG_SETMASK, &s->before, NULL);
		_exit(print_output(box, caller, &e) < 0 ? verbs_fail(&e, EXIT_HUTCH) : 0);
	}
	own_close(end);
	return pid;
}

struct end {
	const char *name; /* borrowed */
	int code;
};

/* Waits as the user whose sandbox it is. */
static int wait_for_end(void *arg, struct err *e)
{
	struct end *end = arg;
	AUTO_FREE char *text = NULL;
	struct json_view record;
	int64_t code;

	if (registry_wait(end->name, &text, e) < 0 ||
	    json_view_scan(&record, text, strlen(text), e) < 0)
		return -1;
	if (!json_view_integer(json_view_get(record, "exit_code"), &code))
		return err_set(e, ERR_INTERNAL, "the record of its end is not valid");
	end->code = (int)code;
	return 0;
}

/* Returns the exit code.  `docker rm -f` kills a container, and leaves no record. */
static int code_of(const struct container *box)
{
	struct end end = { .name = box->name };
	struct err e;

	if (host_user_as_client(wait_for_end, &end, &e) == 0)
		return end.code;
	return e.kind == ERR_NOT_FOUND ? 128 + SIGKILL : verbs_fail(&e, EXIT_HUTCH);
}

/* Runs in the child, in a session of its own.  `output` is readable, with no byte, when
 * the child that prints has ended. */
static _Noreturn void accompany(const struct container *box, bool removes, int output)
{
	struct container ended;
	char none;
	struct err e;

	(void)setsid();
	int code = code_of(box);
	while (read(output, &none, 1) < 0 && errno == EINTR)
		;
	/* By its id, since another container may have the name by now. */
	if (removes && container_find(box->id, &ended, NULL) == 0)
		(void)run((const char *[]){ "rm", "-q", box->id }, VERB_DROP, &e);
	_exit(code);
}

/* Reaps the child, and stops the container at each other signal that is taken. */
static int await(pid_t child, const struct container *box, const struct signals *s)
{
	int status = -1, number = 0; /* -1: neither an exit nor a signal */
	struct err e;

	/* SIGCHLD is lost while it is not blocked; so the child is looked at before each
	 * wait. */
	while (waitpid(child, &status, WNOHANG) == 0) {
		if (sigwait(&s->taken, &number) != 0 || number == SIGCHLD)
			continue;
		(void)sigprocmask(SIG_SETMASK, &s->before, NULL);
		(void)run((const char *[]){ "stop", "-q", box->name }, VERB_DROP, &e);
		(void)sigprocmask(SIG_BLOCK, &s->taken, NULL);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_HUTCH;
}

static int attend(const struct container *box, bool removes, const struct signals *s,
		  struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int output = ends[0];
	const pid_t printer = start_output(box, s, &ends[1]);
	const pid_t child = fork();

	if (child == 0) {
		(void)sigprocmask(SIG_SETMASK, &s->before, NULL);
		accompany(box, removes, output);
	}
	int rc = child < 0 ? err_sys(e, "fork") : await(child, box, s);
	if (printer > 0)
		(void)worker_reap(printer);
	return rc;
}

/* Runs `hutch create`.  A signal that is taken waits until that is done. */
static int create(const struct list *words, const struct signals *s, struct err *e)
{
	const pid_t pid = fork();

	if (pid == 0) {
		(void)sigprocmask(SIG_SETMASK, &s->before, NULL);
		(void)verb_become(words, true, e);
		_exit(verbs_fail(e, EXIT_HUTCH));
	}
	if (pid < 0)
		return err_sys(e, "fork");
	int status = worker_reap(pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_HUTCH;
}

int attach_run(const struct list *words, const char *name, bool removes, struct err *e)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD };
	struct container made;
	struct signals s;

	(void)sigemptyset(&s.taken);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		(void)sigaddset(&s.taken, numbers[i]);
	(void)sigprocmask(SIG_BLOCK, &s.taken, &s.before);
	int code = create(words, &s, e);
	if (code == 0)
		code = container_find(name, &made, e) < 0 ? -1
							  : attend(&made, removes, &s, e);
	(void)sigprocmask(SIG_SETMASK, &s.before, NULL);
	return code;
}

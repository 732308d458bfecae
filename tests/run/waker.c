/* waker: a program that resists being stopped.  Each of its processes or threads
 * counts in a file of its own in FOLDER.  A timer sends SIGCONT to the process all
 * the time, so that a SIGSTOP holds it for a moment only.
 *
 *	waker MODE FOLDER
 *
 *	alone	one process
 *	threads	four threads
 *	hidden	a process that is not dumpable
 *	vfork	a parent that waits in vfork(2) for its child, until FOLDER/go is there
 *	forks	a process that goes on as its own child all the time, in a session of its own
 *	quick	the same without a timer and a session, and so far more often
 *	execs	a process with threads of which one executes the same program, all the time
 *	traced	a process that traces its child
 *	job	a process that has stopped its child, which must stay stopped, and counts its
 * reports */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *folder, *self;

static void on_signal(int signo)
{
	(void)signo;
}

/* Starts a timer that sends SIGCONT to this process; any thread may take the signal. */
static void wake(void)
{
	const struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };
	struct sigevent how = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT };
	const struct sigaction action = { .sa_handler = on_signal,
					  .sa_flags = SA_RESTART };
	timer_t timer;

	if (sigaction(SIGCONT, &action, NULL) < 0 ||
	    timer_create(CLOCK_MONOTONIC, &how, &timer) < 0 ||
	    timer_settime(timer, 0, &often, NULL) < 0)
		_exit(3);
}

static int open_count(const char *name)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

static void count(int fd, unsigned n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%010u\n", n);

	if (pwrite(fd, text, (size_t)len, 0) != len)
		_exit(4);
}

static int has_go(void)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/go", folder);
	return access(path, F_OK) == 0;
}

static void *run(void *name)
{
	int fd = open_count(name);

	for (unsigned n = 1;; n++)
		count(fd, n);
	return NULL;
}

static void run_threads(void)
{
	static const char *const names[] = { "one", "two", "three", "four" };
	pthread_t thread;

	for (int i = 1; i < 4; i++)
		if (pthread_create(&thread, NULL, run, (void *)(size_t)names[i]) != 0)
			_exit(5);
	(void)run((void *)(size_t)names[0]);
}

/* The parent is suspended in vfork(2), so the child counts in memory that both
 * share. */
static void run_vfork(void)
{
	int fd = open_count("child");
	volatile unsigned n = 0;
	pid_t pid = vfork();

	if (pid == 0) {
		wake();
		while (!has_go())
			count(fd, ++n);
		(void)execl(self, self, "alone", folder, (char *)NULL);
		_exit(6);
	}
	wake();
	(void)run((void *)(size_t)"parent");
}

/* Forks again and again, and each child goes on in place of its parent.  A child does
 * not inherit the timer, so it makes its own. */
static void run_forks(bool is_quick)
{
	int fd = open_count("one");

	for (unsigned n = 1;; n++) {
		if (fork() > 0)
			_exit(0);
		if (!is_quick) {
			(void)setsid();
			wake();
		}
		count(fd, n);
	}
}

static void *sleep_on(void *none)
{
	for (;;)
		pause();
	return none;
}

static void *execute(void *none)
{
	(void)execl(self, self, "execs", folder, (char *)NULL);
	_exit(6);
	return none;
}

/* Executes this program again and again; it reads its earlier count from the file and
 * goes on from there. */
static void run_execs(void)
{
	char text[16] = { 0 };
	pthread_t thread;
	int fd = open_count("one");

	(void)!pread(fd, text, sizeof(text) - 1, 0);
	count(fd, (unsigned)strtoul(text, NULL, 10) + 1);
	for (int i = 0; i < 8; i++)
		if (pthread_create(&thread, NULL, i < 7 ? sleep_on : execute, NULL) != 0)
			_exit(5);
	(void)sleep_on(NULL);
}

static void run_traced(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(7);
		wake();
		(void)run((void *)(size_t)"one");
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		(void)ptrace(PTRACE_CONT, pid, NULL, 0L);
}

static void run_job(void)
{
	int fd = open_count("told"), status;
	unsigned told = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)raise(SIGSTOP);
		(void)run((void *)(size_t)"never");
	}
	count(fd, told);
	while (waitpid(pid, &status, WUNTRACED | WCONTINUED) == pid)
		count(fd, ++told);
}

int main(int argc, char **argv)
{
	const char *mode = argc == 3 ? argv[1] : "";

	self = argv[0];
	folder = argv[2];
	if (strcmp(mode, "vfork") != 0 && strcmp(mode, "traced") != 0 &&
	    strcmp(mode, "job") != 0)
		wake();
	if (strcmp(mode, "hidden") == 0)
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (strcmp(mode, "alone") == 0 || strcmp(mode, "hidden") == 0)
		(void)run((void *)(size_t)"one");
	else if (strcmp(mode, "threads") == 0)
		run_threads();
	else if (strcmp(mode, "vfork") == 0)
		run_vfork();
	else if (strcmp(mode, "forks") == 0)
		run_forks(false);
	else if (strcmp(mode, "quick") == 0)
		run_forks(true);
	else if (strcmp(mode, "execs") == 0)
		run_execs();
	else if (strcmp(mode, "traced") == 0)
		run_traced();
	else if (strcmp(mode, "job") == 0)
		run_job();
	return 2;
}

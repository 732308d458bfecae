/* broker_ask: opens files with O_CREAT, which the broker does on behalf of this
 * process, and checks the result (tests/run/broker.bats).
 *
 *	broker_ask terminal N	changes the target of a link in /proc while the broker
 *				looks at it, in N tries, and checks that only the
 *				caller's own terminal can be opened
 *	broker_ask left N	checks N times that no file that was closed is still
 *				held open: one with a lock, and a program to execute
 *	broker_ask read PATH	prints the content of a file
 *	broker_ask flags	checks that the flags beside O_CREAT have their effect
 *	broker_ask thread	checks that a thread with descriptors of its own, whose
 *				main thread has ended, makes a file in the folder that
 *				it names
 *
 * Prints the result, and exits with 0 if the result is the same as without the
 * broker. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLACE = 99 };

static int said(const char *what, int count)
{
	(void)printf("%s: %d\n", what, count);
	return count != 0;
}

/* --- terminal ------------------------------------------------------------------------- */

static atomic_bool is_over;

/* Switches descriptor PLACE between /dev/null and /dev/tty all the time; opening one
 * of them through the link must not open the other. */
static void *change(void *ends)
{
	const int *fds = ends;

	for (int turn = 0; !is_over; turn = !turn)
		(void)dup2(fds[turn], PLACE);
	return NULL;
}

static int look_for_terminal(int tries)
{
	int ends[] = { open("/dev/null", O_PATH), open("/dev/tty", O_PATH) };
	pthread_t changer;
	int found = 0;

	if (ends[0] < 0 || ends[1] < 0 || dup2(ends[0], PLACE) < 0 ||
	    pthread_create(&changer, NULL, change, ends) != 0)
		return 2;
	for (int i = 0; i < tries && !found; i++) {
		int fd = open("/proc/self/fd/99", O_RDWR | O_CREAT, 0600);
		found = fd >= 0 && isatty(fd);
		(void)close(fd);
	}
	is_over = true;
	(void)pthread_join(changer, NULL);
	return said("terminals", found);
}

/* --- left ----------------------------------------------------------------------------- */

static int run_new(void)
{
	static const char text[] = "#!/bin/true\n";
	char name[] = "./program", *argv[] = { name, NULL };
	int status, fd = open("program", O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0700);

	if (write(fd, text, sizeof(text) - 1) < 0 || close(fd) < 0)
		return 2;
	const pid_t pid = vfork();
	if (pid == 0) {
		(void)execv(argv[0], argv);
		_exit(errno == ETXTBSY ? 1 : 2);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
								    : 2;
}

static int lock_again(void)
{
	int first = open("lock", O_CREAT | O_RDWR, 0600);

	if (flock(first, LOCK_EX) < 0 || close(first) < 0)
		return 2;
	int second = open("lock", O_RDWR);
	int is_held = flock(second, LOCK_EX | LOCK_NB) < 0;
	(void)close(second);
	return is_held;
}

static int look_for_left(int times)
{
	int busy = 0, held = 0;

	for (int i = 0; i < times; i++) {
		busy += run_new();
		held += lock_again();
	}
	return said("busy", busy) + said("held", held);
}

/* --- read ----------------------------------------------------------------------------- */

static int read_file(const char *path)
{
	char text[4096];
	int fd = open(path, O_RDONLY | O_CREAT, 0600);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (len < 0)
		return said(strerror(errno), 1);
	return fwrite(text, 1, (size_t)len, stdout) != (size_t)len;
}

/* --- flags ---------------------------------------------------------------------------- */

static int is_so(const char *path, int flags, int error)
{
	int fd = open(path, flags, 0600);
	int is = fd < 0 ? errno : 0;

	(void)close(fd);
	return is == error ? 0 : said(path, is);
}

static int look_at_flags(void)
{
	const int made = O_CREAT | O_WRONLY;

	(void)unlink("new");
	return is_so("/dev", O_PATH | O_CREAT, 0) +
	       is_so("new", O_PATH | O_CREAT, ENOENT) +
	       is_so("/dev", O_PATH | O_CREAT | O_EXCL, 0) + is_so(".", made, EISDIR) +
	       is_so(".", made | O_EXCL, EEXIST) +
	       is_so("new", made | O_DIRECTORY, EINVAL) + is_so("new", made | O_EXCL, 0) +
	       is_so("new", made | O_EXCL, EEXIST);
}

/* --- thread --------------------------------------------------------------------------- */

static void *make_there(void *first)
{
	(void)pthread_join(*(pthread_t *)first, NULL);
	int there = open("there", O_PATH | O_DIRECTORY);

	if (unshare(CLONE_FILES) < 0 || dup2(there, PLACE) < 0)
		exit(2);
	int fd = openat(PLACE, "new", O_CREAT | O_WRONLY, 0600);
	exit(fd < 0 ? said(strerror(errno), 1)
		    : said("elsewhere", access("there/new", F_OK) < 0));
}

static int make_by_thread(void)
{
	static pthread_t first, other;

	first = pthread_self();
	(void)mkdir("here", 0700);
	(void)mkdir("there", 0700);
	if (dup2(open("here", O_PATH | O_DIRECTORY), PLACE) < 0 ||
	    pthread_create(&other, NULL, make_there, &first) != 0)
		return 2;
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "terminal"))
		return look_for_terminal(atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "left"))
		return look_for_left(atoi(argv[2]));
	if (argc == 2 && !strcmp(argv[1], "flags"))
		return look_at_flags();
	if (argc == 2 && !strcmp(argv[1], "thread"))
		return make_by_thread();
	if (argc == 3 && !strcmp(argv[1], "read"))
		return read_file(argv[2]);
	return 2;
}

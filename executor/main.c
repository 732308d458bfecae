/* hutch-executor: pid 1 of a sandbox.
 *
 * It is started by execveat(2) from a descriptor, as the first and only process
 * of its pid namespace, with an empty environment, /dev/null as 0, 1 and 2, and
 * the socket to the supervisor as 3, maybe a procfs as 4 and a folder as 5.
 * Namespaces, mounts, capabilities, no_new_privs, the seccomp filter and
 * PR_SET_PDEATHSIG are in place already.
 *
 * It has nowhere to say what went wrong, and nobody inside should learn it:
 * the supervisor sees the channel close and this process's exit code. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "executor/executor.h"
#include "executor/tree.h"

#define CHANNEL_FD 3
#define PROC_FD	   4
#define LOGS_FD	   5
#define EXIT_HUTCH 125 /* hutch itself failed */

/* Started by hand, in a place where exiting ends nobody else. */
static int is_init(void)
{
	return getpid() == 1;
}

/* A socket, and one that no command inherits. */
static int has_channel(void)
{
	int type;
	socklen_t len = sizeof(type);

	return getsockopt(CHANNEL_FD, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_STREAM && fcntl(CHANNEL_FD, F_SETFD, FD_CLOEXEC) == 0;
}

/* Only where we outlive a command; -1: there is none. */
static int take_proc(void)
{
	bool is_there = fcntl(PROC_FD, F_SETFD, FD_CLOEXEC) == 0 && tree_can_look(PROC_FD);

	return is_there ? PROC_FD : -1;
}

/* Nothing is recorded where nobody could read it: something is mounted over it. */
static int take_logs(void)
{
	bool is_there = fcntl(LOGS_FD, F_SETFD, FD_CLOEXEC) == 0 && tapes_is_seen(LOGS_FD);

	return is_there ? LOGS_FD : -1;
}

/* The capabilities of users other than root, as the launcher says: none, if it says nothing
 * that is a number. */
static uint64_t take_others(char **argv)
{
	return argv[0] && argv[1] ? strtoull(argv[1], NULL, 16) : 0;
}

int main(int argc, char **argv)
{
	struct err e;

	(void)argc;

	if (!is_init() || !has_channel())
		return EXIT_HUTCH;
	if (executor_protect(&e) < 0)
		return EXIT_HUTCH;
	int served = executor_serve(CHANNEL_FD, take_proc(), take_logs(), take_others(argv), &e);
	return served < 0 ? EXIT_HUTCH : 0;
}

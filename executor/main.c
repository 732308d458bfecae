/* hutch-executor: pid 1 of a sandbox.
 *
 * It is started by execveat(2) from a descriptor, as the first and only process of its
 * pid namespace, with an empty environment, /dev/null as 0, 1 and 2, and the socket to
 * the supervisor as 3.  If the sandbox has them, 4 is a procfs and 5 the folder for
 * output logs.  Namespaces, mounts, capabilities, no_new_privs, the seccomp filter and
 * PR_SET_PDEATHSIG are in place already.
 *
 * The executor prints no errors, since the processes inside must not read them.  The
 * supervisor sees only the channel close and this process's exit code. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/lean.h"
#include "executor/executor.h"
#include "executor/process/tree.h"

#define CHANNEL_FD 3
#define PROC_FD	   4
#define LOGS_FD	   5
#define EXIT_HUTCH 125 /* the exit code that says that hutch itself failed, and no
		        * command */

/* Returns false when the executor was started by hand, outside of a pid namespace of its
 * own: then its exit would not end the other processes. */
static int is_init(void)
{
	return getpid() == 1;
}

/* Returns true if the channel is a socket; makes it close-on-exec, so that no command
 * inherits it. */
static int has_channel(void)
{
	int type;
	socklen_t len = sizeof(type);

	return getsockopt(CHANNEL_FD, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_STREAM && fcntl(CHANNEL_FD, F_SETFD, FD_CLOEXEC) == 0;
}

/* Returns whether the executor may outlive its first command: the launcher then passes a
 * procfs. */
static int outlives(void)
{
	return fcntl(PROC_FD, F_GETFD) >= 0;
}

/* Returns the descriptor of the procfs; -1: the launcher passed none.  The launcher
 * passes one only if the executor must outlive a command. */
static int take_proc(void)
{
	bool is_there = fcntl(PROC_FD, F_SETFD, FD_CLOEXEC) == 0 &&
			tree_can_look(PROC_FD);

	return is_there ? PROC_FD : -1;
}

/* Returns the descriptor of the folder for output logs; -1: there is none, or commands
 * could not read it because something is mounted over it. */
static int take_logs(void)
{
	bool is_there = fcntl(LOGS_FD, F_SETFD, FD_CLOEXEC) == 0 &&
			output_logs_is_seen(LOGS_FD);

	return is_there ? LOGS_FD : -1;
}

/* Returns the capabilities that users other than root may get, which the launcher gives
 * as a hexadecimal argument; none if the argument is no such number. */
static uint64_t take_others(char **argv)
{
	return argv[0] && argv[1] ? strtoull(argv[1], NULL, 16) : 0;
}

int main(int argc, char **argv)
{
	struct err e;

	(void)argc;
	if (outlives())
		lean_heap();
	if (!is_init() || !has_channel())
		return EXIT_HUTCH;
	if (executor_protect(&e) < 0)
		return EXIT_HUTCH;
	int served = executor_serve(CHANNEL_FD, take_proc(), take_logs(),
				    take_others(argv), &e);
	return served < 0 ? EXIT_HUTCH : 0;
}

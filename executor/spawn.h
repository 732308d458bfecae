/* spawn -- makes a process that becomes a command.
 *
 * Theory of operation.  The child says how far it came through a pipe: an end
 * of file means that execve closed it, 8 bytes that a stage failed.  The parent
 * reads it without blocking, whenever poll(2) says so.
 *
 * While nothing else runs in the sandbox, the child borrows our memory
 * (vfork(2)), since copying even a small process costs a third of starting a
 * small program; then the pipe has its answer as soon as we run again.  As soon
 * as there are commands, it is a plain fork(2): whoever shares the child's user
 * can stop it before its execve, and vfork would leave us, pid 1, waiting with
 * it.
 *
 * One that copies (EXEC_COPIES), or does what `instead` says, executes nothing: it is a
 * fork(2) in any case, closes the pipe itself, and goes on in copy.h, or there.
 *
 * Everything that a command could have prepared against us (its PATH, working
 * directory, program file) is touched by the child alone. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct exec;
struct failed;
struct user;

/* A descriptor, and the number that the command gets it as. */
struct spawn_fd {
	int from, to;
};
#define SPAWN_MORE_BASE 60 /* the numbers are from here... */
#define SPAWN_MORE	4  /* ...and these many at most, without a gap */

struct spawn {
	const struct exec *exec; /* borrowed */
	const struct user *self; /* borrowed; who we are */
	int stdio[3];		 /* borrowed; become 0, 1 and 2 */
	int cgroup;		 /* borrowed; cgroup.procs to enter, or -1 */
	const struct spawn_fd *more; /* borrowed; further ones */
	size_t more_count;
	bool is_alone;		 /* nothing else runs in the sandbox */
	/* Done in place of execve(2), in a copy of our memory; does not return. */
	void (*instead)(const void *what);
	const void *what; /* borrowed */
};

/* Returns the pid and in *ret_status the pipe, or -1 with errno set. */
pid_t spawn_command(const struct spawn *s, int *ret_status);

enum spawn_state {
	SPAWN_PENDING, /* not yet decided */
	SPAWN_STARTED, /* execve succeeded, or a signal ended the child first */
	SPAWN_FAILED   /* *ret says where and why; the child is ending */
};

/* Reads the pipe; does not block. */
enum spawn_state spawn_result(int status, struct failed *ret);

/* In a process that has become all that a command of `x` would be but for its limits and
 * its filter (errand.h): these, and the program.  What fails ends it with 127. */
_Noreturn void spawn_execute(const struct exec *x);

/* Where the programs are that this environment knows. */
const char *spawn_path(char *const *env);

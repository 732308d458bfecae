/* spawn -- makes a process that becomes a command.
 *
 * Theory of operation.  The child reports its progress through a pipe: an end of file
 * means that execve closed it, 8 bytes that a stage failed.  The parent reads the pipe
 * without blocking, whenever poll(2) says so.
 *
 * While nothing else runs in the sandbox, the child borrows our memory (vfork(2)),
 * since copying even a small process costs a third of starting a small program; then
 * the pipe has its answer as soon as we run again.  As soon as there are commands, the
 * child is made by a plain fork(2): a process of the child's user can stop the child
 * before its execve, and vfork would leave us, pid 1, waiting with it.
 *
 * A child that copies (EXEC_COPIES) or runs the function `instead` executes nothing: it
 * is made by fork(2) in any case, closes the pipe itself, and goes on in copy.h or in
 * that function.
 *
 * Only the child touches what a command could have prepared against us: its PATH,
 * working directory, program file. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct exec;
struct failed;
struct user;

/* A descriptor of the executor (`from`), and the number that it gets in the command
 * (`to`). */
struct spawn_fd {
	int from, to;
};
#define SPAWN_MORE_BASE 60 /* the first number of the further descriptors in a command */
#define SPAWN_MORE	4  /* how many further descriptors a command may have; their
			    * numbers follow each other without a gap */

struct spawn {
	const struct exec *exec; /* borrowed */
	const struct user *self; /* borrowed; the executor's own ids */
	int stdio[3];		 /* borrowed; become the command's 0, 1 and 2 */
	int cgroup;		 /* borrowed; the cgroup.procs file of the cgroup that the
				  * command enters; -1: none */
	const struct spawn_fd *more; /* borrowed; further descriptors that the command
				      * gets */
	size_t more_count;
	bool is_alone;		 /* no other process is in the sandbox, so the child may
				  * borrow our memory */
	/* Called in place of execve(2), in a copy of our memory; does not return. */
	void (*instead)(const void *what);
	const void *what; /* borrowed; the argument of `instead` */
};

/* Starts a command.  Returns its pid, and in *ret_status the pipe that reports its
 * execve(2); or -1 with errno set. */
pid_t spawn_command(const struct spawn *s, int *ret_status);

enum spawn_state {
	SPAWN_PENDING, /* execve has not succeeded or failed yet */
	SPAWN_STARTED, /* execve succeeded, or a signal ended the child first */
	SPAWN_FAILED   /* *ret holds the stage and errno; the child is ending */
};

/* Reads the status pipe of a child, without blocking. */
enum spawn_state spawn_result(int status, struct failed *ret);

/* Called in a process that has all properties of a command of `x` but its limits and
 * its filter (errand.h): sets these, and executes the program.  A failure ends the
 * process with 127. */
_Noreturn void spawn_execute(const struct exec *x);

/* Finds a program on the PATH of this environment, or on the default one.  A relative
 * folder on PATH is left out, since it would let the tree that is worked in choose the
 * program.  Returns false if there is no such program. */
bool spawn_find(char *const *env, const char *name, char ret[PATH_MAX]);

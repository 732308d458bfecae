/* spawn -- makes a process that becomes a command.
 *
 * Theory of operation.  The child reports its progress through a pipe: an end of file
 * means that execve closed it, 8 bytes (struct failed) report the stage that failed.  The
 * parent reads the pipe without blocking, whenever poll(2) says so.
 *
 * While nothing else runs in the sandbox, the child borrows our memory (vfork(2)), since
 * copying even a small process costs a third of starting a small program; the pipe has
 * its result by the time that the parent runs again.  As soon as there are commands, the
 * child is made by a plain fork(2): a process of the child's user can stop the child
 * before its execve, and with vfork(2) pid 1 would be blocked as long as the child is
 * stopped.
 *
 * A child that copies files (EXEC_COPIES, copy.h) or runs the function `instead` calls no
 * execve(2): it is made by fork(2) in any case, closes the pipe itself, and goes on in
 * copy.h or in that function.
 *
 * The descendants of a command that has ended cannot be found any more: those that began
 * sessions of their own became children of pid 1 at its death.  Therefore a command with
 * `is_kept` is a child of the process that was forked for it, which stays as the
 * subreaper of both: the keeper.  The keeper writes the end of the command into the
 * status pipe, and lives until the executor ends it by tree_end() (tree.h), which finds
 * all descendants.  The command's session and process group are the keeper's.  A command
 * can kill its keeper, as it can kill any process of its user: then it is found by its
 * session, like a command without a keeper.
 *
 * Only the child uses the PATH, working directory and program file of the command, since
 * an earlier command may have prepared these to block or trick the executor. */
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
#define SPAWN_MORE_BASE 60 /* the number that the first of the further descriptors has in
			    * a command */
#define SPAWN_MORE	4  /* how many further descriptors a command may have; they have
			    * consecutive numbers */

struct spawn {
	const struct exec *exec; /* borrowed */
	const struct user *self; /* borrowed; the executor's own ids and capabilities */
	int stdio[3];		 /* borrowed; become the command's 0, 1 and 2 */
	int cgroup;		 /* borrowed; the file cgroup.procs of the cgroup that the
				  * command enters; -1: none */
	const struct spawn_fd *more; /* borrowed; further descriptors that the command
				      * gets */
	size_t more_count;
	bool is_kept;		 /* the pid is that of a keeper; needs EXEC_TREE */
	bool is_alone;		 /* no other process is in the sandbox, so the child may
				  * share our memory (vfork(2)) */
	/* Called in place of execve(2), in a copy of the executor's memory; must not
	 * return. */
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

/* In the field `stage` of a keeper's report: the field `sys` holds the status of waitpid(2)
 * of the command, which has ended. */
#define SPAWN_ENDED UINT32_MAX

/* Reads the status pipe of a child, without blocking.  A keeper's report that its command
 * has ended comes as SPAWN_FAILED with the stage SPAWN_ENDED. */
enum spawn_state spawn_result(int status, struct failed *ret);

/* Called in a process that has all properties of a command of `x` but the resource limits
 * and the seccomp filter, such as an errand (errand.h): sets these two, and executes the
 * program.  A failure ends the process with exit code 127. */
_Noreturn void spawn_execute(const struct exec *x);

/* Finds a program on the PATH of this environment, or on the default one.  Relative
 * folders on PATH are skipped, since a file in the working directory could then take the
 * program's place.  Returns false if there is no such program. */
bool spawn_find(char *const *env, const char *name, char ret[PATH_MAX]);

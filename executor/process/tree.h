/* tree -- a process with all its descendants, and how they are ended.
 *
 * There is no system call that ends a process with all its descendants: a process leaves
 * a process group by setpgid(2), a session by setsid(2), and its parent by the parent's
 * death. /proc tells the parent and session of each process.  A process belongs to the
 * tree of another if its parent belongs, or the leader of its session does: sessions are
 * only ever inherited, so all members of a session descend from its leader.
 *
 * Theory of operation.  A descendant may fork while we look, so each one that is found is
 * stopped first, and with it its process group, which is within its session and so within
 * the tree.  A stopped process forks no more; when a reading of /proc finds no new
 * descendant, all were found.  Then all get SIGKILL, the root last: it may be their
 * subreaper (EXEC_TREE), and as long as it exists, none of its descendants becomes a
 * child of pid 1, where it could not be told from other orphans.  A stopped root does not
 * reap either: its dead children stay zombies, so a tree that forks without end reaches
 * RLIMIT_NPROC.
 *
 * The kernel reuses pids.  Therefore a process is identified by its pid and its start
 * time, and is signalled through a pidfd; its start time and its parent's are checked
 * after the pidfd was opened.  So a new process that has got the same pid is not
 * signalled.  The root is a child of pid 1 that is not reaped yet, so its pid cannot have
 * been reused. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The fields of /proc/PID/stat by which this module identifies a process. */
struct tree_process {
	pid_t pid, parent, group, session;
	uint64_t birth; /* start time, in clock ticks since boot */
	bool is_asleep; /* in interruptible sleep (state S) */
};

/* Returns true if `proc` is the root of a procfs of our own pid namespace, so that its
 * pids are valid for us. */
bool tree_can_look(int proc);

/* Parses /proc/PID/stat.  `text` is not trusted: a program chooses its own name.  Returns
 * false if the text is no such line. */
bool tree_parse(const char *text, struct tree_process *ret);

/* Reads the current state of a process.  Returns false if there is no such process. */
bool tree_look(int proc, pid_t pid, struct tree_process *ret);

/* Compares the arguments of two processes.  A child and its parent have the same
 * arguments until one calls execve(2). */
enum tree_arguments {
	TREE_SAME_ARGUMENTS,
	TREE_OTHER_ARGUMENTS,
	TREE_HAS_ENDED /* one of the two processes has ended */
};
enum tree_arguments tree_compare_arguments(int proc, pid_t a, pid_t b);

/* Returns true if the process catches or ignores the signal; false also for a process
 * that has ended. */
bool tree_minds_signal(int proc, pid_t pid, int signo);

/* Kills `root` and all its descendants; `root` is a child of ours that is not reaped yet.
 * Does not wait until the root has died.  Takes TREE_MS at most, since the executor
 * serves no request meanwhile. */
void tree_end(int proc, pid_t root);
#define TREE_MS 1000

/* tree -- a process with all its descendants, and how they are ended.
 *
 * There is no system call for that: a process leaves a process group by setpgid(2), a
 * session by setsid(2), and its parent by the parent's death. /proc tells the parent
 * and session of each process.  A process belongs to the tree of another if its parent
 * belongs, or the leader of its session does: sessions are only ever inherited, so all
 * members of a session descend from its leader.
 *
 * Theory of operation.  A descendant may fork while we look, so each one that is found
 * is stopped first, and with it its process group, which is within its session and so
 * within the tree.  A stopped process forks no more; when a reading of /proc finds no
 * new descendant, all were found.  Then all get SIGKILL, the root last: it may be their
 * subreaper (EXEC_TREE), and until it is gone no descendant becomes an orphan of ours,
 * which could not be told from other orphans.  A stopped root does not wait(2) either:
 * its dead children stay as zombies, and a tree that forks without end reaches
 * RLIMIT_NPROC.
 *
 * Pids are used again.  A process is known by its pid and its start time, and is
 * signalled through a pidfd; its start time and its parent's are checked after the
 * pidfd was opened.  So a new process of the same pid gets no signal, and nor does a
 * dead one.  The root is a child of ours that was not reaped, so its pid is its own. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The fields of /proc/PID/stat by which a process is judged. */
struct tree_process {
	pid_t pid, parent, group, session;
	uint64_t birth; /* in ticks since the machine's start */
	bool is_asleep; /* in interruptible sleep (state S) */
};

/* Returns true if `proc` is the root of a procfs of our own pid namespace, so that its
 * pids are the ones that we know. */
bool tree_can_look(int proc);

/* Parses /proc/PID/stat.  `text` is hostile: a program sets its own name.  Returns false
 * if the text is no such line. */
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

/* Ends the tree of `root`, a child of ours that was not reaped.  Does not wait for the
 * root's death, and takes TREE_MS at most, since the executor serves no request
 * meanwhile. */
void tree_end(int proc, pid_t root);
#define TREE_MS 1000

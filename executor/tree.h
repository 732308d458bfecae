/* tree -- a process with all that descends from it, and its end.
 *
 * There is no call that does it: a process group is left with setpgid(2), a session
 * with setsid(2), and a parent by its death.  What the kernel does tell is in /proc:
 * everybody's parent and session.  A process belongs to the tree of another if its
 * parent belongs, or the leader of its session does: sessions are only ever inherited,
 * so all of one descend from its leader.
 *
 * Theory of operation.  Who descends may fork while we look, so each one that is found
 * is stopped first, and with it its process group, which is within its session and
 * so within the tree.  Who is stopped forks no more; when a look finds nobody new, that
 * was all.  Then SIGKILL for all, the root last: it may be their subreaper
 * (EXEC_TREE), and until it is gone nobody can become an orphan of ours, whom nothing
 * would tell from others.  A stopped root does not wait(2) either: what dies stays as
 * a zombie, and a tree that forks without end comes to the end of RLIMIT_NPROC.
 *
 * Numbers are used again.  A process is known by its number and the time of its birth,
 * and is signalled through a pidfd, after a look at its birth and its parent's that was
 * made when the pidfd was open: whoever has the number by then is not whom it stands
 * for, and one that has died gets nothing.  The root is a child of ours that was not
 * reaped, so its number is its own. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What /proc/PID/stat says. */
struct tree_process {
	pid_t pid, parent, group, session;
	uint64_t birth; /* in ticks since the machine's start */
	bool is_asleep; /* until a signal, or what it waits for */
};

/* Whether `proc` is the root of a procfs of our own pid namespace. */
bool tree_can_look(int proc);

/* `text` is hostile: a program names itself.  False: it is no such line. */
bool tree_parse(const char *text, struct tree_process *ret);

/* What the kernel says of this process now.  False: there is no such process. */
bool tree_look(int proc, pid_t pid, struct tree_process *ret);

/* A child and its parent have the same arguments until one calls execve(2). */
enum tree_arguments { TREE_SAME_ARGUMENTS, TREE_OTHER_ARGUMENTS, TREE_HAS_ENDED /* one of them */ };
enum tree_arguments tree_compare_arguments(int proc, pid_t a, pid_t b);

/* Whether it catches or ignores the signal.  False also of one that is gone. */
bool tree_minds_signal(int proc, pid_t pid, int signo);

/* Ends the tree of `root`, a child of ours that was not reaped.  Does not wait for its
 * death, and takes TREE_MS at most. */
void tree_end(int proc, pid_t root);
#define TREE_MS 1000

/* seize -- stops all processes inside but pid 1, by tracing them.
 *
 * A process escapes a SIGSTOP if a timer sends it SIGCONT.  It does not escape a tracer:
 * in a ptrace-stop it does not run until its tracer continues it or dies, whatever
 * signals it gets, except SIGKILL (ptrace(2)).  No process inside notices: the kernel
 * tells no parent of such a stop, so job control sees nothing, and a process that was
 * stopped before is stopped afterwards.
 *
 * Theory of operation.  Each thread that /proc shows is seized (PTRACE_SEIZE) and asked
 * to stop (PTRACE_INTERRUPT).  A thread stops before its next instruction in user mode; a
 * system call in progress ends first.  The children of a seized process are seized from
 * their birth (PTRACE_O_TRACEFORK and its kin).  When all known threads have stopped,
 * /proc is read again, which finds the children of a process that was not seized yet.
 * /proc is read in the order of pids, and read again from the place of a process that has
 * ended since it was listed: its child comes behind it.  A process that keeps forking and
 * exiting escapes one reading only if its next pid is below the one that is being read,
 * that is, if pids have wrapped around.  Pids cannot wrap twice within two readings, so the
 * search ends after two readings in a row that find nothing new, and nothing that has
 * ended.
 *
 * A parent in vfork(2) waits for its child in the kernel, and does not stop while it
 * waits.  It counts as stopped if /proc/PID/wchan says that it waits there: its child is
 * stopped, and when the child goes on, the requested stop comes before the parent's next
 * instruction.
 *
 * PTRACE_SEIZE can deadlock: it waits for an execve(2) of another thread of that process,
 * which waits for a dead thread that we have to reap.  Therefore an alarm interrupts
 * PTRACE_SEIZE, and the call is repeated later.  If we still do not finish, the executor
 * kills us (freezer.h).  Before seize_hold() our death harms no process: the kernel
 * detaches the tracees.  From then on the kernel kills them (PTRACE_O_EXITKILL).
 *
 * This module runs in a process of its own, with CAP_SYS_PTRACE over the sandbox's user
 * namespace. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "protocol/message.h"

/* Stops all processes inside but pid 1 and this one, within the time until `due`, in ms
 * of clock.h; `proc` is as in tree.h.  Sets *ret to FREEZE_STANDS or to the reason why
 * not all could be stopped; in the second case all go on when this process exits.  Does
 * not set the `number` of *ret. */
struct seized;
struct seized *seize_all(int proc, int64_t due, struct frozen *ret);

/* From this call on the kernel kills all tracees if this process dies.  Reaps killed
 * tracees until `hold` is readable.  Returns true if a byte came: all may go on.  Returns
 * false if `hold` is at its end, since pid 1 has died: then no process may run again, and
 * this function has killed all. */
bool seize_hold(struct seized *s, int hold);

/* From this call on the kernel detaches the tracees if this process dies, and does not
 * kill them.  Must come before seize_release(), since the first process that goes on may
 * kill or stop this one. */
void seize_disarm(const struct seized *s);

/* Continues all tracees that have stopped; the kernel detaches the others when this
 * process exits, which must be soon.  Frees `s`. */
void seize_release(struct seized *s);

/* Returns why a process could not be seized, judged by its /proc/PID/status.  `text` is
 * not trusted: a program chooses its own name, though only on one line. */
enum seize_verdict {
	SEIZE_IS_GONE,	  /* it has ended */
	SEIZE_IS_OURS,	  /* we trace it already */
	SEIZE_IS_TRACED,  /* another process traces it */
	SEIZE_IS_ENTERED, /* its parent is outside: the process has entered the sandbox
			   * for a moment */
	SEIZE_IS_DENIED
};
enum seize_verdict seize_judge(const char *text, int self);

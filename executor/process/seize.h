/* seize -- stops all processes inside but pid 1, by tracing them.
 *
 * A process escapes a SIGSTOP if a timer sends it SIGCONT.  It does not escape a
 * tracer: in a ptrace-stop it runs no more until its tracer lets it go or dies,
 * whatever signals it gets, but for SIGKILL (ptrace(2)).  No process inside learns of
 * it: parents hear of no stop, job control sees nothing, and a process that was stopped
 * before is stopped afterwards.
 *
 * Theory of operation.  Each thread that /proc shows is seized (PTRACE_SEIZE) and asked
 * to stop (PTRACE_INTERRUPT), which it does before it executes another instruction of
 * its own; a system call in progress ends first.  The children of a seized process are
 * seized from their birth (PTRACE_O_TRACEFORK and its kin).  When all known threads
 * have stopped, /proc is read again, which finds the children of a process that was not
 * seized yet.  A process that keeps forking and exiting escapes one reading only if its
 * next pid lies before the place that is being read, that is, if pids have wrapped
 * around.  Pids cannot wrap twice within two readings, so the search ends after two
 * readings in a row that find nothing new.
 *
 * A parent in vfork(2) waits for its child in the kernel and cannot stop before.  It
 * counts as stopped if the kernel says that it waits there (/proc/PID/wchan): its child
 * is stopped, and the stop that was asked for comes before anything else that the
 * parent does.
 *
 * PTRACE_SEIZE waits for an execve(2) of another thread of that process, which waits
 * for a thread that has died and that we have to reap.  Therefore an alarm interrupts
 * PTRACE_SEIZE, and the seizure is tried again.  If nothing goes on all the same, the
 * executor kills us (freezer.h).  Before seize_hold() our death harms no process: the
 * kernel detaches the tracees.  From then on the kernel kills them (PTRACE_O_EXITKILL).
 *
 * This module runs in a process of its own, with CAP_SYS_PTRACE over the sandbox's user
 * namespace. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "protocol/message.h"

/* Stops all, until `due` in ms of clock.h at most; `proc` is tree.h's. *ret is
 * FREEZE_STANDS or says why all could not be stopped: then all go on when we exit.  The
 * `number` of *ret is not set. */
struct seized;
struct seized *seize_all(int proc, int64_t due, struct frozen *ret);

/* From here on all tracees are killed if we die.  Reaps killed tracees until `hold` is
 * readable.  True: a byte came, which lets all go on.  False: `hold` has hung up, as it
 * does when pid 1 is killed: then no process may run again, and all are killed here,
 * before the kernel does it. */
bool seize_hold(struct seized *s, int hold);

/* From here on our death detaches the tracees again.  Comes before seize_release(),
 * because the first process that goes on may kill or stop us. */
void seize_disarm(const struct seized *s);

/* Lets all go on; the kernel detaches the rest when we exit, which must be soon.  Frees
 * `s`. */
void seize_release(struct seized *s);

/* Judges a process that could not be seized by its /proc/PID/status.  `text` is
 * hostile: a program sets its own name, though on one line. */
enum seize_verdict {
	SEIZE_IS_GONE,	  /* it has ended */
	SEIZE_IS_OURS,	  /* we trace it already */
	SEIZE_IS_TRACED,  /* another process traces it */
	SEIZE_IS_ENTERED, /* its parent is outside: it entered the sandbox, for a moment */
	SEIZE_IS_DENIED
};
enum seize_verdict seize_judge(const char *text, int self);

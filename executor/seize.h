/* seize -- all processes inside but pid 1, stopped by tracing them.
 *
 * A SIGSTOP does not hold whoever has a timer with SIGCONT.  A tracer does: a process
 * in a ptrace-stop runs no more until its tracer lets it go or dies, whatever signals it
 * gets, but for SIGKILL (ptrace(2)).  Nobody inside is told: parents hear of no stop,
 * job control sees nothing, and who was stopped before is stopped afterwards.
 *
 * Theory of operation.  Each thread that /proc shows is seized (PTRACE_SEIZE) and asked to
 * stop (PTRACE_INTERRUPT), which it does before it executes another instruction of its
 * own; a system call that it is in ends first.  What a seized one forks is seized from its
 * birth (PTRACE_O_TRACEFORK and its kin).  When all that are known stand, /proc is read
 * again: whoever was born to one not seized yet is found then.  A process that forks
 * and dies all the time could have its next number behind the place that is being read,
 * though only where numbers begin anew; that cannot happen twice within two readings.  So
 * two readings in a row find nothing new, or it goes on.
 *
 * A parent in vfork(2) waits for its child in the kernel and cannot come to a stop before.
 * It stands, if the kernel says that it waits there (/proc/PID/wchan): its child stands,
 * and the stop that was asked for comes before anything else that it does.
 *
 * PTRACE_SEIZE waits for an execve(2) of another thread of that process, which waits for
 * a thread that has died and that we have to reap.  So an alarm gets us out of it, and it
 * is tried again.  If nothing goes on all the same, whoever has started us kills us
 * (freezer.h).  Until seize_hold() that does nobody any harm: the kernel lets go whom a
 * dead tracer had.  From then on it ends them (PTRACE_O_EXITKILL).
 *
 * This is a process of its own, with CAP_SYS_PTRACE over the sandbox's user namespace. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/message.h"

/* Stops all until they stand, in ms of clock.h; `proc` is tree.h's.  *ret says why they do
 * not: then all go on when we exit.  Its `number` is not set. */
struct seized;
struct seized *seize_all(int proc, int64_t due, struct frozen *ret);

/* From here on all end with us.  Reaps the processes that others kill, until a byte comes from
 * `hold`, which lets all go on: true; or until it has hung up, as it does when pid 1 is killed:
 * then no process may run again, and all are killed before the kernel gets to that. */
bool seize_hold(struct seized *s, int hold);

/* From here on our end lets all go again.  It comes before seize_release(), because the first
 * process that goes on may kill or stop us. */
void seize_disarm(const struct seized *s);

/* Lets all go on, the rest when we exit, which must be soon.  Frees. */
void seize_release(struct seized *s);

/* How the kernel's word about a process, /proc/PID/status, is to be taken that may not be
 * seized.  `text` is hostile: a program names itself, though on one line. */
enum seize_verdict {
	SEIZE_IS_GONE,	 /* it has ended */
	SEIZE_IS_OURS,	 /* we trace it already */
	SEIZE_IS_TRACED, /* another does */
	SEIZE_IS_GUEST,	 /* one that came from outside, for a moment */
	SEIZE_IS_DENIED
};
enum seize_verdict seize_judge(const char *text, int self);

/* all_processes -- signals and pauses all processes inside but the executor.
 *
 * kill(2) of -1 from the init of a pid namespace reaches every other process in it:
 * orphans, processes in sessions of their own, other users.  A process that forks
 * meanwhile is hit with its child (copy_process(), since 4.20).  The kernel checks each
 * target: the same user, or CAP_KILL over it, which the executor has if there are
 * several users (caps.h), over user namespaces made inside, too.  The kernel does not
 * tell which processes it left out.
 *
 * *Paused* is the time from a SIGSTOP to all to the next SIGCONT to all, or while all
 * are held by other means: by the supervisor with a cgroup's freezer, or by a process
 * that traces them (freezer.h).  Time stands still meanwhile: the time-outs of actions
 * use all_processes_now().
 *
 * A shell with job control waits for stopped children, too.  If it sees its foreground
 * job stopped it goes on without that job, and a pause must not cause that.  Therefore
 * the leaders (struct leader) are stopped first, and the rest when the kernel says that
 * the leaders have stopped; and the foreground of a terminal is continued before its
 * leader is.  A shell inside another shell may still notice a pause. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* A child of ours that leads the session of a terminal. */
struct leader {
	pid_t pid;  /* not reaped */
	int master; /* borrowed; -1: it has hung up */
};

struct leaders {
	struct leader *all; /* owned */
	size_t count;
};

void leaders_add(struct leaders *l, pid_t pid, int master);
void leaders_done(struct leaders *l);

/* A zeroed struct: nothing happened yet. */
struct all_processes {
	int64_t since; /* paused since then, in ms of clock.h; 0: not paused */
	int64_t stood; /* total length of the pauses that are over */
	int64_t due;   /* the next step for the leaders (stop the rest, or ask again); 0:
		        * none */
	uint32_t asked; /* number of SIGSTOPs to all so far, */
	uint32_t stopped; /* and the last of these that all have got; a SIGCONT may have
			   * come since */
	bool is_held;	/* paused by other means than signals */
	bool is_traced; /* held by a tracer: a process that starts then would not be
			 * stopped */
	bool is_ending; /* all were asked to end: the executor starts nothing by itself
			 * any more */
};

/* `now` is in ms of clock.h in all of these.
 *
 * -1: we are not the init of a pid namespace, and -1 would signal all of the user's
 * processes. */
int all_processes_signal(struct all_processes *a, int signo, const struct leaders *l,
			 int64_t now, struct err *e);

/* The supervisor holds all processes by a cgroup's freezer, or no longer. */
void all_processes_hold(struct all_processes *a, bool is_held, int64_t now);

/* A tracer holds all processes, or no longer. */
void all_processes_trace(struct all_processes *a, bool is_traced, int64_t now);

/* Asks all to end, paused or not: by SIGTERM, and interactive shells by SIGHUP. */
int all_processes_ask_to_end(struct all_processes *a, const struct leaders *l,
			     int64_t now, struct err *e);

/* Called while all_processes_due() is not 0: after SIGCHLD, and when that time has come. */
void all_processes_look(struct all_processes *a, const struct leaders *l, int64_t now);
int64_t all_processes_due(const struct all_processes *a);

/* The step that all_processes_look() takes, depending on whether all leaders have
 * stopped. */
enum all_processes_step {
	ALL_PROCESSES_WAITS,
	ALL_PROCESSES_STOPS,	 /* the other processes are stopped, too */
	ALL_PROCESSES_IS_ASKED, /* the leaders get SIGHUP once more */
};
enum all_processes_step all_processes_step(const struct all_processes *a, bool all_stand,
					   int64_t now);

/* True when there is no other process, not even one to be reaped. */
bool all_processes_is_gone(void);

/* The clock for time-outs inside, in ms.  It stands still during a pause, so one `now`
 * gives one time, even if a pause begins or ends at that moment. */
int64_t all_processes_now(const struct all_processes *a, int64_t now);
/* How long poll(2) is to wait from `now` until `due`, which is in ms of all_processes_now();
 * INT64_MAX is for ever.  -1: until something else happens. */
int all_processes_wait(const struct all_processes *a, int64_t due, int64_t now);
bool all_processes_is_paused(const struct all_processes *a);
/* Paused by signals: a new process must get SIGSTOP, too. */
bool all_processes_is_stopped(const struct all_processes *a);

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
	pid_t pid;  /* of a child that is not reaped, so the number is its own */
	int master; /* borrowed; the terminal's master; -1: the terminal has hung up */
};

struct leaders {
	struct leader *all; /* owned; the array of `count` leaders */
	size_t count;
};

void leaders_add(struct leaders *l, pid_t pid, int master);
void leaders_done(struct leaders *l);

/* The state of the pause and of the sandbox's end.  A zeroed struct means that neither
 * was asked for yet. */
struct all_processes {
	int64_t since; /* when the present pause began, in ms of clock.h; 0: not paused */
	int64_t stood; /* total length of the pauses that are over */
	int64_t due;   /* when the leaders' next step (stop the rest, or ask again) is
		        * due; 0: none */
	uint32_t asked; /* number of SIGSTOPs to all processes that were asked for so
			 * far */
	uint32_t stopped; /* number of the last of these SIGSTOPs that all processes have
			   * got; a SIGCONT may have come since */
	bool is_held;	/* paused by other means than signals */
	bool is_traced; /* held by a tracer: a process that starts during this pause would
			 * not be stopped */
	bool is_ending; /* all processes were asked to end: the executor starts nothing by
			 * itself any more */
};

/* Sends a signal to all processes but the executor; SIGSTOP begins a pause, SIGCONT ends
 * it.  `now` is in ms of clock.h, here and below.  Returns -1 if we are not the init of a
 * pid namespace, since kill(2) of -1 would then signal all of the user's processes. */
int all_processes_signal(struct all_processes *a, int signo, const struct leaders *l,
			 int64_t now, struct err *e);

/* Called when the supervisor has begun (`is_held`) or ended a hold of all processes by a
 * cgroup's freezer: time-outs stand still meanwhile. */
void all_processes_hold(struct all_processes *a, bool is_held, int64_t now);

/* Called when a tracer has begun (`is_traced`) or ended a hold of all processes:
 * time-outs stand still meanwhile. */
void all_processes_trace(struct all_processes *a, bool is_traced, int64_t now);

/* Asks all processes to end, paused or not: by SIGTERM, and interactive shells by
 * SIGHUP. */
int all_processes_ask_to_end(struct all_processes *a, const struct leaders *l,
			     int64_t now, struct err *e);

/* Does the next step of a pause or of the end.  Called while all_processes_due() is not
 * 0: after SIGCHLD, and when that time has come. */
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

/* Returns true when the executor has no child: no other process is in the sandbox, not
 * even one to be reaped. */
bool all_processes_is_gone(void);

/* Returns the time of a clock for time-outs inside, in ms.  This clock stands still
 * during a pause, so one `now` gives one time, even if a pause begins or ends at that
 * moment. */
int64_t all_processes_now(const struct all_processes *a, int64_t now);
/* Returns how many ms poll(2) is to wait from `now` until `due`, which is in ms of
 * all_processes_now(); a `due` of INT64_MAX never comes.  -1: poll(2) is to wait for an
 * event alone. */
int all_processes_wait(const struct all_processes *a, int64_t due, int64_t now);
bool all_processes_is_paused(const struct all_processes *a);
/* Returns true during a pause by signals: a process that is started then must get
 * SIGSTOP, too. */
bool all_processes_is_stopped(const struct all_processes *a);

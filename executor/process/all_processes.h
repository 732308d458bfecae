/* all_processes -- signals and pauses all processes inside but the executor.
 *
 * kill(2) of -1 from the init of a pid namespace reaches every other process in it:
 * orphans, processes in sessions of their own, other users.  A process that forks
 * meanwhile is hit with its child (copy_process(), since 4.20).  The kernel signals a
 * process only if it has our user id, or if we have CAP_KILL over its user namespace.
 * The executor has CAP_KILL if there are several users (caps.h); it also covers user
 * namespaces made inside.  The kernel does not say which processes it left out.
 *
 * A *pause* lasts from a SIGSTOP to all processes until the next SIGCONT to all.  Two
 * other means also make one: the supervisor's use of a cgroup's freezer, and a process
 * that traces all others (freezer.h).  Time-outs of actions stand still during a pause:
 * they use all_processes_now().
 *
 * A shell with job control waits for stopped children, too.  If it sees its foreground
 * job stopped it goes on without that job, and a pause must not cause that.  Therefore a
 * pause stops the leaders (struct leader) first, and the other processes when the kernel
 * says that the leaders have stopped; its end continues the foreground group of a
 * terminal before the leader.  A shell inside another shell may still notice a pause. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* A child of ours that leads the session of a terminal, such as a shell. */
struct leader {
	pid_t pid;  /* of a child that is not reaped yet, so the pid cannot have been
		     * reused */
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
	int64_t due;   /* when all_processes_look() must do its next step (stop the other
		        * processes, or send SIGHUP again); 0: never */
	uint32_t asked; /* how many pauses by SIGSTOP were requested so far */
	uint32_t stopped; /* the value of `asked` when all processes last got SIGSTOP; a
			   * SIGCONT may have followed */
	bool is_held;	/* paused by a cgroup's freezer or a tracer, not by SIGSTOP */
	bool is_traced; /* paused by a tracer: a process that starts during this pause
			 * would not be stopped */
	bool is_ending; /* all processes were asked to end: from now on the executor
			 * starts no shell by itself */
};

/* Sends a signal to all processes but the executor; SIGSTOP begins a pause, SIGCONT ends
 * it.  `now` is in ms of clock.h, here and below.  Returns -1 if we are not the init of a
 * pid namespace, since kill(2) of -1 would then signal all of the user's processes. */
int all_processes_signal(struct all_processes *a, int signo, const struct leaders *l,
			 int64_t now, struct err *e);

/* Called when the supervisor has stopped all processes with a cgroup's freezer
 * (`is_held`), or lets them go on: time-outs stand still in between. */
void all_processes_hold(struct all_processes *a, bool is_held, int64_t now);

/* Called when a tracer begins to stop all processes (`is_traced`), or lets them go on:
 * time-outs stand still in between. */
void all_processes_trace(struct all_processes *a, bool is_traced, int64_t now);

/* Asks all processes to end, and ends a pause: sends SIGTERM, and SIGHUP for interactive
 * shells, which ignore SIGTERM. */
int all_processes_ask_to_end(struct all_processes *a, const struct leaders *l,
			     int64_t now, struct err *e);

/* Does the next step of a pause or of the sandbox's end.  Called while
 * all_processes_due() is not 0: after each SIGCHLD, and at the time that
 * all_processes_due() returns. */
void all_processes_look(struct all_processes *a, const struct leaders *l, int64_t now);
int64_t all_processes_due(const struct all_processes *a);

/* The step that all_processes_look() takes, depending on whether all leaders have
 * stopped. */
enum all_processes_step {
	ALL_PROCESSES_WAITS,
	ALL_PROCESSES_STOPS,	 /* SIGSTOP is sent to all other processes */
	ALL_PROCESSES_IS_ASKED, /* the leaders get SIGHUP again */
};
enum all_processes_step all_processes_step(const struct all_processes *a, bool all_stand,
					   int64_t now);

/* Returns true when the executor has no child: no other process is in the sandbox, not
 * even one to be reaped. */
bool all_processes_is_gone(void);

/* Returns the time, in ms, of a clock that stands still during a pause; time-outs inside
 * use it.  `now` is in ms of clock.h. */
int64_t all_processes_now(const struct all_processes *a, int64_t now);
/* Returns the time-out in ms with which poll(2) is to wait from `now` until `due`, which
 * is in ms of all_processes_now(), or INT64_MAX for never.  -1: poll(2) needs no
 * time-out. */
int all_processes_wait(const struct all_processes *a, int64_t due, int64_t now);
bool all_processes_is_paused(const struct all_processes *a);
/* Returns true during a pause by SIGSTOP: a process that is started during it must get
 * SIGSTOP, too. */
bool all_processes_is_stopped(const struct all_processes *a);

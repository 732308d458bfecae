#include "executor/process/all_processes.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

/* How long a pause waits for the leaders (struct leader) to stop before it stops the
 * other processes anyway.  A leader in an uninterruptible call does not stop; on a busy
 * machine a leader may need a while. */
#define LEADERS_MS 2000
/* A bash forgets a SIGHUP that comes between its prompt and its read(2), so the leaders
 * get another one after this time. */
#define AGAIN_MS 500

void leaders_add(struct leaders *l, pid_t pid, int master)
{
	l->all = mem_resize(l->all, l->count + 1, sizeof(*l->all));
	l->all[l->count++] = (struct leader){ pid, master };
}

void leaders_done(struct leaders *l)
{
	free(l->all);
	*l = (struct leaders){ 0 };
}

/* Signals all processes but the executor, if there are any; if not, the call is avoided,
 * since kill(2) of -1 walks all processes of the host.  Errors are ignored: no process is
 * left, or the others may not be signalled. */
static void send_all(int signo)
{
	if (!all_processes_is_gone())
		(void)kill(-1, signo);
}

/* --- pause ----------------------------------------------------------------- */

static void begin_pause(struct all_processes *a, const struct leaders *l, int64_t now)
{
	a->since = a->since ? a->since : now;
	a->due = now + LEADERS_MS;
	a->asked++;
	for (size_t i = 0; i < l->count; i++)
		(void)kill(l->all[i].pid, SIGSTOP); /* the leader is not reaped yet, so
						     * its pid cannot have been reused */
	all_processes_look(a, l, now);
}

/* Returns true if a leader has stopped, or died.  With WNOWAIT waitid(2) does not use the
 * status up, so that the normal reaping still gets it. */
static bool stands(const struct leader *one)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)one->pid, &info,
		      WSTOPPED | WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid != 0;
}

static bool all_stand(const struct leaders *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (!stands(&l->all[i]))
			return false;
	return true;
}

static void ask_again(struct all_processes *a, const struct leaders *l, int64_t now)
{
	a->due = now + AGAIN_MS;
	for (size_t i = 0; i < l->count; i++)
		(void)kill(l->all[i].pid, SIGHUP); /* the leader is not reaped yet, so its
						    * pid cannot have been reused */
}

enum all_processes_step all_processes_step(const struct all_processes *a, bool all_stand,
					   int64_t now)
{
	bool is_late = clock_is_due(a->due, now);

	if (a->is_ending)
		return is_late ? ALL_PROCESSES_IS_ASKED : ALL_PROCESSES_WAITS;
	return a->due && (is_late || all_stand) ? ALL_PROCESSES_STOPS
						: ALL_PROCESSES_WAITS;
}

static void stop_rest(struct all_processes *a)
{
	a->due = 0;
	send_all(SIGSTOP);
	a->stopped = a->asked;
}

void all_processes_look(struct all_processes *a, const struct leaders *l, int64_t now)
{
	switch (all_processes_step(a, a->due && !a->is_ending && all_stand(l), now)) {
	case ALL_PROCESSES_WAITS:
		return;
	case ALL_PROCESSES_STOPS:
		return stop_rest(a);
	case ALL_PROCESSES_IS_ASKED:
		return ask_again(a, l, now);
	}
}

int64_t all_processes_due(const struct all_processes *a)
{
	return a->due;
}

/* Continues the foreground group of a leader's terminal before the leader.  The kernel
 * counts a group as continued from the moment of kill(2), whether its processes run yet
 * or not (prepare_signal()), so the leader sees no stopped job. */
static void continue_foreground(const struct leader *one)
{
	pid_t group = 0;

	if (ioctl(one->master, TIOCGPGRP, &group) == 0 && group > 1 && group != one->pid)
		(void)kill(-group, SIGCONT); /* fails if the group has just ended */
}

static void let_time_go_on(struct all_processes *a, int64_t now)
{
	if (a->since)
		a->stood += now - a->since;
	a->since = a->due = 0;
	a->is_held = a->is_traced = false;
}

static void end_pause(struct all_processes *a, const struct leaders *l, int64_t now)
{
	for (size_t i = 0; i < l->count; i++)
		continue_foreground(&l->all[i]);
	send_all(SIGCONT);
	let_time_go_on(a, now);
}

/* Begins or ends a pause that a cgroup's freezer or a tracer makes.  A pause that
 * all_processes_ask_to_end() or a SIGCONT to all has ended already is not ended again. */
void all_processes_hold(struct all_processes *a, bool is_held, int64_t now)
{
	if (!is_held && a->is_held)
		let_time_go_on(a, now);
	if (!is_held || a->since || a->is_ending)
		return;
	a->since = now;
	a->is_held = true;
}

void all_processes_trace(struct all_processes *a, bool is_traced, int64_t now)
{
	all_processes_hold(a, is_traced, now);
	a->is_traced = is_traced && a->is_held;
}

int64_t all_processes_now(const struct all_processes *a, int64_t now)
{
	return (a->since ? a->since : now) - a->stood;
}

int all_processes_wait(const struct all_processes *a, int64_t due, int64_t now)
{
	if (due == INT64_MAX)
		return -1;
	due -= all_processes_now(a, now);
	if (due > 0 && all_processes_is_paused(a))
		return -1; /* `due` is on a clock that stands still during a pause, so it
			    * cannot come before the pause ends */
	return due < 0 ? 0 : due > INT_MAX ? INT_MAX : (int)due;
}

bool all_processes_is_paused(const struct all_processes *a)
{
	return a->since != 0;
}

bool all_processes_is_stopped(const struct all_processes *a)
{
	return all_processes_is_paused(a) && !a->is_held;
}

/* --- signals --------------------------------------------------------------- */

/* Fails if we are not pid 1 of a pid namespace: there, kill(2) of -1 would reach every
 * process of this user on the machine. */
static int must_be_init(struct err *e)
{
	if (getpid() == 1)
		return 0;
	return err_set(e, ERR_INTERNAL,
		       "a signal to all processes, but this is not pid 1");
}

int all_processes_signal(struct all_processes *a, int signo, const struct leaders *l,
			 int64_t now, struct err *e)
{
	if (must_be_init(e) < 0)
		return -1;
	if (signo == SIGSTOP)
		begin_pause(a, l, now);
	else if (signo == SIGCONT)
		end_pause(a, l, now);
	else
		send_all(signo);
	return 0;
}

int all_processes_ask_to_end(struct all_processes *a, const struct leaders *l,
			     int64_t now, struct err *e)
{
	if (must_be_init(e) < 0)
		return -1;
	a->is_ending = true;
	/* An interactive shell ignores SIGTERM, so it gets SIGHUP.  The shell gets it
	 * before its running command is ended; otherwise it would go on with the next
	 * command. */
	for (size_t i = 0; i < l->count; i++)
		(void)kill(l->all[i].pid, SIGHUP); /* the leader is not reaped yet, so its
						    * pid cannot have been reused */
	if (!all_processes_is_gone()) {
		(void)kill(-1, SIGTERM);
		(void)kill(-1, SIGHUP);
	}
	end_pause(a, l, now);
	a->due = now + AGAIN_MS;
	return 0;
}

/* Every process in our pid namespace descends from us, so without a child of ours there
 * is no other process. */
bool all_processes_is_gone(void)
{
	const int only_look = WEXITED | WNOHANG | WNOWAIT;
	siginfo_t info;

	return waitid(P_ALL, 0, &info, only_look) < 0 && errno == ECHILD;
}

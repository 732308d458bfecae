#include "executor/executor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/edit/lints.h"
#include "executor/fileops/errands.h"
#include "executor/requests.h"

/* The executor answers at most this many requests in a row before it serves the running
 * commands. */
#define REQUESTS_AT_ONCE 16

/* The indices in the array for poll(2); the commands' entries follow. */
enum { POLL_CHANNEL, POLL_SIGNALS, POLL_PORT_CONNECT, POLL_FREEZER, POLL_COMMANDS };

static sigset_t only_sigchld(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD); /* the arguments are valid */
	return set;
}

/* Sets all signals to their default action: an ignored signal stays ignored over
 * execve(2), that of the executor and those of the commands.  This calls the kernel,
 * since libc's sigaction(2) refuses the signals 32 to 34, and the program that started
 * the executor may have left these ignored.  An all-zero struct is SIG_DFL in the kernel,
 * whatever the struct's size is on this architecture. */
static void set_signals_to_default(void)
{
	static const unsigned long defaults[8] = { 0 };

	for (int signo = 1; signo < NSIG; signo++)
		(void)syscall(SYS_rt_sigaction, signo, defaults, NULL, (NSIG - 1) / 8);
}

int executor_protect(struct err *e)
{
	sigset_t blocked = only_sigchld();

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) /* layer: executor-undumpable */
		return err_sys(e, "become undumpable");
	set_signals_to_default();
	if (sigprocmask(SIG_SETMASK, &blocked, NULL) < 0)
		return err_sys(e, "block SIGCHLD");
	(void)setsid(); /* fails when the executor leads a session already */
	return 0;
}

/* Called when a child that is no command has ended, before it is reaped: its pid cannot
 * have been reused yet. */
static void child_is_ending(void *executor, pid_t pid)
{
	struct executor *x = executor;

	sessions_dying(&x->sessions, pid);
	plugins_dying(&x->plugins, pid);
}

static void child_ended(void *executor, pid_t pid, int status)
{
	struct executor *x = executor;

	if (!freezer_reaped(&x->freezer, pid, x->now) &&
	    !workers_reaped(&x->workers, pid) &&
	    !plugins_reaped(&x->plugins, pid, status, executor_now(x)))
		sessions_reaped(&x->sessions, pid, status, executor_now(x));
}

static void executor_init(struct executor *x, int channel, int proc, int logs)
{
	*x = (struct executor){ .phase = PHASE_READY, .now = clock_ms(), .signals = -1,
				.proc = proc };
	channel_init(&x->channel, channel);
	freezer_init(&x->freezer, proc, &x->user.caps);
	processes_init(&x->processes);
	x->sessions = (struct sessions){ .replies = &x->replies,
					 .processes = &x->processes,
					 .user = &x->user,
					 .all_processes = &x->all_processes,
					 .proc = proc,
					 .output_logs = &x->output_logs };
	output_logs_init(&x->output_logs, logs);
	port_connect_init(&x->port_connect, &x->processes);
	x->workers = (struct workers){ .replies = &x->replies,
				       .processes = &x->processes,
				       .user = &x->user,
				       .all_processes = &x->all_processes };
	x->plugins = (struct plugins){ .replies = &x->replies,
				       .processes = &x->processes,
				       .sessions = &x->sessions,
				       .undo = &x->undo,
				       .user = &x->user,
				       .proc = proc };
	x->processes.before_other = child_is_ending;
	x->processes.on_other = child_ended;
	x->processes.context = x;
}

static void executor_done(struct executor *x)
{
	channel_done(&x->channel);
	freezer_done(&x->freezer);
	port_connect_done(&x->port_connect);
	plugins_done(&x->plugins);
	processes_done(&x->processes);
	sessions_done(&x->sessions);
	workers_done(&x->workers);
	output_logs_done(&x->output_logs);
	send_queue_done(&x->replies);
	undo_done(&x->undo);
	own_close(&x->signals);
	own_close(&x->proc);
}

static int say_hello(struct executor *x, struct err *e)
{
	if (user_init(&x->user) < 0)
		return err_sys(e, "settle capabilities");
	x->user.caps.others = x->others;
	struct hello hello = {
		.version = PROTOCOL_VERSION,
		.pid = (uint32_t)getpid(),
		.uid = x->user.uid,
		.gid = x->user.gid,
		.caps = x->user.caps.permitted,
	};
	if (message_put_hello(&x->channel.out, &hello, e) < 0)
		return -1;
	return channel_flush(&x->channel, e);
}

/* Returns true if too much output waits to be sent; no further request is read until it
 * was sent. */
static bool is_full(const struct executor *x)
{
	return channel_is_full(&x->channel) || send_queue_is_full(&x->replies);
}

/* Returns true if clients may still have output of servers inside to read.  After the
 * last process of the sandbox has ended, that data is still in the servers' sockets, and
 * the executor may not have seen the end of each connection yet. */
static bool has_last_words(const struct executor *x)
{
	if (x->phase != PHASE_LAST && x->phase != PHASE_ENDING)
		return false;
	if (port_connect_are_reported(&x->port_connect) || !all_processes_is_gone())
		return false;
	return ending_waits_for_words(&x->ending, x->now);
}

/* Returns true if no process is left, and all reports about processes were sent. */
static bool has_emptied(const struct executor *x)
{
	return all_processes_is_gone() && x->processes.count == 0 &&
	       !sessions_have_more(&x->sessions) && send_queue_is_empty(&x->replies) &&
	       !channel_has_output(&x->channel) && !has_last_words(x);
}

static bool is_over(const struct executor *x)
{
	if (x->phase == PHASE_ENDING)
		return ending_is_due(&x->ending, x->now) || has_emptied(x);
	return x->processes.is_over && !channel_has_output(&x->channel);
}

/* Reads the clock.  Called before each step that sets or checks deadlines: the steps
 * before it may have blocked, and a deadline computed from an older time would come too
 * early. */
static void look_at_clock(struct executor *x)
{
	x->now = clock_ms();
}

/* Answers the requests that have arrived.  A request may wait for a slow file system, so
 * the clock is read before each one. */
static int answer_requests(struct executor *x, struct err *e)
{
	for (int i = 0; i < REQUESTS_AT_ONCE && !is_over(x); i++) {
		struct frame f;
		if (is_full(x) || (i > 0 && sessions_have_worked(&x->sessions)))
			return 0;
		int got = channel_receive(&x->channel, &f, e);
		if (got <= 0)
			return got;
		look_at_clock(x);
		if (request_answer(x, &f, e) < 0 ||
		    channel_received(&x->channel, &f, e) < 0)
			return -1;
	}
	return 0;
}

/* Takes SIGCHLD from the signalfd(2).  The signal's data is not used, since any process
 * inside can send SIGCHLD: the signal is only a reason to look for dead children.  One
 * read is enough, since the kernel queues at most one SIGCHLD. */
static void forget_signal(int signals)
{
	struct signalfd_siginfo info;

	(void)!read(signals, &info, sizeof(info));
}

_Static_assert(ERRANDS_MAX + LINTS_MAX <= WORKERS_MAX, "one kind keeps another out");

/* How many poll entries each part of the executor has in this turn. */
struct watched {
	size_t commands, sessions, workers, plugins;
};

static struct watched watch(struct executor *x, struct pollfd *fds)
{
	bool is_behind = channel_is_full(&x->channel) ||
			 !send_queue_is_empty(&x->replies);
	short events = is_full(x) ? 0 : POLLIN;
	struct watched w;

	if (channel_has_output(&x->channel))
		events |= POLLOUT;
	fds[POLL_CHANNEL] = (struct pollfd){ .fd = x->channel.fd, .events = events };
	fds[POLL_SIGNALS] = (struct pollfd){ .fd = x->signals, .events = POLLIN };
	fds[POLL_PORT_CONNECT] = (struct pollfd){ .fd = port_connect_fd(&x->port_connect),
						  .events = POLLIN };
	freezer_watch(&x->freezer, fds + POLL_FREEZER);
	w.commands = processes_watch(&x->processes, fds + POLL_COMMANDS);
	w.sessions = sessions_watch(&x->sessions, fds + POLL_COMMANDS + w.commands,
				    is_behind);
	w.workers = workers_watch(&x->workers,
				  fds + POLL_COMMANDS + w.commands + w.sessions);
	w.plugins = plugins_watch(
		&x->plugins, fds + POLL_COMMANDS + w.commands + w.sessions + w.workers,
		is_behind);
	return w;
}

static int report_pause(struct executor *x, struct err *e)
{
	if (x->reported_stopped == x->all_processes.stopped)
		return 0;
	x->reported_stopped = x->all_processes.stopped;
	return message_put_paused(&x->channel.out, x->reported_stopped, e);
}

static int end_freeze(struct executor *x, const struct frozen *what, struct err *e)
{
	if (what->why != FREEZE_STANDS)
		all_processes_trace(&x->all_processes, false, x->now);
	return message_put_frozen(&x->channel.out, what, e);
}

static int look_at_freezer(struct executor *x, struct err *e)
{
	struct frozen what;

	/* The freezer (freezer.h) has died during a pause.  The tracees for which it had
	 * not set PTRACE_O_EXITKILL yet run again, so the pause is broken. */
	if (x->freezer.is_lost)
		return err_set(e, ERR_INTERNAL,
			       "the process that held all others was killed");
	return freezer_serve(&x->freezer, x->now, &what) ? end_freeze(x, &what, e) : 0;
}

int executor_freeze(struct executor *x, uint32_t number, struct err *e)
{
	const struct frozen none = { .number = number, .why = FREEZE_FAILED };

	if (number > 0 &&
	    (x->all_processes.is_ending || all_processes_is_paused(&x->all_processes)))
		return message_put_frozen(&x->channel.out, &none, e);
	all_processes_trace(&x->all_processes, number > 0, x->now);
	if (number > 0)
		freezer_start(&x->freezer, number, x->now);
	else
		freezer_release(&x->freezer);
	return 0;
}

/* Sends as many of the waiting reports and answers as the socket takes. */
static int say(struct executor *x, struct err *e)
{
	x->processes.holds_last = has_last_words(x);
	if (x->processes.holds_last)
		ending_expect_words(&x->ending, x->now);
	if (report_pause(x, e) < 0 ||
	    port_connect_report(&x->port_connect, &x->channel.out, e) < 0 ||
	    processes_report(&x->processes, &x->channel.out, e) < 0)
		return -1;
	do {
		if (send_queue_send(&x->replies, &x->channel, e) < 0 ||
		    channel_flush(&x->channel, e) < 0)
			return -1;
	} while (!send_queue_is_empty(&x->replies) && !channel_is_full(&x->channel));
	return 0;
}

struct leaders executor_leaders(const struct executor *x)
{
	struct leaders l = { 0 };

	processes_add_leaders(&x->processes, &l);
	sessions_add_leaders(&x->sessions, &l);
	return l;
}

int64_t executor_now(const struct executor *x)
{
	return all_processes_now(&x->all_processes, x->now);
}

int executor_stop(struct executor *x, uint32_t grace_ms, struct err *e)
{
	x->plugins.is_ending = true;
	ending_ask(&x->ending, grace_ms, x->now);
	freezer_release(&x->freezer);
	if (x->phase == PHASE_ENDING || grace_ms == 0) {
		x->phase = PHASE_ENDING;
		return 0;
	}
	x->phase = PHASE_ENDING;
	struct leaders l = executor_leaders(x);
	int asked = all_processes_ask_to_end(&x->all_processes, &l, x->now, e);
	leaders_done(&l);
	return asked;
}

static void look_at_leaders(struct executor *x)
{
	struct leaders l = executor_leaders(x);

	all_processes_look(&x->all_processes, &l, x->now);
	leaders_done(&l);
}

/* Handles all events of one poll(2).  Sets *has_more if there may be more children to
 * reap, for which no further signal comes. */
static int turn(struct executor *x, const struct pollfd *fds, struct watched w,
		bool *has_more, struct err *e)
{
	processes_serve(&x->processes, fds + POLL_COMMANDS);
	sessions_serve(&x->sessions, fds + POLL_COMMANDS + w.commands, executor_now(x));
	workers_serve(&x->workers, fds + POLL_COMMANDS + w.commands + w.sessions);
	plugins_serve(&x->plugins,
		      fds + POLL_COMMANDS + w.commands + w.sessions + w.workers,
		      executor_now(x));
	if (fds[POLL_SIGNALS].revents)
		forget_signal(x->signals);
	if (fds[POLL_PORT_CONNECT].revents || port_connect_has_more(&x->port_connect))
		port_connect_serve(&x->port_connect);
	if (fds[POLL_SIGNALS].revents || *has_more)
		*has_more = processes_reap(&x->processes);
	look_at_clock(x); /* processes_reap() may have ended a whole process tree, which
			   * can take long */
	sessions_expire(&x->sessions, executor_now(x));
	workers_expire(&x->workers, executor_now(x));
	plugins_expire(&x->plugins, executor_now(x));
	workers_look(&x->workers, executor_now(x));
	const bool is_paused = all_processes_is_paused(&x->all_processes);
	/* layer: stopped-copies */
	processes_look(&x->processes, is_paused, executor_now(x));
	if (all_processes_due(&x->all_processes))
		look_at_leaders(x);
	if (look_at_freezer(x, e) < 0)
		return -1;
	if (x->plugins.is_lost)
		return err_set(e, ERR_INTERNAL,
			       "the executor is not its own user any more");
	if (fds[POLL_CHANNEL].revents & ~POLLOUT && answer_requests(x, e) < 0)
		return -1;
	return say(x, e);
}

static struct pollfd *grow(struct pollfd *fds, const struct executor *x)
{
	size_t count = POLL_COMMANDS + x->processes.count * PROCESSES_FDS +
		       x->sessions.count * SESSION_POLLS + 1 + WORKERS_MAX +
		       x->plugins.count * PLUGIN_POLLS;

	fds = mem_resize(fds, count, sizeof(*fds));
	return fds;
}

/* Returns the shorter of two time-outs of poll(2); -1 means no time-out. */
static int sooner(int a, int b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return a < b ? a : b;
}

/* Returns how many ms poll(2) is to wait for the next deadline. */
static int timeout_of(const struct executor *x, bool has_more)
{
	const int64_t dues[] = { sessions_due(&x->sessions), workers_due(&x->workers),
				 workers_look_due(&x->workers), plugins_due(&x->plugins),
				 processes_look_due(&x->processes) };
	int64_t theirs = INT64_MAX;
	int64_t due = clock_sooner(
		clock_sooner(all_processes_due(&x->all_processes), x->freezer.due),
		ending_next(&x->ending, x->now));

	for (size_t i = 0; i < ARRAY_LEN(dues); i++)
		theirs = dues[i] < theirs ? dues[i] : theirs;
	if (has_more || port_connect_has_more(&x->port_connect) ||
	    sessions_have_more(&x->sessions))
		return 0;
	return sooner(all_processes_wait(&x->all_processes, theirs, x->now),
		      clock_wait(due, x->now));
}

static int loop(struct executor *x, struct err *e)
{
	AUTO_FREE struct pollfd *fds = NULL;
	bool has_more = false;

	while (!is_over(x)) {
		fds = grow(fds, x);
		struct watched w = watch(x, fds);
		look_at_clock(x);
		int timeout = timeout_of(x, has_more);
		nfds_t count =
			POLL_COMMANDS + w.commands + w.sessions + w.workers + w.plugins;
		if (poll(fds, count, timeout) < 0 && errno != EINTR)
			return err_sys(e, "poll");
		look_at_clock(x);
		if (turn(x, fds, w, &has_more, e) < 0)
			return -1;
	}
	return 0;
}

int executor_serve(int channel, int proc, int logs, uint64_t others, struct err *e)
{
	sigset_t watched = only_sigchld();
	struct executor x;

	executor_init(&x, channel, proc, logs);
	x.others = others;
	x.signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	int served = x.signals < 0 ? err_sys(e, "signalfd") : say_hello(&x, e);
	if (served == 0)
		served = loop(&x, e);
	executor_done(&x);
	return served;
}

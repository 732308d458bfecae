/* Theory of operation.
 *
 *	state		leaves it when
 *	ASKED		"started" came			-> RUNNING
 *			"failed" came			-> ENDING
 *	RUNNING		"exited" came: pid 1 is killed	-> ENDING
 *	any		deadline, fatal signal, the
 *			instance's own end (instance.h)	-> ENDING
 *	any		pid 1 was reaped		-> DRAINING
 *	DRAINING	all output is delivered		   done
 *
 * The first result of the run is kept; later ones are ignored.  When pid 1 is gone, no
 * process inside writes any more, and the bytes that are in the output pipes then are
 * all that hutch still delivers.  hutch does not wait for the end of file on these
 * pipes, since their write ends may have been passed on to other processes. */
#include "sandbox/launch/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/note.h"
#include "base/own.h"
#include "egress/launch/egress_news.h"
#include "egress/launch/egress_orders.h"
#include "egress/launch/refused_host.h"
#include "policy/policy.h"
#include "protocol/message.h"
#include "sandbox/kernel/countdown.h"
#include "sandbox/kernel/stdio.h"
#include "sandbox/kernel/terminal.h"
#include "sandbox/launch/instance.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "sandbox/launch/spawn.h"

#define COMMAND_ID 1

enum state { ASKED, RUNNING, ENDING, DRAINING, DONE };

enum watch { WATCH_INSTANCE, WATCH_SIGNALS = WATCH_INSTANCE + INSTANCE_POLLS, WATCH_PUMPS,
	     WATCH_COUNT = WATCH_PUMPS + STDIO_COUNT };

struct supervisor {
	struct run *run;
	struct result *result;
	struct instance instance;
	enum state state;
	bool has_verdict;
	struct countdown countdown;
};

/* Tells whether the caller has set a signal to be ignored, as nohup(1) does; hutch then
 * ignores the signal too. */
static bool is_ignored(int signo)
{
	struct sigaction now;

	return sigaction(signo, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

int supervise_signals(struct err *e)
{
	static const int watched[] = { SIGINT,	SIGTERM, SIGHUP,  SIGQUIT,
				       SIGUSR1, SIGUSR2, SIGWINCH };
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(watched); i++)
		if (!is_ignored(watched[i]))
			(void)sigaddset(&set, watched[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(e, "block signals");
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_sys(e, "signalfd") : fd;
}

/* Kills the sandbox.  The result of the run does not depend on the exit status of pid 1
 * after this. */
static void end_sandbox(struct supervisor *s)
{
	instance_end(&s->instance);
	if (s->state < ENDING)
		s->state = ENDING;
}

static void fail(struct supervisor *s, int code, const struct err *cause)
{
	if (!s->has_verdict)
		result_failed(s->result, code, cause);
	s->has_verdict = true;
	end_sandbox(s);
}

static void send_signal(struct supervisor *s, int signo)
{
	struct err e;

	if (channel_send_signal(&s->instance.channel, COMMAND_ID, (uint32_t)signo, &e) <
	    0)
		instance_broke_protocol(&s->instance, &e);
}

static int on_started(struct supervisor *s, const struct frame *f, struct err *e)
{
	uint32_t pid;

	if (message_get_started(f, &pid, e) < 0)
		return -1;
	s->state = RUNNING;
	return 0;
}

static int on_failed(struct supervisor *s, const struct frame *f, struct err *e)
{
	struct failed failed;

	if (message_get_failed(f, &failed, e) < 0)
		return -1;
	struct err cause;
	int code = result_not_started(&failed, s->run->exec, &cause);
	fail(s, code, &cause);
	return 0;
}

static int on_exited(struct supervisor *s, const struct frame *f, struct err *e)
{
	struct exited x;

	if (message_get_exited(f, &x, e) < 0)
		return -1;
	if (!s->has_verdict && x.is_signaled)
		result_signaled(s->result, (int)x.status);
	else if (!s->has_verdict)
		result_exited(s->result, (int)x.status);
	s->has_verdict = true;
	/* The command has exited, so the executor should end by itself.  The sandbox is
	 * killed without waiting for that. */
	end_sandbox(s);
	return 0;
}

/* The messages that the executor may send, and the state in which it may send each
 * (docs/protocol.md). */
static const struct answer {
	enum state when;
	int (*take)(struct supervisor *, const struct frame *, struct err *);
} answers[MSG_COUNT] = {
	[MSG_STARTED] = { ASKED, on_started },
	[MSG_FAILED] = { ASKED, on_failed },
	[MSG_EXITED] = { RUNNING, on_exited },
};

static int take_frame(void *context, const struct frame *f, struct err *e)
{
	struct supervisor *s = context;
	/* instance.c has checked that the type is in range */
	const struct answer *a = &answers[f->type];

	if (!a->take || s->state != a->when || f->id != COMMAND_ID)
		return err_set(e, ERR_PROTOCOL, "it sent '%s' at the wrong time",
			       message_name(f->type));
	return a->take(s, f, e);
}

static void on_resize(struct supervisor *s)
{
	uint32_t rows, cols;
	struct err e;

	if (!(s->run->exec->flags & EXEC_PTY) || s->state != RUNNING)
		return;
	terminal_size(0, &rows, &cols);
	if (channel_send_resize(&s->instance.channel, COMMAND_ID, rows, cols, &e) < 0)
		instance_broke_protocol(&s->instance, &e);
}

/* Passes on to the command a signal that hutch gets.  If that is not possible, or was
 * done often enough already (countdown.h), hutch ends the sandbox: a user who ends hutch
 * does not expect the sandbox to go on. */
static void on_signal(struct supervisor *s, int signo, int64_t now)
{
	if (signo == SIGWINCH)
		return on_resize(s);
	const bool may_ask = countdown_signal(&s->countdown, signo, now);
	/* A signal is sent in state ASKED too, since the command may be running while
	 * its "started" is still on its way, and the executor handles requests in
	 * order.  No signal is sent before the executor's "hello", which may never
	 * come. */
	if (s->instance.state == INSTANCE_READY && s->state < ENDING && may_ask)
		return send_signal(s, signo);
	if (signo == SIGUSR1 || signo == SIGUSR2)
		return;
	if (!s->has_verdict)
		result_signaled(s->result, signo);
	s->has_verdict = true;
	end_sandbox(s);
	/* hutch ends now, even if the reader of its output does not take the rest. */
	if (s->state == DRAINING)
		s->state = DONE;
}

static void on_signals(struct supervisor *s, int64_t now)
{
	struct signalfd_siginfo info;

	while (read(s->run->signals, &info, sizeof(info)) == sizeof(info))
		on_signal(s, (int)info.ssi_signo, now);
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* Derives the result from the instance's cause of end, unless the run has a result
 * already. */
static void judge(struct supervisor *s)
{
	const struct instance *g = &s->instance;

	if (s->has_verdict)
		return;
	s->has_verdict = true;
	if (g->cause == INSTANCE_DIED && WIFSIGNALED(g->status))
		/* A signal from outside has killed pid 1: the kernel's OOM killer or an
		 * administrator. */
		result_signaled(s->result, WTERMSIG(g->status));
	else if (g->cause == INSTANCE_OUT_OF_MEMORY)
		result_oom(s->result, &g->error);
	else
		result_failed(s->result, EXIT_HUTCH, &g->error);
}

static void on_gone(struct supervisor *s)
{
	s->result->user_s = seconds(&s->instance.used.ru_utime);
	s->result->sys_s = seconds(&s->instance.used.ru_stime);
	s->state = DRAINING;
	stdio_handed_over(s->run->stdio);
	pump_done(&s->run->stdio->pumps[0]);
	pump_finish(&s->run->stdio->pumps[1]);
	pump_finish(&s->run->stdio->pumps[2]);
}

/* Reacts to changes of the instance in this turn: the command may have got its
 * descriptors, or the sandbox may have ended. */
static void look_at_instance(struct supervisor *s)
{
	if (channel_has_passed(&s->instance.channel))
		stdio_handed_over(s->run->stdio);
	if (!instance_is_over(&s->instance) || s->state >= DRAINING)
		return;
	judge(s);
	if (s->state < ENDING)
		s->state = ENDING;
	if (s->instance.state == INSTANCE_GONE)
		on_gone(s);
}

static void on_deadline(struct supervisor *s, int64_t now)
{
	enum countdown_end end;

	while ((end = countdown_expire(&s->countdown, now)) != COUNTDOWN_RUNS) {
		if (!s->has_verdict && end == COUNTDOWN_TIMED_OUT)
			result_timeout(s->result);
		else if (!s->has_verdict)
			result_signaled(s->result, SIGKILL);
		s->has_verdict = true;
		end_sandbox(s);
	}
	instance_expire(&s->instance, now);
}

/* Returns when on_deadline() has to be called, in ms of clock.h; 0: never. */
static int64_t due(const struct supervisor *s)
{
	if (s->state >= DRAINING)
		return 0;
	return clock_sooner(countdown_due(&s->countdown), instance_due(&s->instance));
}

static void watch_list(const struct supervisor *s, struct pollfd w[WATCH_COUNT])
{
	instance_watch(&s->instance, w + WATCH_INSTANCE);
	w[WATCH_SIGNALS] = (struct pollfd){ .fd = s->run->signals, .events = POLLIN };
	for (int i = 0; i < STDIO_COUNT; i++)
		w[WATCH_PUMPS + i] = pump_poll(&s->run->stdio->pumps[i]);
}

static bool has_output_left(const struct stdio *io)
{
	return pump_is_open(&io->pumps[1]) || pump_is_open(&io->pumps[2]);
}

static void serve(struct supervisor *s, const struct pollfd w[WATCH_COUNT], int64_t now)
{
	for (int i = 0; i < STDIO_COUNT; i++)
		if (w[WATCH_PUMPS + i].revents)
			pump_run(&s->run->stdio->pumps[i]);
	instance_serve(&s->instance, w + WATCH_INSTANCE, now);
	look_at_instance(s);
	if (w[WATCH_SIGNALS].revents)
		on_signals(s, now);
	on_deadline(s, now);
	look_at_instance(s);
	if (s->state == DRAINING && !has_output_left(s->run->stdio))
		s->state = DONE;
}

static void turn(struct supervisor *s)
{
	struct pollfd w[WATCH_COUNT];

	watch_list(s, w);
	const int ready = poll(w, WATCH_COUNT, clock_wait(due(s), clock_ms()));
	/* poll(2) fails only with EINTR, after SIGSTOP and SIGCONT */
	if (ready >= 0)
		serve(s, w, clock_ms());
}

/* Tells of a refused host now: a server goes on, and ends with 0 in spite of it. */
static void tell_refused(const struct refused_host *host)
{
	AUTO_FREE char *sentence = refused_host_sentence(host);
	AUTO_FREE char *remedy = refused_host_remedy(host);

	note_print("%s", sentence);
	note_print("hint: %s", remedy);
}

static void on_egress_news(void *context, const struct egress_news *n, int64_t now)
{
	struct supervisor *s = context;

	/* The result has all refused hosts in the end. */
	const struct refused_host *host = launch_hear(s->run->launch, n, now);
	if (host && s->run->launch->policy->is_server && refused_host_is_news(host))
		tell_refused(host);
	if (n->kind == EGRESS_NEWS_ASK)
		egress_deny(launch_egress(s->run->launch), n);
	if (n->kind == EGRESS_NEWS_LOST)
		note_print("note: hutch-egress has ended; the sandbox has no network any "
			   "more");
}

static void start(struct supervisor *s, int64_t now)
{
	struct err e;

	instance_init(&s->instance, now);
	if (channel_send_exec(&s->instance.channel, COMMAND_ID, s->run->exec,
			      s->run->stdio->inside, &e) < 0)
		fail(s, EXIT_HUTCH, &e);
	look_at_instance(s);
}

void supervise_run(struct run *run, struct result *ret)
{
	struct supervisor s = { .run = run, .result = ret };
	const int64_t now = clock_ms();
	struct err e;

	*ret = (struct result){ 0 };
	s.instance = (struct instance){ .sandbox = run->sandbox,
					.context = &s,
					.take = take_frame,
					.watched_memory = run->watched_memory,
					.protect_watch = run->protect_watch,
					.ports = run->ports,
					.egress = run->launch ? launch_egress(run->launch) : NULL,
					.egress_news = on_egress_news };
	countdown_start(&s.countdown, run->timeout_ms, now);
	start(&s, now);
	while (s.state != DONE)
		turn(&s);
	instance_done(&s.instance);
	if (stdio_check(run->stdio, &e) < 0)
		result_undelivered(ret, &e);
}

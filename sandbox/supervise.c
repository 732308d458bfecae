/* Theory of operation.
 *
 *	state		leaves it when
 *	STARTING	"hello" came			-> HELLO
 *	HELLO		"started" came			-> RUNNING
 *			"failed" came			-> ENDING
 *	RUNNING		"exited" came: pid 1 is killed	-> ENDING
 *	any		deadline, fatal signal, broken
 *			protocol: pid 1 is killed	-> ENDING
 *	any		pid 1 was reaped		-> DRAINING
 *	DRAINING	all output is delivered		   done
 *
 * Every verdict is set once: what came first counts.  When pid 1 is gone the
 * kernel has killed and reaped every process of its pid namespace
 * (zap_pid_ns_processes()).  What is in its pipes then is all that is delivered:
 * their ends may have been passed on to others, so their closing is not waited
 * for. */
#include "sandbox/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/message.h"
#include "base/own.h"
#include "sandbox/channel.h"
#include "sandbox/result.h"
#include "sandbox/spawn.h"
#include "sandbox/stdio.h"
#include "sandbox/terminal.h"
#include "sandbox/watchdog.h"

#define COMMAND_ID 1

/* How long a command may take to end after SIGTERM or SIGHUP, as docker has
 * it, and how many SIGINTs mean that it should not be asked any more. */
#define GRACE_MS	   10000
#define INTERRUPTS_TO_KILL 3

/* How long after closing its channel an executor may take to be gone. */
#define CLOSED_MS 2000

enum state { STARTING, HELLO, RUNNING, ENDING, DRAINING, DONE };

enum watch { WATCH_CHANNEL, WATCH_FAILURE, WATCH_SIGNALS, WATCH_PID, WATCH_PUMPS,
	     WATCH_COUNT = WATCH_PUMPS + STDIO_COUNT };

struct supervisor {
	struct run *run;
	struct result *result;
	struct channel channel;
	enum state state;
	bool has_verdict;
	int interrupts;
	int64_t deadline_ms, grace_ms, closed_ms, look_ms; /* 0: none */
};


/* What the caller ignores, as nohup does, is not for us either. */
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

/* pid 1 is killed, and with it everything inside.  What it is reaped with
 * afterwards says nothing any more. */
static void end_sandbox(struct supervisor *s)
{
	if (s->run->sandbox->pid > 0)
		(void)kill(s->run->sandbox->pid, SIGKILL); /* not reaped: still ours */
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

static void broke_protocol(struct supervisor *s, struct err *e)
{
	(void)err_in(e, "the sandbox's executor broke the protocol and was ended");
	fail(s, EXIT_HUTCH, e);
}

static void send_signal(struct supervisor *s, int signo)
{
	struct err e;

	if (channel_send_signal(&s->channel, COMMAND_ID, (uint32_t)signo, &e) < 0)
		broke_protocol(s, &e);
}

/* 126: found but not run, 127: not found, as shells say it. */
static int exit_code_for(const struct failed *failed)
{
	if (failed->stage == EXEC_STAGE_EXECVE)
		return EXIT_CANNOT_RUN;
	if (failed->stage != EXEC_STAGE_LOOKUP)
		return EXIT_HUTCH;
	return failed->sys == EACCES ? EXIT_CANNOT_RUN : EXIT_NOT_FOUND;
}

static void command_failed(struct supervisor *s, const struct failed *failed)
{
	const struct exec *x = s->run->exec;
	bool is_folder = failed->stage == EXEC_STAGE_CWD;
	struct err e;

	errno = (int)failed->sys;
	(void)err_sys(&e, "%s: %.200s", exec_stage_name(failed->stage),
		      is_folder ? x->cwd : x->argv[0]);
	if (failed->stage == EXEC_STAGE_EXECVE && failed->sys == ENOENT)
		(void)err_remedy(&e, "its interpreter, after #! or its dynamic loader, is not "
				     "inside");
	if (is_folder)
		(void)err_remedy(&e, "-w takes a folder that exists inside");
	fail(s, exit_code_for(failed), &e);
}

static int on_hello(struct supervisor *s, const struct frame *f, struct err *e)
{
	struct hello h;

	if (message_get_hello(f, &h, e) < 0)
		return -1;
	if (h.version != PROTOCOL_VERSION)
		return err_set(e, ERR_PROTOCOL, "version %u, and not %u", h.version,
			       PROTOCOL_VERSION);
	s->state = HELLO;
	return 0;
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
	command_failed(s, &failed);
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
	/* The executor ends now by itself, or should: it is not waited for. */
	end_sandbox(s);
	return 0;
}

/* What the executor may say, and when (docs/protocol.md). */
static const struct answer {
	enum state when;
	uint32_t id;
	int (*take)(struct supervisor *, const struct frame *, struct err *);
} answers[MSG_COUNT] = {
	[MSG_HELLO] = { STARTING, 0, on_hello },
	[MSG_STARTED] = { HELLO, COMMAND_ID, on_started },
	[MSG_FAILED] = { HELLO, COMMAND_ID, on_failed },
	[MSG_EXITED] = { RUNNING, COMMAND_ID, on_exited },
};

static int take_frame(struct supervisor *s, const struct frame *f, struct err *e)
{
	const struct answer *a = f->type < MSG_COUNT ? &answers[f->type] : NULL;

	if (!a || !a->take)
		return err_set(e, ERR_PROTOCOL, "it sent a message of type %u", f->type);
	if (s->state != a->when || f->id != a->id)
		return err_set(e, ERR_PROTOCOL, "it sent '%s' at the wrong time",
			       message_name(f->type));
	return a->take(s, f, e);
}

static int take_frames(struct supervisor *s, struct err *e)
{
	struct frame f;
	int got = 1;

	while (s->state < ENDING && (got = channel_next(&s->channel, &f, e)) > 0) {
		if (take_frame(s, &f, e) < 0)
			return -1;
		channel_took(&s->channel, &f);
	}
	return got < 0 ? -1 : 0;
}

/* Reads once and takes what is whole.  A closed channel comes a moment before
 * the end of pid 1, which tells why; or from one that means to go on without
 * us, which it shall not. */
static int read_channel(struct supervisor *s)
{
	struct err e;
	int state = channel_fill(&s->channel, &e);

	if (state < 0 || take_frames(s, &e) < 0) {
		broke_protocol(s, &e);
	} else if (state == CHANNEL_CLOSED && s->state < ENDING) {
		s->state = ENDING;
		s->closed_ms = clock_ms() + CLOSED_MS;
	}
	return state;
}

static void on_channel(struct supervisor *s, short events)
{
	struct err e;

	if ((events & POLLOUT) && channel_flush(&s->channel, &e) < 0)
		return broke_protocol(s, &e);
	if (channel_has_passed(&s->channel))
		stdio_handed_over(s->run->stdio);
	if (events & ~POLLOUT)
		(void)read_channel(s);
}

/* The child's err, or its end of the pipe closed by a successful execveat. */
static void on_failure(struct supervisor *s)
{
	struct err cause;

	if (spawn_failure(s->run->sandbox, &cause))
		fail(s, EXIT_HUTCH, &cause);
	own_close(&s->run->sandbox->failure);
}

static void on_resize(struct supervisor *s)
{
	uint32_t rows, cols;
	struct err e;

	if (!(s->run->exec->flags & EXEC_PTY) || s->state != RUNNING)
		return;
	terminal_size(0, &rows, &cols);
	if (channel_send_resize(&s->channel, COMMAND_ID, rows, cols, &e) < 0)
		broke_protocol(s, &e);
}

/* A signal to us is one for the command.  Where that does not end it, we do:
 * nobody who ends hutch wants to find the sandbox still there. */
static void on_signal(struct supervisor *s, int signo)
{
	if (signo == SIGWINCH)
		return on_resize(s);
	s->interrupts += signo == SIGINT;
	if ((signo == SIGTERM || signo == SIGHUP) && s->grace_ms == 0)
		s->grace_ms = clock_ms() + GRACE_MS;
	/* The command may be running and its "started" still on its way; the
	 * executor takes requests in order. */
	if ((s->state == HELLO || s->state == RUNNING) &&
	    s->interrupts < INTERRUPTS_TO_KILL)
		return send_signal(s, signo);
	if (signo == SIGUSR1 || signo == SIGUSR2)
		return;
	if (!s->has_verdict)
		result_signaled(s->result, signo);
	s->has_verdict = true;
	end_sandbox(s);
	/* Undelivered output holds nobody back who wants to leave. */
	if (s->state == DRAINING)
		s->state = DONE;
}

static void on_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->run->signals, &info, sizeof(info)) == sizeof(info))
		on_signal(s, (int)info.ssi_signo);
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* Pid 1 is gone.  Killed by somebody other than us, and without a word about
 * the command: the kernel's OOM killer, or an administrator. */
static void on_end(struct supervisor *s)
{
	struct sandbox *box = s->run->sandbox;
	struct rusage used;
	struct err e;
	int status;

	if (wait4(box->pid, &status, 0, &used) < 0)
		abort(); /* our own child, and SIGCHLD is not ignored */
	box->pid = 0;
	/* The child's last word may be in the pipe, the executor's in the
	 * channel, and poll told us of the end first. */
	if (box->failure >= 0)
		on_failure(s);
	while (s->state < ENDING && read_channel(s) == CHANNEL_READ)
		;
	if (!s->has_verdict && WIFSIGNALED(status))
		result_signaled(s->result, WTERMSIG(status));
	else if (!s->has_verdict) {
		(void)err_set(&e, ERR_INTERNAL, "the sandbox's executor ended with code %d",
			      WEXITSTATUS(status));
		result_failed(s->result, EXIT_HUTCH, &e);
	}
	s->has_verdict = true;
	s->result->user_s = seconds(&used.ru_utime);
	s->result->sys_s = seconds(&used.ru_stime);
	s->state = DRAINING;
	stdio_handed_over(s->run->stdio);
	pump_done(&s->run->stdio->pumps[0]);
	pump_finish(&s->run->stdio->pumps[1]);
	pump_finish(&s->run->stdio->pumps[2]);
}

static bool is_due(int64_t *deadline, int64_t now)
{
	if (!*deadline || now < *deadline)
		return false;
	*deadline = 0;
	return true;
}

/* --memory with --best-effort, and no cgroup. */
static void look_at_memory(struct supervisor *s, int64_t now)
{
	const uint64_t limit = s->run->watched_memory;
	struct err e;

	if (s->state >= ENDING)
		return;
	s->look_ms = now + WATCHDOG_MS;
	if (watchdog_measure(s->run->sandbox->pid, limit) <= limit)
		return;
	(void)err_set(&e, ERR_LIMIT, "out of memory: the processes inside used more than %llu MiB "
				     "(--memory) when hutch looked, and were killed",
		      (unsigned long long)limit >> 20);
	if (!s->has_verdict)
		result_oom(s->result, &e);
	s->has_verdict = true;
	end_sandbox(s);
}

static void on_deadline(struct supervisor *s)
{
	int64_t now = clock_ms();
	struct err e;

	if (is_due(&s->deadline_ms, now)) {
		if (!s->has_verdict)
			result_timeout(s->result);
		s->has_verdict = true;
		end_sandbox(s);
	}
	if (is_due(&s->look_ms, now))
		look_at_memory(s, now);
	if (is_due(&s->grace_ms, now)) {
		if (!s->has_verdict)
			result_signaled(s->result, SIGKILL);
		s->has_verdict = true;
		end_sandbox(s);
	}
	if (is_due(&s->closed_ms, now)) {
		(void)err_set(&e, ERR_PROTOCOL, "it closed its channel and lived on");
		broke_protocol(s, &e);
	}
}

/* Milliseconds to the next deadline, as poll(2) wants them. */
static int wait_ms(const struct supervisor *s)
{
	const int64_t all[] = { s->deadline_ms, s->grace_ms, s->closed_ms, s->look_ms };
	int64_t next = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i] && (!next || all[i] < next))
			next = all[i];
	if (!next || s->state >= DRAINING)
		return -1;
	int64_t left = next - clock_ms();
	return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

static void watch_list(const struct supervisor *s, struct pollfd w[WATCH_COUNT])
{
	const struct sandbox *box = s->run->sandbox;
	bool is_over = s->state >= ENDING;

	w[WATCH_CHANNEL] = (struct pollfd){ .fd = is_over ? -1 : box->channel,
					    .events = channel_events(&s->channel) };
	w[WATCH_FAILURE] = (struct pollfd){ .fd = box->failure, .events = POLLIN };
	w[WATCH_SIGNALS] = (struct pollfd){ .fd = s->run->signals, .events = POLLIN };
	w[WATCH_PID] = (struct pollfd){ .fd = box->pid ? box->pidfd : -1,
					.events = POLLIN };
	for (int i = 0; i < STDIO_COUNT; i++)
		w[WATCH_PUMPS + i] = pump_poll(&s->run->stdio->pumps[i]);
}

static bool has_output_left(const struct stdio *io)
{
	return pump_is_open(&io->pumps[1]) || pump_is_open(&io->pumps[2]);
}

static void turn(struct supervisor *s)
{
	struct pollfd w[WATCH_COUNT];

	watch_list(s, w);
	if (poll(w, WATCH_COUNT, wait_ms(s)) < 0)
		return; /* EINTR: SIGCONT after a stop */
	for (int i = 0; i < STDIO_COUNT; i++)
		if (w[WATCH_PUMPS + i].revents)
			pump_run(&s->run->stdio->pumps[i]);
	if (w[WATCH_FAILURE].revents)
		on_failure(s);
	if (w[WATCH_CHANNEL].revents && s->state < ENDING)
		on_channel(s, w[WATCH_CHANNEL].revents);
	if (w[WATCH_SIGNALS].revents)
		on_signals(s);
	if (w[WATCH_PID].revents)
		on_end(s);
	on_deadline(s);
	if (s->state == DRAINING && !has_output_left(s->run->stdio))
		s->state = DONE;
}

static void start(struct supervisor *s)
{
	struct err e;

	channel_init(&s->channel, s->run->sandbox->channel);
	if (channel_send_exec(&s->channel, COMMAND_ID, s->run->exec, s->run->stdio->inside,
			      &e) < 0)
		fail(s, EXIT_HUTCH, &e);
	if (channel_has_passed(&s->channel))
		stdio_handed_over(s->run->stdio);
}

void supervise_run(struct run *run, struct result *ret)
{
	struct supervisor s = { .run = run, .result = ret };

	*ret = (struct result){ 0 };
	if (run->timeout_ms)
		s.deadline_ms = clock_ms() + (int64_t)run->timeout_ms;
	if (run->watched_memory)
		s.look_ms = clock_ms() + WATCHDOG_MS;
	start(&s);
	while (s.state != DONE)
		turn(&s);
	channel_done(&s.channel);
}

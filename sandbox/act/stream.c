#include "sandbox/act/stream.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/message.h"
#include "base/own.h"
#include "policy/policy.h"
#include "sandbox/act/action.h"
#include "sandbox/act/desk.h"
#include "sandbox/act/lines.h"
#include "sandbox/act/outlet.h"
#include "sandbox/channel.h"
#include "sandbox/launch.h"
#include "sandbox/result.h"
#include "sandbox/watchdog.h"

/* NO_CHANGE_TIMEOUT_SECONDS, where the environment inside does not say. */
#define SOFT_DEFAULT 10

/* How long a client is waited for that is to be told the end. */
#define GOODBYE_MS 10000

/* How long after closing its channel an executor may take to be gone. */
#define CLOSED_MS 2000

/* A session's terminal. */
#define ROWS 1000
#define COLS 1000

enum watch { WATCH_IN, WATCH_OUT, WATCH_CHANNEL, WATCH_FAILURE, WATCH_SIGNALS, WATCH_PID,
	     WATCH_COUNT };

struct server {
	const struct stream *stream;
	struct stream_end *end;
	struct channel channel;
	struct desk desk;
	struct exec shell;
	struct lines lines;
	struct outlet outlet;
	bool is_over, has_hello;
	bool is_closed;	  /* the executor's end of the channel */
	bool is_signaled; /* we were sent a signal that ends us */
	int64_t deadline_ms, look_ms, closed_ms; /* 0: none */
	int64_t away_ms; /* when we last did not listen to the executor */
};


static void end(struct server *s, int code, const struct err *e)
{
	if (s->is_over)
		return;
	s->is_over = true;
	if (s->stream->launch->sandbox.pid > 0)
		(void)kill(s->stream->launch->sandbox.pid, SIGKILL); /* not reaped: still ours */
	s->end->exit_code = code;
	if (e)
		s->end->error = *e;
}

static void broke_protocol(struct server *s, struct err *e)
{
	(void)err_in(e, "the sandbox's executor broke the protocol and was ended");
	end(s, EXIT_HUTCH, e);
}

/* --- input and output ------------------------------------------------------ */

/* Hands over whole lines, as long as what comes of them is taken away.  True: there
 * was one. */
static bool take_lines(struct server *s)
{
	enum line_kind kind;
	const char *line;
	size_t len;
	bool has_some = false;

	while (!desk_is_behind(&s->desk) && !desk_is_full(&s->desk) &&
	       (kind = lines_next(&s->lines, &line, &len)) != LINE_NONE) {
		if (kind == LINE_TOO_LONG)
			desk_long_line(&s->desk);
		else if (len > 0)
			desk_line(&s->desk, line, len);
		lines_took(&s->lines);
		has_some = true;
	}
	return has_some;
}

static void on_input(struct server *s)
{
	struct err e;

	if (lines_read(&s->lines, s->stream->in, &e) < 0)
		end(s, EXIT_HUTCH, &e);
}

static void flush(struct server *s, bool is_ready)
{
	struct err e;

	if (outlet_flush(&s->outlet, is_ready, &e) < 0)
		return end(s, EXIT_HUTCH, &e);
	desk_deliver(&s->desk);
}

/* --- the executor --------------------------------------------------------- */

static int take_hello(struct server *s, const struct frame *f, struct err *e)
{
	struct hello h;

	if (f->type != MSG_HELLO || s->has_hello)
		return err_set(e, ERR_PROTOCOL, "it sent '%s' at the wrong time",
			       message_name(f->type));
	if (message_get_hello(f, &h, e) < 0)
		return -1;
	if (h.version != PROTOCOL_VERSION)
		return err_set(e, ERR_PROTOCOL, "version %u, and not %u", h.version,
			       PROTOCOL_VERSION);
	s->has_hello = true;
	return 0;
}

static int take_frame(struct server *s, const struct frame *f, struct err *e)
{
	bool is_hello = !s->has_hello || f->type == MSG_HELLO;

	if ((is_hello ? take_hello(s, f, e) : desk_frame(&s->desk, f, e)) < 0)
		return -1;
	channel_took(&s->channel, f);
	return 0;
}

/* As long as what is observed is taken away; the last ones in any case, which are no
 * more than the socket held.  True: there was one. */
static bool take_frames(struct server *s, bool are_last)
{
	struct frame f;
	struct err e;
	bool has_some = false;
	int got = 0;

	while (!s->is_over && (are_last || !desk_is_behind(&s->desk)) &&
	       (got = channel_next(&s->channel, &f, &e)) > 0) {
		if (take_frame(s, &f, &e) < 0)
			broke_protocol(s, &e);
		has_some = true;
	}
	if (got < 0)
		broke_protocol(s, &e);
	return has_some;
}

static void on_channel(struct server *s, short events)
{
	struct err e;
	int state = CHANNEL_DRY;

	if ((events & POLLOUT) && channel_flush(&s->channel, &e) < 0)
		return broke_protocol(s, &e);
	if (events & ~POLLOUT)
		state = channel_fill(&s->channel, &e);
	if (state < 0)
		return broke_protocol(s, &e);
	if (state != CHANNEL_CLOSED)
		return;
	/* Pid 1 is ending, and tells why; or means to live on without us. */
	s->is_closed = true;
	s->closed_ms = clock_ms() + CLOSED_MS;
}

/* The child's err, or its end of the pipe closed by a successful execveat. */
static void on_failure(struct server *s)
{
	struct sandbox *box = &s->stream->launch->sandbox;
	struct err cause;

	if (spawn_failure(box, &cause))
		end(s, EXIT_HUTCH, &cause);
	own_close(&box->failure);
}

/* Its last words may be in the channel still, and poll told us of the end first. */
static void on_end(struct server *s)
{
	struct sandbox *box = &s->stream->launch->sandbox;
	struct err e;
	int status;

	if (waitpid(box->pid, &status, 0) < 0)
		abort(); /* our own child, and SIGCHLD is not ignored */
	box->pid = 0;
	if (box->failure >= 0)
		on_failure(s);
	do {
		(void)take_frames(s, true);
	} while (!s->is_over && channel_fill(&s->channel, &e) == CHANNEL_READ);
	if (WIFSIGNALED(status))
		(void)err_set(&e, ERR_SYSTEM, "the sandbox was ended by signal %d",
			      WTERMSIG(status));
	else
		(void)err_set(&e, ERR_INTERNAL, "the sandbox's executor ended with code %d",
			      WEXITSTATUS(status));
	end(s, EXIT_HUTCH, &e);
}

/* --- the loop ------------------------------------------------------------- */

static void on_signals(struct server *s)
{
	struct signalfd_siginfo info;

	while (read(s->stream->launch->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGINT && info.ssi_signo != SIGTERM &&
		    info.ssi_signo != SIGHUP && info.ssi_signo != SIGQUIT)
			continue;
		s->is_signaled = true;
		end(s, 128 + (int)info.ssi_signo, NULL);
	}
}

static void watch_list(const struct server *s, struct pollfd w[WATCH_COUNT])
{
	const struct launch *l = s->stream->launch;
	bool has_room = !desk_is_behind(&s->desk);
	bool reads = !s->lines.is_at_eof && has_room && !desk_is_full(&s->desk);
	short channel = (short)(has_room ? channel_events(&s->channel)
					 : channel_events(&s->channel) & POLLOUT);

	w[WATCH_IN] = (struct pollfd){ .fd = reads ? s->stream->in : -1, .events = POLLIN };
	w[WATCH_OUT] = (struct pollfd){ .fd = buffer_len(&s->outlet.out) ? s->stream->out : -1,
					.events = POLLOUT };
	w[WATCH_CHANNEL] = (struct pollfd){ .fd = channel && !s->is_closed
						  ? l->sandbox.channel : -1,
					    .events = channel };
	w[WATCH_FAILURE] = (struct pollfd){ .fd = l->sandbox.failure, .events = POLLIN };
	w[WATCH_SIGNALS] = (struct pollfd){ .fd = l->signals, .events = POLLIN };
	w[WATCH_PID] = (struct pollfd){ .fd = l->sandbox.pidfd, .events = POLLIN };
}

/* While nobody reads from the executor it need not answer, and it has a while for
 * what it could not send. */
static int64_t answer_due(const struct server *s)
{
	int64_t due = desk_deadline(&s->desk);

	if (!due || desk_is_behind(&s->desk))
		return 0;
	return due < s->away_ms + DESK_GRACE_MS ? s->away_ms + DESK_GRACE_MS : due;
}

static int wait_ms(const struct server *s)
{
	const int64_t all[] = { s->deadline_ms, s->look_ms, s->closed_ms, answer_due(s) };
	int64_t next = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i] && (!next || all[i] < next))
			next = all[i];
	if (!next)
		return -1;
	int64_t left = next + 1 - clock_ms();
	return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

/* --memory with --best-effort, and no cgroup (watchdog.h). */
static void look_at_memory(struct server *s)
{
	const struct launch *l = s->stream->launch;
	uint64_t limit = l->policy->limits.memory;
	struct err e;

	if (!s->look_ms || clock_ms() < s->look_ms)
		return;
	s->look_ms = clock_ms() + WATCHDOG_MS;
	if (watchdog_measure(l->sandbox.pid, limit) <= limit)
		return;
	(void)err_set(&e, ERR_LIMIT, "out of memory: the processes inside used more than %llu MiB "
				     "(--memory) when hutch looked", (unsigned long long)limit >> 20);
	end(s, EXIT_HUTCH, &e);
}

static void on_deadline(struct server *s)
{
	struct err e;

	if (desk_is_behind(&s->desk))
		s->away_ms = clock_ms();
	if (answer_due(s) && clock_ms() >= answer_due(s)) {
		(void)err_set(&e, ERR_PROTOCOL, "it did not answer in time");
		return broke_protocol(s, &e);
	}
	if (s->closed_ms && clock_ms() >= s->closed_ms) {
		(void)err_set(&e, ERR_PROTOCOL, "it closed its channel and lived on");
		return broke_protocol(s, &e);
	}
	if (!s->deadline_ms || clock_ms() < s->deadline_ms)
		return;
	(void)err_set(&e, ERR_LIMIT, "the sandbox has reached its time-out");
	end(s, EXIT_TIMED_OUT, &e);
}

static bool is_done(const struct server *s)
{
	return lines_is_over(&s->lines) && desk_is_idle(&s->desk) &&
	       buffer_len(&s->outlet.out) == 0;
}

/* What waits for the wire to be empty starts when it has become so. */
static void send_requests(struct server *s)
{
	struct err e;

	while (!s->is_over && desk_start(&s->desk))
		if (channel_flush(&s->channel, &e) < 0)
			broke_protocol(s, &e);
	if (!s->is_over && channel_flush(&s->channel, &e) < 0)
		broke_protocol(s, &e);
}

/* Everything that can be done now: what is written away makes room for more lines
 * and frames, of which poll(2) knows nothing, since they are here already. */
static void work(struct server *s)
{
	bool has_more = true;

	while (has_more && !s->is_over) {
		has_more = take_frames(s, false);
		has_more = take_lines(s) || has_more;
		send_requests(s);
		if (!s->is_over)
			flush(s, false);
	}
}

static void turn(struct server *s)
{
	struct pollfd w[WATCH_COUNT];

	watch_list(s, w);
	if (poll(w, WATCH_COUNT, wait_ms(s)) < 0) {
		s->away_ms = clock_ms(); /* EINTR: SIGCONT after a stop */
		return;
	}
	if (w[WATCH_OUT].revents)
		flush(s, true);
	if (w[WATCH_FAILURE].revents)
		on_failure(s);
	if (w[WATCH_CHANNEL].revents)
		on_channel(s, w[WATCH_CHANNEL].revents);
	if (w[WATCH_IN].revents)
		on_input(s);
	if (w[WATCH_SIGNALS].revents)
		on_signals(s);
	if (w[WATCH_PID].revents && !s->is_over)
		on_end(s);
	work(s);
	on_deadline(s);
	if (!s->is_over)
		look_at_memory(s);
}

/* Everybody who waits is told, and what was observed before is handed over, to a
 * client that reads.  One that does not is not waited for long, and not at all by
 * somebody who was sent a signal. */
static void say_goodbye(struct server *s)
{
	int64_t until = clock_ms() + GOODBYE_MS;

	desk_end(&s->desk, s->end->error.kind != ERR_NONE ? s->end->error.text
							   : "the sandbox was ended");
	while (buffer_len(&s->outlet.out) > 0 || !desk_is_idle(&s->desk)) {
		struct pollfd w[] = {
			{ .fd = s->stream->out, .events = POLLOUT },
			{ .fd = s->stream->launch->signals, .events = POLLIN },
		};
		int64_t left = s->is_signaled ? 0 : until - clock_ms();
		int ready = poll(w, ARRAY_LEN(w), left > 0 ? (int)left : 0);
		if (ready < 0)
			continue; /* EINTR: SIGCONT after a stop */
		if (w[1].revents)
			on_signals(s);
		if (!(w[0].revents) && (s->is_signaled || ready == 0))
			return;
		if (w[0].revents)
			flush(s, true);
	}
}

/* A bash that reads nothing of the caller's and starts as people's do. */
static void describe_shell(struct server *s, struct list *argv)
{
	list_add(argv, "/bin/bash");
	s->shell = launch_command(s->stream->launch);
	s->shell.flags = EXEC_PTY;
	s->shell.argv = argv->items;
	s->shell.rows = ROWS;
	s->shell.cols = COLS;
}

static double soft_seconds(const struct list *env)
{
	const char *text = list_get_env(env, "NO_CHANGE_TIMEOUT_SECONDS");
	double seconds = text ? strtod(text, NULL) : 0;

	return seconds > 0 && seconds <= 1e6 ? seconds : SOFT_DEFAULT;
}

static void server_init(struct server *s)
{
	const struct launch *l = s->stream->launch;

	channel_init(&s->channel, l->sandbox.channel);
	desk_init(&s->desk);
	lines_init(&s->lines, ACTION_LINE_MAX);
	outlet_init(&s->outlet, s->stream->out, DESK_OUT_MAX);
	s->desk.wire = &s->channel.out;
	s->desk.out = &s->outlet.out;
	s->desk.shell = &s->shell;
	s->desk.streams = s->stream->streams;
	s->desk.setting = (struct setting){
		.soft_s = soft_seconds(&l->plan.env),
		.username = list_get_env(&l->plan.env, "USER"),
		.hostname = l->plan.hostname,
	};
	if (l->policy->timeout_ms)
		s->deadline_ms = clock_ms() + (int64_t)l->policy->timeout_ms;
	if (l->degraded & DEGRADED_MEMORY)
		s->look_ms = clock_ms() + WATCHDOG_MS;
	if (l->cgroup.procs < 0)
		return;
	s->desk.cgroup = &l->cgroup;
	s->desk.memory_limit = l->policy->limits.memory;
}

/* First of all: commands enter it, the executor stays outside. */
static void send_cgroup(struct server *s)
{
	int procs = s->stream->launch->cgroup.procs;
	struct err e;

	if (procs >= 0 && channel_send_cgroup(&s->channel, procs, &e) < 0)
		end(s, EXIT_HUTCH, &e);
}

void stream_serve(const struct stream *stream, struct stream_end *ret)
{
	struct server s = { .stream = stream, .end = ret };
	struct list argv = { 0 };

	*ret = (struct stream_end){ 0 };
	server_init(&s);
	describe_shell(&s, &argv);
	send_cgroup(&s);
	while (!s.is_over && !is_done(&s))
		turn(&s);
	if (s.is_over)
		say_goodbye(&s);
	channel_done(&s.channel);
	desk_done(&s.desk);
	lines_done(&s.lines);
	outlet_done(&s.outlet);
	list_done(&argv);
}

#include "actions/stream.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "actions/action.h"
#include "actions/dispatcher.h"
#include "actions/fd_writer.h"
#include "actions/lines.h"
#include "actions/redact_json.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "base/own.h"
#include "egress/launch/egress_news.h"
#include "egress/launch/egress_orders.h"
#include "policy/policy.h"
#include "sandbox/launch/instance.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"

/* How long to wait, at the end, for the client to read its last observations. */
#define GOODBYE_MS 10000

enum watch {
	WATCH_INSTANCE,
	WATCH_IN = WATCH_INSTANCE + INSTANCE_POLLS,
	WATCH_OUT,
	WATCH_SIGNALS,
	WATCH_COUNT
};

struct server {
	const struct stream *stream;
	struct stream_end *end;
	struct instance instance;
	struct dispatcher dispatcher;
	struct dispatcher_client client;
	struct lines lines;
	struct fd_writer writer;
	bool is_over;
	bool is_signaled; /* this process got a signal that ends it */
	int64_t now_ms;	     /* the current time, read once in each turn of the loop */
	int64_t deadline_ms; /* the sandbox's time-out, in ms of clock.h; 0: none */
	int64_t away_ms; /* the last time at which this process did not read from the
			  * executor */
};

/* Reads the clock. Called before and after poll(2), for each line, and by the dispatcher
 * before it starts an action. */
static void look_at_clock(void *context)
{
	struct server *s = context;

	s->dispatcher.now_us = clock_us();
	s->now_ms = dispatcher_now(&s->dispatcher);
}

static void end(struct server *s, int code, const struct err *e)
{
	if (s->is_over)
		return;
	s->is_over = true;
	instance_end(&s->instance);
	s->end->exit_code = code;
	if (e)
		s->end->error = *e;
}

/* --- input and output ------------------------------------------------------ */

/* Hands complete lines to the dispatcher, as long as the client reads the answers. True:
 * at least one line was handed over. */
static bool take_lines(struct server *s)
{
	enum line_kind kind;
	const char *line;
	size_t len;
	bool has_some = false;

	while (!dispatcher_is_behind(&s->client) && !dispatcher_is_full(&s->dispatcher) &&
	       (kind = lines_next(&s->lines, &line, &len)) != LINE_NONE) {
		look_at_clock(s); /* the line before may have taken time, in a write to
				   * the audit log */
		if (kind == LINE_TOO_LONG)
			dispatcher_long_line(&s->dispatcher, &s->client);
		else if (len > 0)
			dispatcher_line(&s->dispatcher, &s->client, line, len);
		lines_took(&s->lines);
		has_some = true;
	}
	s->client.confirms &= !lines_is_over(&s->lines);
	if (lines_is_over(&s->lines))
		has_some |= dispatcher_unask(&s->dispatcher, &s->client);
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

	if (fd_writer_flush(&s->writer, is_ready, &e) < 0)
		return end(s, EXIT_HUTCH, &e);
	dispatcher_deliver(&s->client);
}

/* --- the loop ------------------------------------------------------------- */

static int take_frame(void *context, const struct frame *f, struct err *e)
{
	struct server *s = context;

	return dispatcher_frame(&s->dispatcher, f, e);
}

static void on_refused(void *context, const struct refused_call *c, pid_t session)
{
	struct server *s = context;

	dispatcher_refused(&s->dispatcher, c, session, true);
	if (refused_call_is_news(c))
		audit_refused_call(&s->stream->launch->audit, c);
}

/* Tells a client that streams of a plugin's state, unless it reads too slowly. */
static void tell_plugin(void *context, const struct known_plugin *p)
{
	struct server *s = context;

	if (!s->client.streams || dispatcher_is_behind(&s->client))
		return;
	struct buffer line;
	json_write_begin(&line);
	json_write_raw(&line, NULL, "{\"event\":\"plugin\"");
	plugin_table_put(&line, p);
	json_write_close(&line, "}\n");
	redact_json_line(&s->dispatcher.secrets, &line);
	/* a line that has no room is left out, as one is for a client that is behind */
	(void)buffer_append(s->client.out, buffer_data(&line), buffer_len(&line));
	buffer_done(&line);
}

static void on_egress_news(void *context, const struct egress_news *n, int64_t now)
{
	struct server *s = context;
	const struct refused_host *host = launch_hear(s->stream->launch, n, now);

	if (n->kind == EGRESS_NEWS_ASK)
		egress_deny(launch_egress(s->stream->launch), n);
	if (host)
		dispatcher_refused_host(&s->dispatcher, host, true);
}

static bool is_behind(void *context)
{
	const struct server *s = context;

	return dispatcher_is_behind(&s->client);
}

static void look_at_instance(struct server *s)
{
	if (instance_is_over(&s->instance))
		end(s, EXIT_HUTCH, &s->instance.error);
}

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
	bool has_room = !dispatcher_is_behind(&s->client) &&
			!dispatcher_is_full(&s->dispatcher);
	bool reads = !s->lines.is_at_eof && has_room;

	instance_watch(&s->instance, w + WATCH_INSTANCE);
	w[WATCH_IN] =
		(struct pollfd){ .fd = reads ? s->stream->in : -1, .events = POLLIN };
	w[WATCH_OUT] =
		(struct pollfd){ .fd = buffer_len(&s->writer.out) ? s->stream->out : -1,
				 .events = POLLOUT };
	w[WATCH_SIGNALS] = (struct pollfd){ .fd = s->stream->launch->signals,
					    .events = POLLIN };
}

/* Returns when the executor's next answer is due. While this process does not read from
 * the executor, no answer is due; afterwards the executor has DISPATCHER_GRACE_MS for
 * the answers that it could not send. */
static int64_t answer_due(const struct server *s)
{
	return dispatcher_deadline_of(&s->dispatcher, &s->client, s->away_ms);
}

static int64_t due(const struct server *s)
{
	return clock_sooner(
		clock_sooner(s->deadline_ms, answer_due(s)),
		clock_sooner(dispatcher_due(&s->dispatcher), instance_due(&s->instance)));
}

/* Ends all that is past its deadline. `now` is when poll(2) returned: an answer that
 * came later has not been read yet, so it does not count as late. */
static void on_deadline(struct server *s, int64_t now)
{
	struct err e;

	instance_expire(&s->instance, now);
	if (dispatcher_is_behind(&s->client))
		s->away_ms = s->now_ms;
	if (clock_is_due(answer_due(s), now)) {
		(void)err_set(&e, ERR_PROTOCOL, "it did not answer in time");
		instance_broke_protocol(&s->instance, &e);
	}
	look_at_instance(s);
	if (!clock_is_due(s->deadline_ms, now))
		return;
	(void)err_set(&e, ERR_LIMIT, "the sandbox has reached its time-out");
	end(s, EXIT_TIMED_OUT, &e);
}

static bool is_done(const struct server *s)
{
	return lines_is_over(&s->lines) && dispatcher_is_idle(&s->client) &&
	       buffer_len(&s->writer.out) == 0;
}

/* Sends requests to the executor. Some requests start only when the buffer is empty, so
 * it is flushed after each. */
static void send_requests(struct server *s)
{
	while (!instance_is_over(&s->instance) && dispatcher_start(&s->dispatcher))
		instance_flush(&s->instance);
	instance_flush(&s->instance);
}

/* Does everything that can be done without poll(2). Lines and frames may already be in
 * this process' buffers, and can be handled when flushed output has made room; poll(2)
 * would not report them. */
static void work(struct server *s)
{
	bool has_more = true;

	while (has_more && !s->is_over) {
		has_more = instance_take(&s->instance);
		has_more = take_lines(s) || has_more;
		send_requests(s);
		look_at_instance(s);
		if (!s->is_over)
			flush(s, false);
	}
}

static void turn(struct server *s)
{
	struct pollfd w[WATCH_COUNT];

	watch_list(s, w);
	look_at_clock(s);
	int ready = poll(w, WATCH_COUNT, clock_wait(due(s), s->now_ms));
	look_at_clock(s);
	const int64_t now = s->now_ms;
	if (ready < 0) {
		s->away_ms = now; /* EINTR: this process was stopped, and SIGCONT let
				   * it go on */
		return;
	}
	if (w[WATCH_OUT].revents)
		flush(s, true);
	instance_serve(&s->instance, w + WATCH_INSTANCE, s->now_ms);
	if (w[WATCH_IN].revents)
		on_input(s);
	if (w[WATCH_SIGNALS].revents)
		on_signals(s);
	dispatcher_expire(&s->dispatcher, now);
	work(s);
	look_at_instance(s);
	if (!s->is_over)
		on_deadline(s, now);
}

/* Answers every open action, and waits until the client has read the answers, for
 * GOODBYE_MS at most. After a signal it does not wait. */
static void say_goodbye(struct server *s)
{
	look_at_clock(s);
	const int64_t until = s->now_ms + GOODBYE_MS;

	dispatcher_end(&s->dispatcher, s->end->error.kind != ERR_NONE ? s->end->error.text
							   : "the sandbox was ended");
	while (buffer_len(&s->writer.out) > 0 || !dispatcher_is_idle(&s->client)) {
		struct pollfd w[] = {
			{ .fd = s->stream->out, .events = POLLOUT },
			{ .fd = s->stream->launch->signals, .events = POLLIN },
		};
		int wait = s->is_signaled ? 0 : clock_wait(until, s->now_ms);
		int ready = poll(w, ARRAY_LEN(w), wait);
		look_at_clock(s);
		if (ready < 0)
			continue; /* EINTR: this process was stopped, and SIGCONT let
				   * it go on */
		if (w[1].revents)
			on_signals(s);
		if (!(w[0].revents) && (s->is_signaled || ready == 0))
			return;
		if (w[0].revents)
			flush(s, true);
	}
}

static void server_init(struct server *s)
{
	struct launch *l = s->stream->launch;

	s->instance = (struct instance){ .context = s,
					 .take = take_frame,
					 .is_full = is_behind,
					 .refused = on_refused,
					 .egress_news = on_egress_news };
	dispatcher_init(&s->dispatcher);
	s->dispatcher.look_at_clock = look_at_clock;
	s->dispatcher.tell_plugin = tell_plugin;
	s->dispatcher.context = s;
	look_at_clock(s);
	dispatcher_attach(&s->dispatcher, l, &s->instance);
	lines_init(&s->lines, ACTION_LINE_MAX);
	fd_writer_init(&s->writer, s->stream->out, DISPATCHER_OUT_MAX);
	s->client = (struct dispatcher_client){ .out = &s->writer.out, .name = "",
						.streams = s->stream->streams,
						.confirms = s->stream->confirms };
	if (l->policy->timeout_ms)
		s->deadline_ms = s->now_ms + (int64_t)l->policy->timeout_ms;
}

/* Sends the executor the cgroup for commands, before any request: commands enter the
 * cgroup, the executor stays outside. */
static void send_cgroup(struct server *s)
{
	int procs = s->stream->launch->cgroup.procs;
	struct err e;

	if (procs >= 0 && channel_send_cgroup(&s->instance.channel, procs, &e) < 0)
		end(s, EXIT_HUTCH, &e);
}

void stream_serve(const struct stream *stream, struct stream_end *ret)
{
	struct server s = { .stream = stream, .end = ret };

	*ret = (struct stream_end){ 0 };
	server_init(&s);
	send_cgroup(&s);
	while (!s.is_over && !is_done(&s))
		turn(&s);
	if (s.is_over)
		say_goodbye(&s);
	instance_done(&s.instance);
	dispatcher_leave(&s.dispatcher, &s.client);
	dispatcher_done(&s.dispatcher);
	lines_done(&s.lines);
	fd_writer_done(&s.writer);
}

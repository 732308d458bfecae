#include "executor/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/action.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/keys.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/cgroup.h"
#include "executor/replies.h"
#include "executor/spawn.h"

/* Of a terminal in one turn, so that all get theirs. */
#define READ_PER_TURN (64u << 10)
/* After the end: more than the kernel holds (relay.c). */
#define DRAIN_MAX (128u << 10)
#define READ_AT_ONCE (16u << 10)

/* A ~/.bashrc that takes longer is left out. */
#define START_MS 10000
/* From SIGINT to SIGKILL for the foreground, and then for the shell. */
#define KILL_MS	      1000
#define KILL_SHELL_MS 200
/* A signal waits until bash has read and parsed the command, for certain: while
 * it does, SIGINT makes it forget what it has read and go on with the rest, as
 * if that were a command; and what it is just starting is not in the foreground
 * yet.  So many ms, and one more for each 4 KiB. */
#define EARLY_MS      50
#define EARLY_SHIFT   12
/* Time-outs beyond this are none. */
#define TIMEOUT_MAX (INT64_C(1) << 50)

#define EXIT_NOT_STARTED 126


static void set_text(char **to, const char *text)
{
	if (*to && strcmp(*to, text) == 0)
		return;
	free(*to);
	*to = mem_copy(text, strlen(text) + 1);
}

/* --- what is said ---------------------------------------------------------- */

static void say_end(struct session *s, struct reply *a)
{
	replies_add(s->replies, a);
}

static struct reply new_reply(uint32_t id)
{
	struct reply a = { .id = id, .type = MSG_CONTENT };

	buffer_init(&a.end, REPLIES_END_MAX);
	return a;
}

static void say_started(struct session *s)
{
	struct reply a = new_reply(s->id);

	/* Fits, as do the others. */
	(void)message_put_started(&a.end, s->id, (uint32_t)s->shell.pid, NULL);
	s->is_opened = true;
	say_end(s, &a);
}

static void say_failed(struct session *s, const struct failed *why)
{
	struct reply a = new_reply(s->id);

	(void)message_put_failed(&a.end, s->id, why, NULL);
	s->is_gone = true;
	say_end(s, &a);
}

static bool is_streaming(const struct session *s)
{
	return s->action.id && (s->action.flags & RUN_STREAM) &&
	       s->state == SESSION_RUNNING;
}

/* Output as it comes.  A character may be cut by the end of what is there. */
static void stream(struct session *s, const uint8_t *data, size_t len, bool is_end)
{
	size_t raw_len = s->carry_len + len, used;
	uint8_t *raw = mem_new(raw_len), *text = mem_new(3 * raw_len);
	struct reply a = { .id = s->action.id, .type = MSG_OUTPUT };

	memcpy(raw, s->carry, s->carry_len);
	if (len > 0)
		memcpy(raw + s->carry_len, data, len);
	a.len = text_to_utf8(raw, raw_len, is_end, text, &used);
	s->carry_len = raw_len - used;
	memcpy(s->carry, raw + used, s->carry_len);
	free(raw);
	if (a.len > 0) {
		a.bytes = mem_copy(text, a.len);
		replies_add(s->replies, &a);
	}
	free(text);
}

static uint32_t report_flags(const struct session *s, uint32_t state)
{
	uint32_t flags = s->reports > 0 ? REPORT_CONTINUED : 0;

	if (state == REPORT_COMPLETED && s->action.kind == RUN_KEY)
		flags |= REPORT_KEY;
	return flags | (s->is_new ? REPORT_RESTARTED : 0);
}

static bool has_ended(uint32_t state)
{
	return state == REPORT_COMPLETED || state == REPORT_CANCELLED;
}

/* A report, with what was printed since the last one. */
static void say_report(struct session *s, uint32_t state, uint32_t flags)
{
	struct text_taken taken = text_take(&s->text);
	struct reply a = new_reply(s->action.id);
	struct report r = {
		.state = state,
		.flags = flags,
		.exit_code = has_ended(state) ? s->status : ACTION_NO_CODE,
		.background = s->background,
		.cut = taken.cut,
		.cwd = s->cwd ? s->cwd : "",
		.interpreter = s->python ? s->python : "",
	};

	(void)action_put_report(&a.end, s->action.id, &r, NULL);
	a.bytes = taken.bytes;
	a.len = taken.len;
	say_end(s, &a);
	s->reports++;
	s->is_new = false;
	if (has_ended(state))
		s->is_unread = false;
}

static void answer(struct session *s, uint32_t state, uint32_t more_flags)
{
	if (s->carry_len > 0)
		stream(s, NULL, 0, true);
	say_report(s, state, report_flags(s, state) | more_flags);
	s->action.id = 0;
}

/* Nothing was done, and nothing is told of what runs. */
static void answer_refusal(struct session *s, uint32_t state)
{
	struct reply a = new_reply(s->action.id);
	struct report r = { .state = state, .exit_code = ACTION_NO_CODE,
			    .cwd = s->cwd ? s->cwd : "", .interpreter = "" };

	(void)action_put_report(&a.end, s->action.id, &r, NULL);
	say_end(s, &a);
	s->action.id = 0;
}

/* --- the terminal ---------------------------------------------------------- */

/* Its master is at an end while the shell lives on: nobody can work with that. */
static void lose_terminal(struct session *s)
{
	terminal_close(&s->shell.terminal);
	if (s->shell.pid > 0)
		(void)kill(s->shell.pid, SIGKILL); /* unreaped, so it is ours */
}

static void take_output(struct session *s, const uint8_t *data, size_t len)
{
	if (s->state == SESSION_STARTING)
		return; /* of start-up files */
	text_add(&s->text, data, len);
	if (is_streaming(s))
		stream(s, data, len, false);
	if (s->action.id && s->action.soft_ms)
		s->action.soft_due = clock_ms() + s->action.soft_ms;
}

static void read_output(struct session *s, size_t max)
{
	uint8_t data[READ_AT_ONCE];

	for (size_t got = 0; got < max && s->shell.terminal.master >= 0;) {
		ssize_t n = read(s->shell.terminal.master, data, sizeof(data));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			lose_terminal(s);
			return;
		}
		take_output(s, data, (size_t)n);
		got += (size_t)n;
	}
}

/* --- the shell's life ------------------------------------------------------ */

static void drop_pending(struct session *s)
{
	free(s->pending);
	s->pending = NULL;
	s->is_pending = false;
}

static void end_command(struct session *s, uint32_t status, enum session_state state)
{
	s->status = status;
	s->key_due = INT64_MAX;
	drop_pending(s);
	if (s->action.id)
		answer(s, s->action.kills ? REPORT_CANCELLED : REPORT_COMPLETED, 0);
	else
		s->is_unread = true;
	s->state = state;
}

/* A session that was open before says it to whoever waits for its command. */
static void cannot_start(struct session *s, const struct failed *why)
{
	char text[200];

	s->shell.pid = 0;
	shell_done(&s->shell);
	s->state = SESSION_DEAD;
	if (!s->is_opened) {
		say_failed(s, why);
		return;
	}
	int len = snprintf(text, sizeof(text),
			   "hutch: the shell could not be started: %s: %s",
			   exec_stage_name(why->stage), strerror((int)why->sys));
	text_add(&s->text, text, (size_t)len);
	drop_pending(s);
	end_command(s, EXIT_NOT_STARTED, SESSION_DEAD);
}

/* The first start is where the request says, or fails. */
enum { PLACE_LAST, PLACE_FIRST, PLACE_ROOT, PLACES };

static const char *place_of(const struct session *s)
{
	if (!s->is_opened || s->place == PLACE_FIRST)
		return s->exec.cwd;
	return s->place == PLACE_LAST && s->cwd && *s->cwd ? s->cwd
	       : s->place == PLACE_ROOT		  ? "/"
						  : s->exec.cwd;
}

static void start(struct session *s)
{
	const struct shell_how how = { .exec = &s->exec, .cwd = place_of(s), .self = s->user,
				       .cgroup = s->cgroup->procs, .is_bare = s->is_bare };
	struct failed why;

	s->state = SESSION_STARTING;
	s->start_due = s->is_bare ? INT64_MAX : clock_ms() + START_MS;
	if (shell_start(&s->shell, &how, &why) < 0)
		cannot_start(s, &why);
}

static void start_again(struct session *s)
{
	s->shell.pid = 0;
	shell_done(&s->shell);
	start(s);
}

static void begin_start(struct session *s)
{
	s->is_bare = false;
	s->place = PLACE_LAST;
	start(s);
}

/* The child said that it failed before its execve. */
static void start_failed(struct session *s, const struct failed *why)
{
	bool is_elsewhere = s->is_opened && why->stage == EXEC_STAGE_CWD &&
			    s->place + 1 < PLACES;

	if (!is_elsewhere) {
		cannot_start(s, why);
		return;
	}
	s->place++;
	start_again(s);
}

static void look_at_status(struct session *s)
{
	struct failed why;
	enum spawn_state state = spawn_result(s->shell.status, &why);

	if (state == SPAWN_PENDING)
		return;
	own_close(&s->shell.status);
	if (state == SPAWN_FAILED)
		start_failed(s, &why);
}

static void run(struct session *s, struct bytes command)
{
	s->state = SESSION_RUNNING;
	s->begun = clock_ms();
	if (shell_run(&s->shell, command) < 0)
		(void)kill(s->shell.pid, SIGKILL); /* its death ends the action */
}

static void be_ready(struct session *s)
{
	read_output(s, DRAIN_MAX); /* and forget it: we are starting still */
	s->state = SESSION_READY;
	if (!s->is_opened)
		say_started(s);
	if (!s->is_pending)
		return;
	s->is_pending = false; /* and kept, see begin_again() */
	run(s, (struct bytes){ s->pending, s->pending_len });
}

/* A SIGINT that bash had not dealt with hit the next command before it did
 * anything: nobody meant that.  It is given again, once. */
static bool give_again(struct session *s)
{
	if (s->is_second || s->is_interrupted || s->action.kills)
		return false;
	s->is_second = true;
	run(s, (struct bytes){ s->pending, s->pending_len });
	return true;
}

static void end_by_report(struct session *s, const struct shell_report *r)
{
	read_output(s, DRAIN_MAX);
	if (!r->has_begun) {
		text_done(&s->text); /* about half a line of ours */
		if (give_again(s))
			return;
	}
	shell_settle(&s->shell);
	end_command(s, r->status, SESSION_READY);
}

static void take_report(struct session *s)
{
	struct shell_report r;

	if (!shell_report(&s->shell, &r))
		return;
	set_text(&s->cwd, r.cwd);
	set_text(&s->python, r.python);
	s->background = r.background;
	if (s->state == SESSION_STARTING)
		be_ready(s);
	else if (s->state == SESSION_RUNNING)
		end_by_report(s, &r);
}

static uint32_t code_of(int status)
{
	return (uint32_t)(WIFSIGNALED(status) ? 128 + WTERMSIG(status)
					      : WEXITSTATUS(status));
}

static void died_starting(struct session *s)
{
	const struct failed no_shell = { EXEC_STAGE_EXECVE, ENOEXEC };

	if (s->shell.status >= 0)
		look_at_status(s);
	if (s->state != SESSION_STARTING || s->shell.pid > 0)
		return; /* it was no execve, and that is dealt with */
	if (s->is_bare) {
		cannot_start(s, &no_shell);
		return;
	}
	s->is_bare = true; /* perhaps it was ~/.bashrc */
	start_again(s);
}

/* A command that was given to a shell which was dying already has done nothing
 * yet: it gets another one, once. */
static bool begin_again(struct session *s)
{
	if (s->state != SESSION_RUNNING || s->is_second || s->action.kills ||
	    shell_has_begun(&s->shell))
		return false;
	s->is_second = s->is_pending = s->is_new = true;
	shell_done(&s->shell);
	begin_start(s);
	return true;
}

void session_reaped(struct session *s, int status)
{
	enum session_state state = s->state;

	s->shell.pid = 0;
	if (state == SESSION_STARTING) {
		died_starting(s);
		return;
	}
	read_output(s, DRAIN_MAX);
	if (begin_again(s))
		return;
	shell_done(&s->shell);
	if (state == SESSION_RUNNING)
		end_command(s, code_of(status), SESSION_DEAD);
	s->state = SESSION_DEAD;
}

struct session *session_new(uint32_t id, uint8_t *request, const struct exec *exec,
			    const struct session_world *world)
{
	struct session *s = mem_zeroed(1, sizeof(*s));
	s->id = id;
	s->request = request;
	s->exec = *exec;
	s->replies = world->replies;
	s->user = world->user;
	s->cgroup = world->cgroup;
	s->key_due = INT64_MAX;
	begin_start(s);
	return s;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	shell_done(&s->shell);
	exec_done(&s->exec);
	free(s->request);
	free(s->pending);
	free(s->cwd);
	free(s->python);
	text_done(&s->text);
	free(s);
}

/* --- actions --------------------------------------------------------------- */

static int64_t limited(uint64_t ms)
{
	return ms > (uint64_t)TIMEOUT_MAX ? TIMEOUT_MAX : (int64_t)ms;
}

static void begin_action(struct session *s, uint32_t id, const struct run_request *r)
{
	int64_t now = clock_ms();

	s->action = (struct session_action){
		.id = id,
		.kind = r->kind,
		.flags = r->flags,
		.soft_ms = limited(r->soft_ms),
		.soft_due = r->soft_ms ? now + limited(r->soft_ms) : INT64_MAX,
		.hard_due = r->hard_ms ? now + limited(r->hard_ms) : INT64_MAX,
	};
	s->carry_len = 0;
}

static bool is_busy(const struct session *s)
{
	return s->state == SESSION_RUNNING || s->is_pending;
}

static void settle_previous(struct session *s)
{
	if (!s->is_unread)
		return;
	if (s->action.flags & RUN_PREVIOUS)
		say_report(s, REPORT_COMPLETED,
			   report_flags(s, REPORT_COMPLETED) | REPORT_PREVIOUS);
	else
		text_done(&s->text);
	s->is_unread = false;
}

static void run_command(struct session *s, struct bytes command)
{
	if (is_busy(s)) {
		answer(s, REPORT_BUSY, 0);
		return;
	}
	settle_previous(s);
	drop_pending(s);
	s->pending = mem_copy(command.data, command.len);
	s->pending_len = command.len;
	s->reports = 0;
	s->is_second = s->is_interrupted = false;
	if (s->state == SESSION_READY) {
		run(s, command);
		return;
	}
	s->is_pending = true;
	if (s->state == SESSION_STARTING)
		return;
	s->is_new = true;
	begin_start(s);
}

static int64_t signal_due(const struct session *s)
{
	return s->begun + EARLY_MS + (int64_t)(s->pending_len >> EARLY_SHIFT);
}

static void type_signal(struct session *s)
{
	s->key_due = INT64_MAX;
	s->is_interrupted = true;
	(void)shell_type(&s->shell, &s->key, 1); /* full: it is killed, if anything */
	shell_ask_again(&s->shell);
}

static void press(struct session *s, struct bytes name)
{
	char bytes[KEY_MAX];
	size_t len = key_find(name, bytes);

	if (len == 0) {
		answer_refusal(s, REPORT_UNKNOWN_KEY);
		return;
	}
	if (!key_is_signal(bytes, len)) {
		(void)shell_type(&s->shell, bytes, len); /* full: nobody reads */
		return;
	}
	s->key = bytes[0];
	s->key_due = signal_due(s);
	if (clock_ms() >= s->key_due)
		type_signal(s);
}

/* A line, ended as the Enter key does. */
static void type(struct session *s, struct bytes line)
{
	if (shell_type(&s->shell, line.data, line.len))
		(void)shell_type(&s->shell, "\r", 1);
}

void session_run(struct session *s, uint32_t id, const struct run_request *r)
{
	begin_action(s, id, r);
	if (r->kind == RUN_COMMAND)
		run_command(s, r->text);
	else if (s->is_unread)
		answer(s, REPORT_COMPLETED, r->kind == RUN_WAIT ? 0 : REPORT_NOT_TYPED);
	else if (!is_busy(s))
		answer_refusal(s, REPORT_NOTHING);
	else if (r->kind == RUN_INPUT && s->state == SESSION_RUNNING)
		type(s, r->text);
	else if (r->kind == RUN_KEY && s->state == SESSION_RUNNING)
		press(s, r->text);
}

/* By the kernel, whoever they have become and whatever the terminal's mode is
 * (since 2.6.37 on the master's side). */
static void interrupt(struct session *s)
{
	(void)ioctl(s->shell.terminal.master, TIOCSIG, SIGINT);
	shell_ask_again(&s->shell);
}

/* What is next: SIGINT, then SIGKILL to what runs in the foreground, then to the
 * shell that it may be a part of. */
static void kill_more(struct session *s, int64_t now)
{
	pid_t group = 0;

	if (now < s->action.kill_due)
		return;
	if (++s->action.kills == 2) {
		s->action.kill_due = now + KILL_MS;
		interrupt(s);
		return;
	}
	if (s->action.kills == 3) {
		s->action.kill_due = now + KILL_SHELL_MS;
		if (ioctl(s->shell.terminal.master, TIOCGPGRP, &group) == 0 && group > 1)
			(void)kill(-group, SIGKILL);
		return;
	}
	s->action.kill_due = INT64_MAX;
	if (s->shell.pid > 0)
		(void)kill(s->shell.pid, SIGKILL);
}

void session_cancel(struct session *s)
{
	int64_t now = clock_ms(), due = signal_due(s);

	s->action.kills = 1;
	s->action.kill_due = now < due ? due : now;
	if (s->is_pending) {
		drop_pending(s);
		s->status = 128 + SIGINT;
		answer(s, REPORT_CANCELLED, 0);
		return;
	}
	kill_more(s, now);
}

int64_t session_due(const struct session *s)
{
	int64_t due = s->state == SESSION_STARTING ? s->start_due : s->key_due;
	const struct session_action *a = &s->action;

	if (!a->id)
		return due;
	if (a->kills)
		return a->kill_due < due ? a->kill_due : due;
	if (a->soft_due < due)
		due = a->soft_due;
	return a->hard_due < due ? a->hard_due : due;
}

void session_expire(struct session *s, int64_t now)
{
	const struct session_action *a = &s->action;

	/* Its death is what starts it again. */
	if (s->state == SESSION_STARTING && now >= s->start_due) {
		s->start_due = INT64_MAX;
		(void)kill(s->shell.pid, SIGKILL);
	}
	if (s->state == SESSION_RUNNING && now >= s->key_due)
		type_signal(s);
	if (!a->id)
		return;
	if (a->kills)
		kill_more(s, now);
	else if (now >= a->hard_due || now >= a->soft_due)
		answer(s, a->soft_due <= a->hard_due ? REPORT_NO_CHANGE
						     : REPORT_TIMED_OUT, 0);
}

/* --- poll ------------------------------------------------------------------ */

/* Only what is waited for gets a place; the order is that of serving. */
static size_t watch(struct pollfd *fds, size_t count, int fd, int events)
{
	if (fd < 0 || !events)
		return count;
	fds[count] = (struct pollfd){ .fd = fd, .events = (short)events };
	return count + 1;
}

size_t session_watch(struct session *s, struct pollfd *fds, bool is_full)
{
	const struct shell *sh = &s->shell;
	int reads = is_full && is_streaming(s) ? 0 : POLLIN;
	int writes = buffer_len(&sh->typed) > 0 ? POLLOUT : 0;

	s->watched = 0;
	if (s->state == SESSION_DEAD)
		return 0;
	s->watched = watch(fds, s->watched, sh->status, POLLIN);
	s->watched = watch(fds, s->watched, sh->reports, POLLIN);
	s->watched = watch(fds, s->watched, sh->terminal.master, reads | writes);
	return s->watched;
}

static int happened(const struct session *s, const struct pollfd *fds, int fd)
{
	for (size_t i = 0; i < s->watched && fd >= 0; i++)
		if (fds[i].fd == fd)
			return fds[i].revents;
	return 0;
}

void session_serve(struct session *s, const struct pollfd *fds)
{
	int status = happened(s, fds, s->shell.status);
	int reports = happened(s, fds, s->shell.reports);
	int master = happened(s, fds, s->shell.terminal.master);

	if (status) {
		look_at_status(s);
		return; /* it may be another shell now */
	}
	if (master & POLLOUT)
		shell_type_more(&s->shell);
	if (master & ~POLLOUT)
		read_output(s, READ_PER_TURN);
	if (reports)
		take_report(s);
}

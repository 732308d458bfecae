#include "executor/session/session_output.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "executor/session/session.h"
#include "executor/session/session_action.h"
#include "executor/terminal/text.h"
#include "executor/wire/send_queue.h"
#include "protocol/action.h"

/* The size of one read(2) of a terminal. */
#define READ_AT_ONCE (16u << 10)
/* If this many bytes of typed input wait for a program to read them, the terminal's
 * answers to its queries are dropped. */
#define ANSWERS_MAX 4096

/* --- answers --------------------------------------------------------------- */

static struct reply new_reply(uint32_t id)
{
	struct reply a = { .id = id, .type = MSG_CONTENT };

	buffer_init(&a.end, SEND_QUEUE_END_MAX);
	return a;
}

void session_say_started(struct session *s)
{
	struct reply a = new_reply(s->id);

	/* cannot fail: the buffer has room; the same holds for the functions below */
	(void)message_put_started(&a.end, s->id, (uint32_t)s->shell.pid, NULL);
	s->is_opened = true;
	send_queue_add(s->replies, &a);
}

void session_say_failed(struct session *s, const struct failed *why)
{
	struct reply a = new_reply(s->id);

	(void)message_put_failed(&a.end, s->id, why, NULL);
	s->is_gone = true;
	send_queue_add(s->replies, &a);
}

bool session_is_streaming(const struct session *s)
{
	return s->action.id && (s->action.flags & RUN_STREAM) &&
	       s->state == SESSION_RUNNING;
}

static void say_output(struct session *s, const void *text, size_t len)
{
	struct reply a = { .id = s->action.id, .type = MSG_OUTPUT, .len = len };

	if (len == 0)
		return;
	a.bytes = mem_copy(text, len);
	send_queue_add(s->replies, &a);
}

/* Streams the action's output.  An incomplete character at its end is kept until its
 * other bytes come. */
static void stream(struct session *s, const uint8_t *data, size_t len, bool is_end)
{
	size_t raw_len = s->carry_len + len, used;

	if (s->carry_len == 0 && utf8_ascii(data, len) == len)
		return say_output(s, data, len); /* most output is ASCII */
	uint8_t *raw = mem_new(raw_len), *text = mem_new(3 * raw_len);
	memcpy(raw, s->carry, s->carry_len);
	if (len > 0)
		memcpy(raw + s->carry_len, data, len);
	size_t text_len = text_to_utf8(raw, raw_len, is_end, text, &used);
	s->carry_len = raw_len - used;
	memcpy(s->carry, raw + used, s->carry_len);
	free(raw);
	say_output(s, text, text_len);
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

/* Returns the output since the last report, as text. */
static struct screen_text take_text(struct session *s, uint32_t state, uint32_t flags)
{
	bool is_whole = s->action.flags & RUN_WHOLE && !(flags & REPORT_PREVIOUS);
	struct screen_text t =
		screen_take(&s->screen, (has_ended(state) ? SCREEN_ENDED : 0u) |
						(is_whole ? SCREEN_WHOLE : 0u));

	return t;
}

void session_show(struct session *s, const void *data, size_t len)
{
	screen_feed(&s->screen, data, len);
	output_log_write(&s->output_log, data, len);
}

void session_forget(struct session *s)
{
	screen_clear(&s->screen);
	output_log_end(&s->output_log);
}

static void say_report(struct session *s, uint32_t state, uint32_t flags)
{
	struct screen_text taken = take_text(s, state, flags);
	struct output_log_mark mark =
		output_log_tell(&s->output_log, taken.cut > 0 || taken.lines > 0);
	struct reply a = new_reply(s->action.id);
	struct report r = {
		.state = state,
		.flags = flags,
		.exit_code = has_ended(state) ? s->status : ACTION_NO_CODE,
		.background = s->background,
		.cut = taken.cut,
		.lines = taken.lines,
		.log = mark.number,
		.unlogged = mark.missing,
		.cwd = s->cwd ? s->cwd : "",
		.interpreter = s->python ? s->python : "",
	};

	(void)action_put_report(&a.end, s->action.id, &r, NULL);
	a.bytes = taken.bytes;
	a.len = taken.len;
	send_queue_add(s->replies, &a);
	s->reports++;
	s->is_new = false;
	if (!has_ended(state))
		return;
	s->is_unread = false;
	session_forget(s);
}

void session_answer(struct session *s, uint32_t state, uint32_t more_flags)
{
	if (s->carry_len > 0)
		stream(s, NULL, 0, true);
	say_report(s, state, report_flags(s, state) | more_flags);
	s->action.id = 0;
}

void session_refuse(struct session *s, uint32_t state)
{
	struct reply a = new_reply(s->action.id);
	struct report r = { .state = state, .exit_code = ACTION_NO_CODE,
			    .cwd = s->cwd ? s->cwd : "", .interpreter = "" };

	(void)action_put_report(&a.end, s->action.id, &r, NULL);
	send_queue_add(s->replies, &a);
	s->action.id = 0;
}

void session_tell_previous(struct session *s)
{
	if (!s->is_unread)
		return;
	if (s->action.flags & RUN_PREVIOUS)
		say_report(s, REPORT_COMPLETED,
			   report_flags(s, REPORT_COMPLETED) | REPORT_PREVIOUS);
	else
		session_forget(s);
	s->is_unread = false;
}

/* --- the terminal ---------------------------------------------------------- */

/* Kills a shell that is alive but whose terminal has hung up, since it cannot run a
 * command any more. */
static void lose_terminal(struct session *s)
{
	terminal_close(&s->shell.terminal);
	if (s->shell.pid > 0)
		(void)kill(s->shell.pid, SIGKILL); /* the shell is not reaped yet, so its
						    * pid cannot have been reused */
}

/* Types the terminal's answers to a program's queries (such as for the cursor's position)
 * as the program's input.  Answers are dropped if the program queries but does not
 * read. */
static void answer_program(struct session *s)
{
	struct buffer *b = screen_answers(&s->screen);

	if (!b)
		return;
	if (s->state == SESSION_RUNNING && buffer_len(&s->shell.typed) < ANSWERS_MAX)
		(void)shell_type(&s->shell, buffer_data(b), buffer_len(b));
	buffer_consume(b, buffer_len(b));
}

/* Draws output on the screen.  Returns how many bytes were drawn, which are not all if
 * the session's share of work is used up. */
static size_t take_output(struct session *s, const uint8_t *data, size_t len, int64_t now)
{
	if (s->state == SESSION_STARTING)
		return len; /* output of start-up files, which is not shown */
	size_t used = screen_feed_some(&s->screen, data, len, &s->work);
	output_log_write(&s->output_log, data, used);
	answer_program(s);
	if (session_is_streaming(s))
		stream(s, data, used, false);
	session_heard(s, now);
	return used;
}

void session_drop_ahead(struct session *s)
{
	buffer_done(&s->ahead);
}

/* Draws bytes that were read in an earlier turn.  Returns true if all of them are
 * drawn. */
static bool take_ahead(struct session *s, size_t *max, int64_t now)
{
	size_t used = take_output(s, buffer_data(&s->ahead), buffer_len(&s->ahead), now);

	buffer_consume(&s->ahead, used);
	*max -= used < *max ? used : *max;
	if (buffer_len(&s->ahead) > 0)
		return false;
	session_drop_ahead(s); /* frees the buffer, so that an idle session takes no
			        * memory for it */
	return true;
}

/* Does one read(2), draws as many bytes as the session's work allows, and keeps the rest
 * for the next turn.  Returns false if there is nothing to read. */
static bool read_some(struct session *s, size_t *max, int64_t now)
{
	uint8_t data[READ_AT_ONCE];
	ssize_t n = read(s->shell.terminal.master, data, sizeof(data));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		lose_terminal(s);
		return false;
	}
	size_t used = take_output(s, data, (size_t)n, now);
	*max -= used < *max ? used : *max;
	if (used < (size_t)n) {
		buffer_init(&s->ahead, READ_AT_ONCE);
		/* cannot fail: the bytes fit into the new buffer */
		(void)buffer_append(&s->ahead, data + used, (size_t)n - used);
	}
	return true;
}

bool session_read(struct session *s, size_t *max, int64_t now)
{
	if (buffer_len(&s->ahead) > 0 && !take_ahead(s, max, now))
		return false;
	while (*max > 0 && s->shell.terminal.master >= 0) {
		if (s->work == 0 && s->state != SESSION_STARTING)
			return false;
		if (!read_some(s, max, now))
			return true;
		if (buffer_len(&s->ahead) > 0)
			return false;
	}
	return s->shell.terminal.master < 0;
}

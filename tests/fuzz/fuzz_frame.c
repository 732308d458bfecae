/* Splits frames off arbitrary bytes and decodes them as every message, in both
 * directions.  A decoded message is encoded again and must give the same body:
 * each message has exactly one encoding, so nothing can be hidden in a second
 * one. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/list.h"
#include "base/own.h"
#include "protocol/action.h"
#include "protocol/message.h"
#include "protocol/plugin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* `again` holds the encoding of the message that `f` was decoded to. */
static void must_equal(const struct frame *f, struct buffer *again, int encoded)
{
	struct frame g;
	struct err e;

	if (encoded < 0 || frame_next(again, FRAME_MAX_TO_EXECUTOR, &g, &e) != 1)
		abort();
	if (g.len != f->len || (g.len && memcmp(g.body, f->body, g.len) != 0))
		abort();
}

static void try_hello(const struct frame *f, struct buffer *again)
{
	struct hello h;
	struct err e;

	if (message_get_hello(f, &h, &e) == 0)
		must_equal(f, again, message_put_hello(again, &h, &e));
}

/* Every text is a string that ends inside the frame. */
static void must_end(const struct frame *f, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	if (at < f->body || at >= f->body + f->len ||
	    !memchr(at, 0, (size_t)(f->body + f->len - at)))
		abort();
}

static void try_exec(const struct frame *f, struct buffer *again)
{
	struct exec x;
	struct err e;

	if (message_get_exec(f, &x, &e) < 0)
		return;
	must_end(f, x.cwd);
	for (char **text = x.argv; *text; text++)
		must_end(f, *text);
	for (char **text = x.env; *text; text++)
		must_end(f, *text);
	if (!x.argv[0] || x.rlimit_count > EXEC_MAX_RLIMITS)
		abort();
	must_equal(f, again, message_put_exec(again, f->id, &x, &e));
	exec_done(&x);
}

static void try_started(const struct frame *f, struct buffer *again)
{
	uint32_t pid;
	struct err e;

	if (message_get_started(f, &pid, &e) == 0)
		must_equal(f, again, message_put_started(again, f->id, pid, &e));
}

static void try_failed(const struct frame *f, struct buffer *again)
{
	struct failed x;
	struct err e;

	if (message_get_failed(f, &x, &e) == 0)
		must_equal(f, again, message_put_failed(again, f->id, &x, &e));
}

static void try_exited(const struct frame *f, struct buffer *again)
{
	struct exited x;
	struct err e;

	if (message_get_exited(f, &x, &e) == 0)
		must_equal(f, again, message_put_exited(again, f->id, &x, &e));
}

static void try_signal(const struct frame *f, struct buffer *again)
{
	uint32_t signo;
	struct err e;

	if (message_get_signal(f, &signo, &e) == 0)
		must_equal(f, again, message_put_signal(again, f->id, signo, &e));
}

static void try_resize(const struct frame *f, struct buffer *again)
{
	uint32_t rows, cols;
	struct err e;

	if (message_get_resize(f, &rows, &cols, &e) == 0)
		must_equal(f, again, message_put_resize(again, f->id, rows, cols, &e));
}

static void try_stop(const struct frame *f, struct buffer *again)
{
	uint32_t grace_ms;
	struct err e;

	if (message_get_stop(f, &grace_ms, &e) == 0)
		must_equal(f, again, message_put_stop(again, grace_ms, &e));
}

static void try_open(const struct frame *f, struct buffer *again)
{
	struct exec x;
	struct err e;

	if (message_get_exec(f, &x, &e) < 0)
		return;
	must_equal(f, again, message_put_open(again, f->id, &x, &e));
	exec_done(&x);
}

static void try_run(const struct frame *f, struct buffer *again)
{
	struct run_request r;
	struct err e;

	if (action_get_run(f, &r, &e) < 0)
		return;
	if (r.text.len > ACTION_TEXT_MAX ||
	    (r.text.len && memchr(r.text.data, 0, r.text.len)))
		abort();
	must_equal(f, again, action_put_run(again, f->id, &r, &e));
}

static void try_cancel(const struct frame *f, struct buffer *again)
{
	struct err e;

	if (action_get_cancel(f, &e) == 0)
		must_equal(f, again, action_put_cancel(again, f->id, &e));
}

static void try_read(const struct frame *f, struct buffer *again)
{
	struct read_request r;
	struct err e;

	if (action_get_read(f, &r, &e) < 0)
		return;
	must_end(f, r.path);
	must_equal(f, again, action_put_read(again, f->id, &r, &e));
}

static void try_write(const struct frame *f, struct buffer *again)
{
	struct write_request r;
	struct err e;

	if (action_get_write(f, &r, &e) < 0)
		return;
	must_end(f, r.path);
	must_equal(f, again, action_put_write(again, f->id, &r, &e));
}

static void try_text(const struct frame *f, struct buffer *again)
{
	struct bytes text;
	struct err e;

	if (action_get_text(f, &text, &e) < 0)
		return;
	if (text.len > ACTION_CHUNK)
		abort();
	must_equal(f, again, action_put_text(again, f->type, f->id, text, &e));
}

static void try_report(const struct frame *f, struct buffer *again)
{
	struct report r;
	struct err e;

	if (action_get_report(f, &r, &e) < 0)
		return;
	must_end(f, r.cwd);
	must_end(f, r.interpreter);
	must_equal(f, again, action_put_report(again, f->id, &r, &e));
}

static void try_done(const struct frame *f, struct buffer *again)
{
	struct done d;
	struct err e;

	if (action_get_done(f, &d, &e) < 0)
		return;
	must_end(f, d.path);
	must_end(f, d.cwd);
	must_equal(f, again, action_put_done(again, f->id, &d, &e));
}

static void try_end(const struct frame *f, struct buffer *again)
{
	struct err e;

	if (message_get_end(f, &e) == 0)
		must_equal(f, again, message_put_end(again, f->id, &e));
}

static void try_hold(const struct frame *f, struct buffer *again)
{
	bool is_held;
	struct err e;

	if (message_get_hold(f, &is_held, &e) == 0)
		must_equal(f, again, action_put_hold(again, f->id, is_held, &e));
}

static void try_edit(const struct frame *f, struct buffer *again)
{
	struct edit_request r;
	struct err e;

	if (action_get_edit(f, &r, &e) < 0)
		return;
	must_end(f, r.command);
	must_end(f, r.path);
	must_end(f, r.line);
	must_end(f, r.range);
	must_equal(f, again, action_put_edit(again, f->id, &r, &e));
}

static void try_edited(const struct frame *f, struct buffer *again)
{
	struct edited x;
	struct err e;

	if (action_get_edited(f, &x, &e) == 0)
		must_equal(f, again, action_put_edited(again, f->id, &x, &e));
}

static void try_errand(const struct frame *f, struct buffer *again)
{
	struct errand_request r;
	struct err e;

	if (action_get_errand(f, &r, &e) < 0)
		return;
	must_end(f, r.place.cwd);
	must_end(f, r.path);
	must_end(f, r.other);
	must_end(f, r.include);
	must_equal(f, again, action_put_errand(again, f->id, &r, &e));
}

static void try_returned(const struct frame *f, struct buffer *again)
{
	struct returned x;
	struct err e;

	if (action_get_returned(f, &x, &e) < 0)
		return;
	must_end(f, x.path);
	must_end(f, x.cwd);
	must_end(f, x.stat.target);
	must_equal(f, again, action_put_returned(again, f->id, &x, &e));
}

static void try_env(const struct frame *f, struct buffer *again)
{
	struct list set, unset;
	struct err e;

	if (message_get_env(f, &set, &unset, &e) < 0)
		return;
	must_equal(f, again, message_put_env(again, &set, &unset, &e));
	list_done(&set);
	list_done(&unset);
}

static void try_paused(const struct frame *f, struct buffer *again)
{
	uint32_t number;
	struct err e;

	if (message_get_paused(f, &number, &e) == 0)
		must_equal(f, again, message_put_paused(again, number, &e));
}

static void try_freeze(const struct frame *f, struct buffer *again)
{
	uint32_t number;
	struct err e;

	if (message_get_freeze(f, &number, &e) == 0)
		must_equal(f, again, message_put_freeze(again, number, &e));
}

static void try_frozen(const struct frame *f, struct buffer *again)
{
	struct frozen what;
	struct err e;

	if (message_get_frozen(f, &what, &e) < 0)
		return;
	if (what.number == 0 || what.why >= FREEZE_WHY_COUNT)
		abort();
	must_equal(f, again, message_put_frozen(again, &what, &e));
}

static void try_dial(const struct frame *f, struct buffer *again)
{
	uint32_t port;
	struct err e;

	if (message_get_dial(f, &port, &e) < 0)
		return;
	if (port == 0 || port > UINT16_MAX || !(f->id & DIAL_ID))
		abort();
	must_equal(f, again, message_put_dial(again, f->id, port, &e));
}

static void try_word(const struct frame *f, struct buffer *again)
{
	struct err e;

	if (message_get_word(f, &e) == 0)
		must_equal(f, again, message_put_word(again, MSG_FINISH, f->id, &e));
}

static void try_closed(const struct frame *f, struct buffer *again)
{
	uint32_t sys;
	struct err e;

	if (message_get_closed(f, &sys, &e) < 0)
		return;
	if (sys > 4095 || !(f->id & DIAL_ID))
		abort();
	must_equal(f, again, message_put_closed(again, f->id, sys, &e));
}

static void try_plugin(const struct frame *f, struct buffer *again)
{
	struct exec x;
	struct err e;

	if (message_get_exec(f, &x, &e) < 0)
		return;
	must_equal(f, again, message_put_plugin(again, f->id, &x, &e));
	exec_done(&x);
}

static void try_offer(const struct frame *f, struct buffer *again)
{
	struct plugin_offer o;
	struct err e;

	if (plugin_get_offer(f, &o, &e) < 0)
		return;
	must_end(f, o.version);
	for (uint32_t i = 0; i < o.action_count; i++) {
		must_end(f, o.actions[i].action);
		must_end(f, o.actions[i].observation);
		must_end(f, o.actions[i].message);
	}
	must_equal(f, again, plugin_put_offer(again, f->id, &o, &e));
}

static void try_state(const struct frame *f, struct buffer *again)
{
	uint32_t state;
	const char *reason;
	struct err e;

	if (plugin_get_state(f, &state, &reason, &e) < 0)
		return;
	must_end(f, reason);
	must_equal(f, again, plugin_put_state(again, f->id, state, reason, &e));
}

static void try_call(const struct frame *f, struct buffer *again)
{
	struct plugin_call c;
	struct err e;

	if (plugin_get_call(f, &c, &e) < 0)
		return;
	must_end(f, c.cwd);
	must_end(f, c.action);
	must_equal(f, again, plugin_put_call(again, f->id, &c, &e));
}

static void try_answered(const struct frame *f, struct buffer *again)
{
	struct plugin_answer a;
	uint64_t total = 0;
	struct err e;

	if (plugin_get_answer(f, &a, &e) < 0)
		return;
	for (uint32_t i = 0; i < a.part_count; i++) {
		must_end(f, a.parts[i].name);
		total += plugin_part_len(&a.parts[i]);
	}
	if (total > PLUGIN_ANSWER_MAX)
		abort();
	must_equal(f, again, plugin_put_answer(again, f->id, &a, &e));
}

static void (*const tries[])(const struct frame *f, struct buffer *again) = {
	[MSG_HELLO] = try_hello,       [MSG_EXEC] = try_exec,
	[MSG_STARTED] = try_started,   [MSG_FAILED] = try_failed,
	[MSG_EXITED] = try_exited,     [MSG_SIGNAL] = try_signal,
	[MSG_RESIZE] = try_resize,     [MSG_STOP] = try_stop,
	[MSG_OPEN] = try_open,	       [MSG_RUN] = try_run,
	[MSG_CANCEL] = try_cancel,     [MSG_READ] = try_read,
	[MSG_WRITE] = try_write,       [MSG_OUTPUT] = try_text,
	[MSG_CONTENT] = try_text,      [MSG_REPORT] = try_report,
	[MSG_DONE] = try_done,	       [MSG_END] = try_end,
	[MSG_HOLD] = try_hold,	       [MSG_EDIT] = try_edit,
	[MSG_EDITED] = try_edited,     [MSG_ENV] = try_env,
	[MSG_ERRAND] = try_errand,     [MSG_RETURNED] = try_returned,
	[MSG_PAUSED] = try_paused,     [MSG_DIAL] = try_dial,
	[MSG_FINISH] = try_word,       [MSG_HANGUP] = try_word,
	[MSG_FINISHED] = try_word,     [MSG_CLOSED] = try_closed,
	[MSG_FREEZE] = try_freeze,     [MSG_FROZEN] = try_frozen,
	[MSG_PLUGIN] = try_plugin,     [MSG_OFFER] = try_offer,
	[MSG_STATE] = try_state,       [MSG_CALL] = try_call,
	[MSG_ANSWERED] = try_answered,
};
_Static_assert(ARRAY_LEN(tries) == MSG_COUNT, "a message is not tried");

/* Decodes the body as every message, not only as its own type: the bodies are
 * similar enough for that to find more.  Uses a copy of exact size, so that a
 * read beyond it is noticed. */
static void try_all(const struct frame *f)
{
	AUTO_FREE uint8_t *body = malloc(f->len + !f->len);

	if (!body)
		abort();
	memcpy(body, f->body, f->len);
	for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
		/* Only MSG_NONE and MSG_CGROUP have no body to decode. */
		if (!tries[i] && i != MSG_NONE && i != MSG_CGROUP)
			abort();
		if (!tries[i])
			continue;
		struct frame own = { f->type, f->id, body, f->len };
		struct buffer again;
		buffer_init(&again, FRAME_HEADER + FRAME_MAX_TO_EXECUTOR);
		tries[i](&own, &again);
		buffer_done(&again);
	}
}

static void split(const uint8_t *data, size_t size, size_t max)
{
	struct buffer in;
	struct frame f;
	struct err e;
	int whole;

	buffer_init(&in, size);
	(void)buffer_append(&in, data, size); /* fits */
	while ((whole = frame_next(&in, max, &f, &e)) > 0) {
		if (f.len > max || FRAME_HEADER + f.len > buffer_len(&in))
			abort();
		try_all(&f);
		buffer_consume(&in, FRAME_HEADER + f.len);
	}
	if (whole < 0 && e.kind != ERR_PROTOCOL)
		abort();
	buffer_done(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	split(data, size, FRAME_MAX_TO_EXECUTOR);
	split(data, size, FRAME_MAX_FROM_EXECUTOR);
	return 0;
}

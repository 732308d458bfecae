#include "sandbox/act/desk.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/action.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/message.h"
#include "base/own.h"
#include "sandbox/act/action.h"
#include "sandbox/act/answers.h"
#include "sandbox/act/put.h"
#include "sandbox/cgroup.h"

/* Base64 of the largest file, and then some; 30,000 characters and a notice. */
#define FILE_CONTENT_MAX (16u << 20)
#define RUN_CONTENT_MAX	 (256u << 10)

/* Room for one observation: every byte can become six, and a command stands in it
 * up to three times. */
#define LINE_MAX_BYTES (6 * FILE_CONTENT_MAX + 18 * ACTION_TEXT_MAX + (1u << 20))

/* How much longer than it may take anything is waited for, in ms. */
#define GRACE_MS  10000
#define FILE_MS	  60000
#define OPEN_MS	  60000

/* An action that is under way is waited for by so many more, each of whom gets a
 * copy of its answer. */
#define REPEATS_MAX 8

/* Another request waits while this much has not been sent. */
#define WIRE_BUSY (64u << 10)

enum task_state { TASK_WAITING, TASK_SENT };

struct task {
	struct action action;
	uint32_t id; /* on the wire, once sent */
	enum task_state state;
	int64_t started_us, deadline; /* deadline in ms; 0: not yet */
	size_t bytes;	/* of its line */
	struct buffer content;
	struct buffer previous; /* the rest of the command before */
	bool has_previous;
	unsigned repeats; /* how often it was asked for in the meantime */
	struct task *next;
};

void desk_init(struct desk *d)
{
	*d = (struct desk){ .next_id = 1, .answers = answers_new() };
}

static void task_free(struct task *t)
{
	action_done(&t->action);
	buffer_done(&t->content);
	buffer_done(&t->previous);
	free(t);
}

void desk_done(struct desk *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->session_count; i++) {
		struct session *s = &d->sessions[i];
		for (struct task *t = s->first, *next; t; t = next) {
			next = t->next;
			task_free(t);
		}
		free(s->name);
	}
	answers_free(d->answers);
	*d = (struct desk){ 0 };
}

/* --- observations --------------------------------------------------------- */

/* Copies a finished line to where it is wanted.  Its room is seen to: the desk is
 * given no line, and no frame, while much is waiting there. */
static void deliver(struct desk *d, const struct buffer *line, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		if (!buffer_append(d->out, buffer_data(line), buffer_len(line)))
			abort();
}

static void say_error(struct desk *d, const struct action *a, const char *error_id,
		      const char *text)
{
	const struct observed o = { .action = a };

	observe_error(d->out, &o, error_id, text);
}

static void say_bad(struct desk *d, const struct action *a, const struct err *e)
{
	AUTO_FREE char *text = text_format("ERROR: %s", e->text);

	say_error(d, a, "HUTCH$BAD_ACTION", text);
}

static struct session *session_of(struct desk *d, const struct task *t)
{
	for (size_t i = 0; i < d->session_count; i++)
		if (!strcmp(d->sessions[i].name, t->action.session))
			return &d->sessions[i];
	abort(); /* a task is in the queue of its session */
}

static void remove_task(struct desk *d, struct task *t)
{
	struct session *s = session_of(d, t);
	struct task **at = &s->first, *before = NULL;

	while (*at != t) {
		before = *at;
		at = &before->next;
	}
	*at = t->next;
	if (s->last == t)
		s->last = before;
	d->task_count--;
	d->task_bytes -= t->bytes;
	task_free(t);
}

/* The end of a task: its one observation, to everybody who asked for it. */
static void finish(struct desk *d, struct task *t, struct buffer *line)
{
	const struct observed o = { .action = &t->action };

	if (!put_is_whole(line)) {
		buffer_done(line);
		buffer_init(line, LINE_MAX_BYTES);
		observe_error(line, &o, "HUTCH$TOO_LARGE", "ERROR: the observation is too large");
	}
	if (t->action.has_id)
		answers_keep(d->answers, &t->action, (const char *)buffer_data(line),
			     buffer_len(line));
	deliver(d, line, 1 + t->repeats);
	buffer_done(line);
	remove_task(d, t);
}

static struct observed observed_of(const struct task *t)
{
	return (struct observed){
		.action = &t->action,
		.took_ms = t->started_us ? (double)(clock_us() - t->started_us) / 1e3 : 0,
		.content = buffer_data(&t->content),
		.len = buffer_len(&t->content),
		.previous = buffer_data(&t->previous),
		.previous_len = buffer_len(&t->previous),
		.has_previous = t->has_previous,
	};
}

static void finish_error(struct desk *d, struct task *t, const char *error_id,
			 const char *text)
{
	const struct observed o = observed_of(t);
	struct buffer line;

	buffer_init(&line, LINE_MAX_BYTES);
	observe_error(&line, &o, error_id, text);
	finish(d, t, &line);
}

/* --- lines ---------------------------------------------------------------- */

static struct session *find_session(struct desk *d, const char *name)
{
	for (size_t i = 0; i < d->session_count; i++)
		if (!strcmp(d->sessions[i].name, name))
			return &d->sessions[i];
	if (d->session_count == DESK_SESSIONS)
		return NULL;
	struct session *s = &d->sessions[d->session_count++];
	*s = (struct session){ .name = text_copy(name), .id = d->next_id++ };
	return s;
}

/* The first that has this id; with a timestamp, the one that was sent then. */
static struct task *find_running(struct desk *d, const struct action *a, uint64_t id,
				 const char *timestamp)
{
	for (size_t i = 0; i < d->session_count; i++)
		for (struct task *t = d->sessions[i].first; t; t = t->next)
			if (t->action.has_id && t->action.id == id &&
			    !strcmp(t->action.client, a->client) &&
			    (!timestamp || !strcmp(t->action.timestamp, timestamp)))
				return t;
	return NULL;
}

static void end_early(struct desk *d, struct task *t)
{
	if (t->state == TASK_WAITING)
		return finish_error(d, t, "HUTCH$CANCELLED",
				    "ERROR: The action was cancelled before it started.");
	if (t->action.kind != ACT_RUN)
		return; /* a file's end is near anyway */
	(void)action_put_cancel(d->wire, t->id, NULL); /* small: there is room */
	if (t->deadline > clock_ms() + GRACE_MS)
		t->deadline = clock_ms() + GRACE_MS;
}

static void cancel(struct desk *d, const struct action *a)
{
	const struct observed o = { .action = a };
	struct task *t = find_running(d, a, a->cancelled, NULL);
	struct buffer line;

	buffer_init(&line, LINE_MAX_BYTES);
	if (t)
		observe_nothing(&line, &o);
	else
		observe_error(&line, &o, "HUTCH$NOT_FOUND",
			      "ERROR: No action with this id is under way.");
	if (a->has_id)
		answers_keep(d->answers, a, (const char *)buffer_data(&line), buffer_len(&line));
	deliver(d, &line, 1);
	buffer_done(&line);
	if (t)
		end_early(d, t);
}

static void enqueue(struct desk *d, struct session *s, struct action *a, size_t len)
{
	struct task *t = mem_zeroed(1, sizeof(*t));
	t->action = *a;
	t->bytes = len;
	buffer_init(&t->content, a->kind == ACT_RUN ? RUN_CONTENT_MAX : FILE_CONTENT_MAX);
	if (s->last)
		s->last->next = t;
	else
		s->first = t;
	s->last = t;
	d->task_count++;
	d->task_bytes += len;
}

/* True when it is to be done; else it has been answered, or will be. */
static bool is_new(struct desk *d, const struct action *a, const char *line, size_t len)
{
	static const char *const refusals[] = {
		[ANSWER_UNDER_WAY] = "ERROR: this action is under way, and enough repeats of "
				     "it are waiting",
		[ANSWER_OTHER_BODY] = "ERROR: another action with this id and timestamp was "
				      "asked for before",
		[ANSWER_TOO_OLD] = "ERROR: this id is older than all answers that are kept; it "
				   "is not done again",
		[ANSWER_TOO_MANY] = "ERROR: more than 64 clients",
	};
	const char *kept = NULL;

	if (!a->has_id)
		return true;
	enum answer_state state = answers_look(d->answers, a, line, len, &kept);
	if (state == ANSWER_NEW)
		return true;
	if (state == ANSWER_KEPT) {
		(void)buffer_append(d->out, kept, strlen(kept));
		return false;
	}
	struct task *t = state == ANSWER_UNDER_WAY ? find_running(d, a, a->id, a->timestamp) : NULL;
	if (t && t->repeats < REPEATS_MAX)
		t->repeats++;
	else
		say_error(d, a, "HUTCH$BAD_ACTION", refusals[state]);
	return false;
}

/* What was decoded; what is kept of it is taken over. */
static void take_action(struct desk *d, struct action *a, const char *line, size_t len)
{
	struct session *s = a->kind == ACT_CANCEL ? NULL : find_session(d, a->session);

	if (a->kind != ACT_CANCEL && !s)
		say_error(d, a, "HUTCH$BAD_ACTION", "ERROR: more than 64 sessions");
	else if (!is_new(d, a, line, len))
		; /* it has its answer, or will get it */
	else if (a->kind == ACT_CANCEL)
		cancel(d, a);
	else
		return enqueue(d, s, a, len);
	action_done(a);
}

void desk_line(struct desk *d, const char *line, size_t len)
{
	struct action a;
	struct err e;

	if (action_decode(line, len, &a, &e) == 0)
		return take_action(d, &a, line, len);
	say_bad(d, &a, &e);
	action_done(&a);
}

void desk_long_line(struct desk *d)
{
	const struct action none = { .kind = ACT_UNSUPPORTED };
	struct err e;

	(void)err_set(&e, ERR_LIMIT, "a line of more than %u bytes", ACTION_LINE_MAX);
	say_bad(d, &none, &e);
}

/* --- what can start ------------------------------------------------------- */

static enum run_kind kind_of(const struct action *a)
{
	if (!*a->command)
		return RUN_WAIT;
	if (action_is_control_key(a->command) || (a->is_input && action_is_key(a->command)))
		return RUN_KEY;
	return a->is_input ? RUN_INPUT : RUN_COMMAND;
}

/* A time-out that was asked for is none of 0, which would be none at all. */
static uint64_t whole_ms(double seconds)
{
	double ms = seconds * 1000;

	return ms < 1 ? 1 : (uint64_t)ms;
}

static void put_run(struct desk *d, const struct session *s, struct task *t, struct err *e)
{
	const struct action *a = &t->action;
	const struct run_request r = {
		.session = s->id,
		.kind = kind_of(a),
		.flags = RUN_PREVIOUS | (d->streams ? RUN_STREAM : 0u),
		.soft_ms = a->is_blocking ? 0 : whole_ms(d->setting.soft_s),
		.hard_ms = whole_ms(a->timeout_s),
		.text = { (const uint8_t *)a->command, strlen(a->command) },
	};

	t->deadline = clock_ms() + (int64_t)r.hard_ms + GRACE_MS;
	(void)action_put_run(d->wire, t->id, &r, e); /* it was checked, and has room */
}

static void put_file(struct desk *d, const struct session *s, struct task *t, struct err *e)
{
	const struct action *a = &t->action;
	uint32_t session = s->is_open ? s->id : 0;
	const struct file_place place = { d->shell->uid, d->shell->gid, d->shell->cwd };
	const struct read_request read = {
		.session = session, .place = place,
		.form = observe_mime(a->path) ? READ_BASE64 : READ_TEXT,
		.first = a->start, .end = a->end, .path = a->path,
	};
	const struct write_request write = {
		.session = session, .place = place,
		.first = a->start, .end = a->end, .path = a->path,
		.content = { (const uint8_t *)a->content, a->content ? strlen(a->content) : 0 },
	};

	t->deadline = clock_ms() + FILE_MS;
	if (a->kind == ACT_READ)
		(void)action_put_read(d->wire, t->id, &read, e);
	else
		(void)action_put_write(d->wire, t->id, &write, e);
}

static void send_task(struct desk *d, struct session *s, struct task *t)
{
	struct err e = { 0 };

	t->id = d->next_id++;
	t->state = TASK_SENT;
	t->started_us = clock_us();
	if (t->action.kind == ACT_RUN)
		put_run(d, s, t, &e);
	else
		put_file(d, s, t, &e);
	if (e.kind == ERR_NONE)
		return;
	AUTO_FREE char *text = text_format("ERROR: %s", e.text);
	finish_error(d, t, "HUTCH$BAD_ACTION", text);
}

static void open_session(struct desk *d, struct session *s)
{
	struct err e;

	if (message_put_open(d->wire, s->id, d->shell, &e) < 0) {
		AUTO_FREE char *text = text_format("ERROR: no shell could be started: %s", e.text);
		return finish_error(d, s->first, "HUTCH$NO_SHELL", text);
	}
	s->is_opening = true;
	s->deadline = clock_ms() + OPEN_MS;
}

/* What may be as large as a frame can be has the wire for itself. */
static bool has_room(const struct desk *d, const struct session *s)
{
	enum action_kind kind = s->first->action.kind;
	bool is_large = kind == ACT_WRITE || (kind == ACT_RUN && !s->is_open);

	return buffer_len(d->wire) <= (is_large ? 0 : WIRE_BUSY);
}

/* False when the session has nothing more that could start now. */
static bool start_one(struct desk *d, struct session *s)
{
	struct task *t = s->first;

	if (!t || t->state == TASK_SENT || s->is_opening)
		return false;
	if (t->action.kind == ACT_UNSUPPORTED) {
		finish_error(d, t, "", t->action.refusal);
		return true;
	}
	if (!has_room(d, s))
		return false;
	if (t->action.kind == ACT_RUN && !s->is_open)
		open_session(d, s);
	else
		send_task(d, s, t);
	return true;
}

bool desk_start(struct desk *d)
{
	bool has_started = false;

	for (size_t i = 0; i < d->session_count; i++)
		while (start_one(d, &d->sessions[i]))
			has_started = true;
	return has_started;
}

/* --- waiting -------------------------------------------------------------- */

static int64_t session_deadline(const struct session *s)
{
	if (s->is_opening)
		return s->deadline;
	return s->first && s->first->state == TASK_SENT ? s->first->deadline : 0;
}

int64_t desk_deadline(const struct desk *d)
{
	int64_t next = 0;

	for (size_t i = 0; i < d->session_count; i++) {
		int64_t one = session_deadline(&d->sessions[i]);
		if (one > 0 && (next == 0 || one < next))
			next = one;
	}
	return next;
}

int desk_check(const struct desk *d, struct err *e)
{
	int64_t deadline = desk_deadline(d);

	if (!deadline || clock_ms() < deadline)
		return 0;
	return err_set(e, ERR_PROTOCOL, "it did not answer in time");
}

/* --- frames --------------------------------------------------------------- */

static struct session *session_by_id(struct desk *d, uint32_t id)
{
	for (size_t i = 0; i < d->session_count; i++)
		if (d->sessions[i].id == id)
			return &d->sessions[i];
	return NULL;
}

/* At most one of each session is under way, and it is the first. */
static struct task *task_by_id(struct desk *d, uint32_t id)
{
	for (size_t i = 0; i < d->session_count; i++) {
		struct task *t = d->sessions[i].first;
		if (t && t->state == TASK_SENT && t->id == id)
			return t;
	}
	return NULL;
}

static int untimely(const struct frame *f, struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "it sent '%s' about %u at the wrong time",
		       message_name(f->type), f->id);
}

static int on_started(struct desk *d, const struct frame *f, struct err *e)
{
	struct session *s = session_by_id(d, f->id);
	uint32_t pid;

	if (!s || !s->is_opening)
		return untimely(f, e);
	if (message_get_started(f, &pid, e) < 0)
		return -1;
	s->is_opening = false;
	s->is_open = true;
	return 0;
}

/* No shell: what was to run in it cannot.  The next one tries again. */
static int on_failed(struct desk *d, const struct frame *f, struct err *e)
{
	struct session *s = session_by_id(d, f->id);
	struct failed failed;

	if (!s || !s->is_opening)
		return untimely(f, e);
	if (message_get_failed(f, &failed, e) < 0)
		return -1;
	s->is_opening = false;
	AUTO_FREE char *text = text_format("ERROR: no shell could be started: %s: %s: %s",
					   exec_stage_name(failed.stage), d->shell->argv[0],
					   strerror((int)failed.sys));
	if (s->first && s->first->action.kind == ACT_RUN)
		finish_error(d, s->first, "HUTCH$NO_SHELL", text);
	return 0;
}

static int on_output(struct desk *d, struct task *t, const struct frame *f, struct err *e)
{
	struct observed o = { .action = &t->action };
	struct bytes text;

	if (!d->streams || t->action.kind != ACT_RUN)
		return untimely(f, e);
	if (action_get_text(f, &text, e) < 0)
		return -1;
	o.content = text.data;
	o.len = text.len;
	observe_output(d->out, &o);
	return 0;
}

static int on_content(struct desk *d, struct task *t, const struct frame *f, struct err *e)
{
	struct bytes text;

	(void)d;
	if (action_get_text(f, &text, e) < 0)
		return -1;
	if (!buffer_append(&t->content, text.data, text.len))
		return err_set(e, ERR_PROTOCOL, "it sent more content than it may");
	return 0;
}

/* A command that was killed, and since the last look the kernel has killed for
 * want of memory, at this limit and not the machine's. */
static uint64_t oom_limit(struct desk *d, const struct report *r)
{
	struct usage used;

	if (!d->cgroup || r->exit_code != 128 + SIGKILL)
		return 0;
	cgroup_usage(d->cgroup, &used);
	bool is_oom = used.oom_kills > d->oom_kills && used.is_over_limit;
	d->oom_kills = used.oom_kills;
	return is_oom ? d->memory_limit : 0;
}

/* What came so far is not this command's, but of the one before, which ended while
 * nobody waited.  Once for each action. */
static int keep_previous(struct task *t, const struct frame *f, struct err *e)
{
	if (t->has_previous)
		return untimely(f, e);
	t->has_previous = true;
	t->previous = t->content;
	buffer_init(&t->content, RUN_CONTENT_MAX);
	return 0;
}

static int on_report(struct desk *d, struct task *t, const struct frame *f, struct err *e)
{
	struct report r;
	struct buffer line;

	if (t->action.kind != ACT_RUN)
		return untimely(f, e);
	if (action_get_report(f, &r, e) < 0)
		return -1;
	if (r.flags & REPORT_PREVIOUS)
		return keep_previous(t, f, e);
	struct observed o = observed_of(t);
	o.oom_limit = oom_limit(d, &r);
	buffer_init(&line, LINE_MAX_BYTES);
	observe_run(&line, &o, &r, &d->setting);
	finish(d, t, &line);
	return 0;
}

static int on_done(struct desk *d, struct task *t, const struct frame *f, struct err *e)
{
	struct done done;
	struct buffer line;

	if (t->action.kind == ACT_RUN)
		return untimely(f, e);
	if (action_get_done(f, &done, e) < 0)
		return -1;
	const struct observed o = observed_of(t);
	buffer_init(&line, LINE_MAX_BYTES);
	if (t->action.kind == ACT_READ)
		observe_read(&line, &o, &done);
	else
		observe_write(&line, &o, &done);
	finish(d, t, &line);
	return 0;
}

static const struct answer {
	int (*session)(struct desk *, const struct frame *, struct err *);
	int (*task)(struct desk *, struct task *, const struct frame *, struct err *);
} takers[MSG_COUNT] = {
	[MSG_STARTED] = { .session = on_started },
	[MSG_FAILED] = { .session = on_failed },
	[MSG_OUTPUT] = { .task = on_output },
	[MSG_CONTENT] = { .task = on_content },
	[MSG_REPORT] = { .task = on_report },
	[MSG_DONE] = { .task = on_done },
};

int desk_frame(struct desk *d, const struct frame *f, struct err *e)
{
	const struct answer *a = f->type < MSG_COUNT ? &takers[f->type] : NULL;

	if (!a || (!a->session && !a->task))
		return err_set(e, ERR_PROTOCOL, "it sent a message of type %u", f->type);
	if (a->session)
		return a->session(d, f, e);
	struct task *t = task_by_id(d, f->id);
	return t ? a->task(d, t, f, e) : untimely(f, e);
}

void desk_end(struct desk *d, const char *why)
{
	AUTO_FREE char *text = text_format("ERROR: %s", why);

	for (size_t i = 0; i < d->session_count; i++)
		while (d->sessions[i].first)
			finish_error(d, d->sessions[i].first, "HUTCH$SANDBOX_ENDED", text);
}

bool desk_is_idle(const struct desk *d)
{
	return d->task_count == 0;
}

bool desk_is_full(const struct desk *d)
{
	return d->task_count >= DESK_TASKS || d->task_bytes >= DESK_BYTES;
}

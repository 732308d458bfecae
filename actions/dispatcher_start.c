#include "actions/dispatcher.h"

#include <string.h>

#include "actions/action_git.h"
#include "actions/bash_split.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "protocol/action.h"
#include "protocol/message.h"

#define FILE_MS 60000
#define OPEN_MS 60000

#define LABEL_LETTERS                                                           \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

/* No further request is sent while more than this many bytes wait to be sent to the
 * executor. */
#define WIRE_BUSY (64u << 10)

static enum run_kind kind_of(const struct action *a)
{
	if (!*a->command)
		return RUN_WAIT;
	if (action_is_key(a->command))
		return RUN_KEY;
	return a->is_input ? RUN_INPUT : RUN_COMMAND;
}

/* Converts seconds to milliseconds. The result is at least 1 ms, since 0 would mean no
 * time-out. */
static uint64_t whole_ms(double seconds)
{
	double ms = seconds * 1000;

	return ms < 1 ? 1 : (uint64_t)ms;
}

static bool wants_stream(const struct task *t)
{
	for (size_t i = 0; i < t->asker_count; i++)
		if (t->askers[i].client && t->askers[i].client->streams)
			return true;
	return false;
}

static void put_run(struct dispatcher *d, const struct session *s, struct task *t,
		    struct err *e)
{
	const struct action *a = &t->action;
	const struct run_request r = {
		.session = s->id,
		.kind = kind_of(a),
		.flags = RUN_PREVIOUS | (t->is_streamed ? RUN_STREAM : 0u) |
			 (a->is_hidden ? RUN_WHOLE : 0u),
		.soft_ms = a->is_blocking ? 0 : whole_ms(d->sandbox_info.soft_s),
		.hard_ms = whole_ms(a->timeout_s),
		.text = { (const uint8_t *)a->command, strlen(a->command) },
	};

	t->deadline_ms = dispatcher_now(d) + (int64_t)r.hard_ms + DISPATCHER_GRACE_MS;
	(void)action_put_run(d->wire, t->id, &r, e); /* cannot fail: action_decode() has
						      * checked the lengths */
}

static void put_file(struct dispatcher *d, const struct session *s, struct task *t,
		     struct err *e)
{
	const struct action *a = &t->action;
	uint32_t session = s->is_open ? s->id : 0;
	const struct file_place place = { d->shell.uid, d->shell.gid, d->shell.cwd };
	const struct read_request read = {
		.session = session, .place = place,
		.form = observe_mime(a->path) ? READ_BASE64 : READ_TEXT,
		.first = a->start, .end = a->end, .path = a->path,
	};
	const struct write_request write = {
		.session = session,
		.place = place,
		.first = a->start,
		.end = a->end,
		.path = a->path,
		.content = { (const uint8_t *)a->content,
			     a->content ? strlen(a->content) : 0 },
	};

	t->deadline_ms = dispatcher_now(d) + FILE_MS;
	if (a->kind == ACT_READ)
		(void)action_put_read(d->wire, t->id, &read, e);
	else
		(void)action_put_write(d->wire, t->id, &write, e);
}

static struct bytes bytes_of(const char *text)
{
	return (struct bytes){ (const uint8_t *)text, text ? strlen(text) : 0 };
}

static uint32_t edit_flags(const struct dispatcher *d, const struct action *a)
{
	/* A picture may be binary, so the executor must not check it. */
	bool has_rule = a->kind == ACT_READ && !observe_mime(a->path);

	return (a->file_text ? EDIT_FILE_TEXT : 0u) | (a->old_str ? EDIT_OLD_STR : 0u) |
	       (a->new_str ? EDIT_NEW_STR : 0u) | (a->line ? EDIT_LINE : 0u) |
	       (a->is_relative ? EDIT_RELATIVE : 0u) | (has_rule ? EDIT_IS_READ : 0u) |
	       (d->sandbox_info.lints ? EDIT_LINT : 0u);
}

static void put_edit(struct dispatcher *d, const struct session *s, struct task *t,
		     struct err *e)
{
	const struct action *a = &t->action;
	const struct edit_request r = {
		.session = s->is_open ? s->id : 0,
		.place = { d->shell.uid, d->shell.gid, d->shell.cwd },
		.flags = edit_flags(d, a),
		.command = a->kind == ACT_READ ? "view" : a->command,
		.path = a->path,
		.line = a->line ? a->line : "",
		.range = a->range ? a->range : "",
		.file_text = bytes_of(a->file_text),
		.old_str = bytes_of(a->old_str),
		.new_str = bytes_of(a->new_str),
	};

	t->deadline_ms = dispatcher_now(d) + FILE_MS;
	(void)action_put_edit(d->wire, t->id, &r, e);
}

static const uint32_t errand_kinds[ACT_KIND_COUNT] = {
	[ACT_LIST] = ERRAND_LIST,
	[ACT_GLOB] = ERRAND_GLOB,
	[ACT_STAT] = ERRAND_STAT,
	[ACT_MOVE] = ERRAND_MOVE,
	[ACT_GREP] = ERRAND_GREP,
	[ACT_MKDIR] = ERRAND_MKDIR,
	[ACT_REMOVE] = ERRAND_REMOVE,
	[ACT_GIT_CLONE] = ERRAND_GIT_CLONE,
	[ACT_GIT_BRANCH] = ERRAND_GIT_BRANCH,
	[ACT_GIT_CHANGES] = ERRAND_GIT_CHANGES,
	[ACT_GIT_DIFF] = ERRAND_GIT_DIFF,
	[ACT_GIT_SETUP] = ERRAND_GIT_SETUP,
	[ACT_GIT_HOOKS] = ERRAND_GIT_HOOKS,
	[ACT_MICROAGENTS] = ERRAND_MICROAGENTS,
};

static void put_errand(struct dispatcher *d, const struct session *s, struct task *t,
		       struct err *e)
{
	const struct action *a = &t->action;
	const int64_t left =
		t->deadline_ms - dispatcher_now(d); /* the rest of the time-out, if the
						     * action has waited for a shell */
	const uint64_t asked = whole_ms(a->timeout_s);
	AUTO_FREE char *secret = action_git_secret(a);
	const struct errand_request r = {
		.session = s->is_open ? s->id : 0,
		.place = { d->shell.uid, d->shell.gid, d->shell.cwd },
		.kind = errand_kinds[a->kind],
		.flags = a->errand_flags,
		.depth = a->depth,
		.limit = a->limit,
		.timeout_ms = !t->deadline_ms ? asked : left > 1 ? (uint64_t)left : 1,
		.path = a->path,
		.other = a->other ? a->other : "",
		.include = a->include ? a->include : "",
		.secret = bytes_of(secret),
	};

	t->deadline_ms = dispatcher_now(d) + (int64_t)r.timeout_ms + DISPATCHER_GRACE_MS;
	(void)action_put_errand(d->wire, t->id, &r, e);
	if (secret)
		explicit_bzero(secret, strlen(secret));
}

static void send_task(struct dispatcher *d, struct session *s, struct task *t)
{
	struct err e = { 0 };

	t->id = queue_new_id(&d->queue);
	t->is_sent = true;
	t->started_us = d->now_us;
	if (t->action.kind == ACT_RUN) {
		t->is_streamed = wants_stream(t);
		put_run(d, s, t, &e);
	} else if (t->action.kind == ACT_PLUGIN) {
		t->is_streamed = wants_stream(t);
		dispatcher_put_call(d, s, t, &e);
	} else if (action_is_errand(&t->action)) {
		d->errands++;
		put_errand(d, s, t, &e);
	} else {
		d->files++;
		(action_is_edit(&t->action) ? put_edit : put_file)(d, s, t, &e);
	}
	if (e.kind == ERR_NONE)
		return;
	AUTO_FREE char *text = text_format("ERROR: %s", e.text);
	dispatcher_finish_error(d, t, "HUTCH$BAD_ACTION", text);
}

/* Returns the directory in which a session begins. It is a path in the sandbox, and is
 * never opened on the host. */
char *dispatcher_cwd(const struct dispatcher *d, const struct session *s)
{
	const char *asked = queue_is_static(s) && s->first ? s->first->action.cwd : NULL;

	if (!asked || !*asked)
		return text_copy(d->shell.cwd);
	return *asked == '/' ? text_copy(asked)
			     : text_format("%s/%s", d->shell.cwd, asked);
}

void dispatcher_label(const struct session *s, char ret[DISPATCHER_LABEL_MAX])
{
	const char *name = queue_is_static(s) ? "static" : s->name;
	size_t len = 0;

	for (; *name && len + 1 < DISPATCHER_LABEL_MAX; name++)
		ret[len++] = strchr(LABEL_LETTERS, *name) ? *name : '_';
	ret[len] = '\0';
}

static void open_session(struct dispatcher *d, struct session *s)
{
	AUTO_FREE char *cwd = dispatcher_cwd(d, s);
	char label[DISPATCHER_LABEL_MAX];
	char program[] = DISPATCHER_SHELL, *argv[] = { program, label, NULL };
	struct exec shell = d->shell;
	struct err e;

	dispatcher_label(s, label);
	shell.argv = argv;
	shell.cwd = cwd;
	if (queue_is_static(s))
		shell.flags |= EXEC_TREE;
	if (message_put_open(d->wire, s->id, &shell, &e) < 0) {
		AUTO_FREE char *text =
			text_format("ERROR: no shell could be started: %s", e.text);
		return dispatcher_finish_error(d, s->first, "HUTCH$NO_SHELL", text);
	}
	s->is_opening = true;
	s->deadline_ms = dispatcher_now(d) + OPEN_MS;
	if (action_is_git(&s->first->action))
		s->first->deadline_ms = dispatcher_now(d) +
					(int64_t)whole_ms(s->first->action.timeout_s);
}

/* Returns whether the session's shell must be started first. Linters and git need one
 * too, since they run with the shell's environment and limits. */
static bool needs_shell(const struct dispatcher *d, const struct session *s)
{
	const struct action *a = &s->first->action;

	if (a->kind == ACT_EDIT || action_is_git(a))
		return !s->is_open && (d->sandbox_info.lints || action_is_git(a)) &&
		       !s->has_no_shell;
	return !s->is_open && a->kind == ACT_RUN;
}

/* Returns whether the session's next request may be sent now. A request that may be as
 * large as a frame waits until nothing else is to be sent. */
static bool has_room(const struct dispatcher *d, const struct session *s)
{
	enum action_kind kind = s->first->action.kind;
	bool is_large = kind == ACT_WRITE || kind == ACT_EDIT || kind == ACT_ENV ||
			kind == ACT_PLUGIN || needs_shell(d, s);

	if (action_is_errand(&s->first->action))
		return d->errands < DISPATCHER_ERRANDS &&
		       buffer_len(d->wire) <= WIRE_BUSY;
	if (kind != ACT_RUN && kind != ACT_ENV && kind != ACT_PLUGIN &&
	    d->files == DISPATCHER_FILES)
		return false;
	return buffer_len(d->wire) <= (is_large ? 0 : WIRE_BUSY);
}

/* Refuses a `run` with several commands on lines of their own, in OpenHands' words. */
static void refuse(struct dispatcher *d, struct task *t, const struct bash_split *s)
{
	static const char why[] =
		"ERROR: Cannot execute multiple commands at once.\n"
		"Please run each command separately OR chain them into a single command "
		"via && or ;\n"
		"Provided commands:\n";
	struct buffer text;

	buffer_init(&text, sizeof(why) + s->len + BASH_SPLIT_LIST_EXTRA);
	(void)buffer_append(&text, why, strlen(why)); /* cannot fail: the buffer was made
						       * for the reason and the list */
	bash_split_list(s, &text);
	(void)buffer_append(&text, "", 1);
	dispatcher_finish_error(d, t, "", (const char *)buffer_data(&text));
	buffer_done(&text);
}

/* Returns whether the `run` has several commands; then it was answered with an error.
 * Input for a running command may have several lines. */
static bool refused(struct dispatcher *d, struct task *t)
{
	const struct action *a = &t->action;
	struct bash_split s;

	if (a->kind != ACT_RUN || a->is_input || t->is_one)
		return false;
	bash_split_init(&s, a->command, strlen(a->command));
	t->is_one = s.count < 2;
	bool is_one = t->is_one;
	if (!is_one)
		refuse(d, t, &s);
	bash_split_done(&s);
	return !is_one;
}

/* Gives a session of its own to the first task that waits for one. False: none waits, or
 * no session is free now. */
static bool seat_one(struct dispatcher *d)
{
	struct session *lobby = &d->queue.sessions[0];

	if (lobby->first && !queue_has_place(&d->queue)) {
		dispatcher_finish_error(d, lobby->first, "HUTCH$BAD_ACTION",
					DISPATCHER_NO_PLACE);
		return true;
	}
	return queue_seat(&d->queue) != NULL;
}

/* Starts the session's next task. False: no task can start now. */
static bool start_one(struct dispatcher *d, struct session *s)
{
	struct task *t = s->first;

	if (s == d->queue.sessions)
		return seat_one(d);
	if (!t || t->is_sent || s->is_opening)
		return false;
	if (t->action.kind == ACT_PLUGIN) {
		enum seated seated = dispatcher_seat_plugin(d, t);
		if (seated != SEATED_GO)
			return seated == SEATED_DONE;
	}
	if (refused(d, t))
		return true;
	enum judged judged = dispatcher_judge(d, t);
	if (judged != JUDGED_GO)
		return judged == JUDGED_DONE;
	if (!has_room(d, s))
		return false;
	if (dispatcher_record(d, t) < 0)
		return true;
	if (d->look_at_clock)
		d->look_at_clock(
			d->context); /* the write to the audit log may have blocked
					   * for a while */
	if (t->action.kind == ACT_ENV)
		dispatcher_set_env(d, t);
	else if (needs_shell(d, s))
		open_session(d, s);
	else
		send_task(d, s, t);
	return true;
}

static bool has_too_much(const struct task *t)
{
	size_t most = t->is_held ? DISPATCHER_STREAM_HIGH / 2 : DISPATCHER_STREAM_HIGH;

	for (size_t i = 0; i < t->asker_count; i++) {
		const struct dispatcher_client *c = t->askers[i].client;
		if (c && c->streams &&
		    (buffer_len(c->out) > most || dispatcher_is_behind(c)))
			return true;
	}
	return false;
}

/* Holds the output of a streamed command while one of its clients has too much unread,
 * and lets it go on afterwards. */
static void hold_or_let_go(struct dispatcher *d, struct task *t)
{
	bool is_held = t && t->is_sent && t->is_streamed && has_too_much(t);

	if (!t || is_held == t->is_held)
		return;
	if (action_put_hold(d->wire, t->id, is_held, NULL) == 0)
		t->is_held = is_held; /* if there was no room for the message, the next
				       * call tries again */
}

bool dispatcher_start(struct dispatcher *d)
{
	bool has_started = false;

	dispatcher_introduce(d);
	for (size_t i = d->queue.session_count; i-- > 0;) {
		hold_or_let_go(d, d->queue.sessions[i].first);
		dispatcher_close(d, &d->queue.sessions[i]);
	}
	for (size_t i = 0; i < d->queue.session_count; i++)
		while (start_one(d, &d->queue.sessions[i]))
			has_started = true;
	return has_started;
}

/* --- waiting for it ------------------------------------------------------- */

static int64_t session_deadline(const struct session *s)
{
	if (s->is_opening)
		return s->deadline_ms;
	return s->first && s->first->is_sent ? s->first->deadline_ms : 0;
}

int64_t dispatcher_deadline(const struct dispatcher *d)
{
	int64_t next = 0;

	for (size_t i = 0; i < d->queue.session_count; i++) {
		int64_t one = session_deadline(&d->queue.sessions[i]);
		if (one > 0 && (next == 0 || one < next))
			next = one;
	}
	return next;
}

int64_t dispatcher_deadline_of(const struct dispatcher *d,
			       const struct dispatcher_client *c, int64_t away_ms)
{
	int64_t due = dispatcher_deadline(d);

	if (!due || dispatcher_is_behind(c))
		return 0;
	return due < away_ms + DISPATCHER_GRACE_MS ? away_ms + DISPATCHER_GRACE_MS : due;
}

void dispatcher_postpone(struct dispatcher *d, int64_t ms)
{
	for (size_t i = 0; i < d->queue.session_count; i++) {
		struct session *s = &d->queue.sessions[i];
		s->deadline_ms += ms;
		if (s->first && s->first->deadline_ms)
			s->first->deadline_ms += ms;
	}
}

static int64_t waiting_due(const struct session *s)
{
	return s->is_opening && s->first && !s->first->is_sent ? s->first->deadline_ms
							       : 0;
}

int64_t dispatcher_due(const struct dispatcher *d)
{
	int64_t next = 0;

	for (size_t i = 0; i < d->queue.session_count; i++)
		next = clock_sooner(next, waiting_due(&d->queue.sessions[i]));
	return next;
}

void dispatcher_expire(struct dispatcher *d, int64_t now)
{
	for (size_t i = 0; i < d->queue.session_count; i++)
		if (clock_is_due(waiting_due(&d->queue.sessions[i]), now))
			dispatcher_finish_late(d, d->queue.sessions[i].first);
}

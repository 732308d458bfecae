#include "actions/dispatcher.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "actions/action.h"
#include "actions/dedup.h"
#include "actions/redact_json.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/rules.h"
#include "protocol/message.h"
#include "sandbox/launch/audit.h"

void dispatcher_init(struct dispatcher *d)
{
	*d = (struct dispatcher){ .dedup = dedup_new() };
	queue_init(&d->queue);
}

void dispatcher_done(struct dispatcher *d)
{
	if (!d)
		return;
	queue_done(&d->queue);
	variables_done(&d->variables);
	redact_done(&d->secrets);
	plugin_table_done(&d->plugins);
	dedup_free(d->dedup);
	rules_free(d->rules);
	free(d->ended);
	if (d->audit)
		d->audit->secrets = &d->audit->own;
	*d = (struct dispatcher){ 0 };
}

int dispatcher_hide(struct dispatcher *d, const char *value, bool *ret_is_hidden,
		    struct err *e)
{
	bool is_first = redact_is_empty(&d->secrets);

	if (redact_add(&d->secrets, value, ret_is_hidden, e) < 0)
		return -1;
	/* This process holds a secret from now on, which must not get into a core
	 * file. */
	if (is_first && prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(e, "prctl PR_SET_DUMPABLE");
	return 0;
}

/* --- answers -------------------------------------------------------------- */

void dispatcher_deliver(struct dispatcher_client *c)
{
	while (buffer_len(c->out) <= DISPATCHER_OUT_HIGH &&
	       reply_queue_deliver(&c->replies, c->out))
		;
}

bool dispatcher_unask(struct dispatcher *d, const struct dispatcher_client *c)
{
	bool was_asked = false;

	for (size_t i = 0; i < d->queue.session_count; i++)
		for (struct task *t = d->queue.sessions[i].first; t; t = t->next)
			if (t->asked == c) {
				t->asked = NULL;
				was_asked = true;
			}
	return was_asked;
}

void dispatcher_leave(struct dispatcher *d, struct dispatcher_client *c)
{
	(void)dispatcher_unask(d, c);
	for (size_t i = 0; i < d->queue.session_count; i++)
		for (struct task *t = d->queue.sessions[i].first; t; t = t->next)
			for (size_t k = 0; k < t->asker_count; k++)
				if (t->askers[k].client == c)
					t->askers[k].client = NULL;
	reply_queue_done(&c->replies);
	dedup_forget(d->dedup, c->name);
}

static void post(struct asker *to, struct letter *l)
{
	if (!to->client)
		return;
	reply_queue_put(&to->client->replies, l, to->id);
	to->id = NULL;
	dispatcher_deliver(to->client);
}

/* Sends an answer to an action that was not put into the queue. */
static void say(const struct dispatcher *d, struct asker *to, struct buffer *line)
{
	redact_json_line(&d->secrets, line);
	struct letter *l = letter_new(line);

	post(to, l);
	letter_release(l);
}

static void say_error(const struct dispatcher *d, struct asker *to,
		      const struct action *a, const char *error_id, const char *text)
{
	const struct observed o = { .action = a };
	struct buffer line;

	buffer_init(&line, DISPATCHER_LINE_MAX);
	observe_error(&line, &o, error_id, text);
	say(d, to, &line);
}

static void say_bad(const struct dispatcher *d, struct asker *to, const struct action *a,
		    const struct err *e)
{
	AUTO_FREE char *text = text_format("ERROR: %s", e->text);

	say_error(d, to, a, "HUTCH$BAD_ACTION", text);
}

static void say_again(const struct dispatcher *d, struct asker *to, const char *kept)
{
	struct buffer line;

	buffer_init(&line, DISPATCHER_LINE_MAX);
	(void)buffer_append(&line, kept, strlen(kept)); /* cannot fail: the kept answer
							 * fitted a line's limit before */
	say(d, to, &line);
}

static void keep(struct dispatcher *d, const struct action *a, const struct buffer *line)
{
	if (a->has_id)
		dedup_keep(d->dedup, a, (const char *)buffer_data(line),
			   buffer_len(line));
}

void dispatcher_tell_dropped(struct asker *to, const struct action *a)
{
	const struct observed o = { .action = a, .dropped = to->dropped };

	if (to->dropped && to->client)
		observe_output(to->client->out, &o, to->client->is_rpc);
	to->dropped = 0;
}

void dispatcher_finish(struct dispatcher *d, struct task *t, struct buffer *line)
{
	const struct observed o = { .action = &t->action };

	dispatcher_flush_output(d, t);
	dispatcher_record_result(d, t);
	redact_json_line(&d->secrets, line);
	if (line->is_cut) {
		buffer_done(line);
		buffer_init(line, DISPATCHER_LINE_MAX);
		observe_error(line, &o, "HUTCH$TOO_LARGE",
			      "ERROR: the observation is too large");
	}
	keep(d, &t->action, line);
	struct letter *l = letter_new(line);
	for (size_t i = 0; i < t->asker_count; i++) {
		if (t->askers[i].client)
			t->askers[i].client->outstanding--;
		dispatcher_tell_dropped(&t->askers[i], &t->action);
		post(&t->askers[i], l);
	}
	letter_release(l);
	if (t->is_sent && t->action.kind == ACT_PLUGIN)
		t->plugin->is_busy = false;
	else if (t->is_sent && action_is_errand(&t->action))
		d->errands--;
	else if (t->is_sent && t->action.kind != ACT_RUN)
		d->files--;
	struct session *s = t->session;
	queue_remove(&d->queue, t);
	dispatcher_close(d, s);
}

void dispatcher_close(struct dispatcher *d, struct session *s)
{
	if (!queue_is_static(s) || s->first || s->is_opening)
		return;
	if (s->is_open && message_put_end(d->wire, s->id, NULL) < 0)
		return; /* the buffer for the executor is full, so the session is not
			 * ended yet; dispatcher_start() tries again */
	queue_leave(&d->queue, s);
}

struct observed dispatcher_observed(const struct dispatcher *d, const struct task *t)
{
	return (struct observed){
		.action = &t->action,
		.took_ms = t->started_us ? (double)(d->now_us - t->started_us) / 1e3 : 0,
		.content = buffer_data(&t->content),
		.len = buffer_len(&t->content),
		.previous = buffer_data(&t->previous),
		.previous_len = buffer_len(&t->previous),
		.has_previous = t->has_previous,
		.refused = t->refused,
		.refused_count = t->refused_count,
		.hosts = &t->hosts,
	};
}

void dispatcher_finish_error(struct dispatcher *d, struct task *t, const char *error_id,
		       const char *text)
{
	const struct observed o = dispatcher_observed(d, t);
	struct buffer line;

	t->result = *error_id ? error_id : "error";
	buffer_init(&line, DISPATCHER_LINE_MAX);
	observe_error(&line, &o, error_id, text);
	dispatcher_finish(d, t, &line);
}

/* --- lines ---------------------------------------------------------------- */

static void end_early(struct dispatcher *d, struct task *t)
{
	if (!t->is_sent)
		return dispatcher_finish_error(
			d, t, "HUTCH$CANCELLED",
			"ERROR: The action was cancelled before it started.");
	if (t->action.kind != ACT_RUN && t->action.kind != ACT_PLUGIN &&
	    !action_is_errand(&t->action))
		return; /* the executor ends file actions soon anyway, so these need no
			 * cancel */
	(void)action_put_cancel(d->wire, t->id, NULL); /* cannot fail: the buffer always
						        * has room for a message as small
						        * as this */
	int64_t due = dispatcher_now(d) + DISPATCHER_GRACE_MS +
		      (t->plugin ? t->plugin->grace_ms : 0);
	if (t->deadline_ms > due)
		t->deadline_ms = due;
}

static void cancel(struct dispatcher *d, struct asker *from, const struct action *a)
{
	const struct observed o = { .action = a };
	struct task *t = queue_find(&d->queue, a->client, a->cancelled, NULL);
	struct buffer line;

	buffer_init(&line, DISPATCHER_LINE_MAX);
	if (t)
		observe_nothing(&line, &o);
	else
		observe_error(&line, &o, "HUTCH$NOT_FOUND",
			      "ERROR: No action with this id is under way.");
	redact_json_line(&d->secrets, &line);
	keep(d, a, &line);
	say(d, from, &line);
	if (t)
		end_early(d, t);
}

static void confirm(struct dispatcher *d, struct asker *from, const struct action *a)
{
	const struct observed o = { .action = a };
	struct buffer line;

	buffer_init(&line, DISPATCHER_LINE_MAX);
	if (dispatcher_confirm(d, from->client, a))
		observe_nothing(&line, &o);
	else
		observe_error(
			&line, &o, "HUTCH$NOT_FOUND",
			"ERROR: Nothing was asked under this number, or it has its answer.");
	keep(d, a, &line);
	say(d, from, &line);
}

bool dispatcher_cancel(struct dispatcher *d, const struct dispatcher_client *c,
		       uint64_t id)
{
	struct task *t = queue_find(&d->queue, c->name, id, NULL);

	if (t)
		end_early(d, t);
	return t;
}

static void await(struct task *t, struct asker *from)
{
	t->askers[t->asker_count++] = *from;
	from->client->outstanding++;
	from->id = NULL;
}

/* Returns whether the action must be done. False: it was answered, or will be together
 * with the action that it repeats. */
static bool is_new(struct dispatcher *d, struct asker *from, const struct action *a,
		   const char *line, size_t len)
{
	static const char *const refusals[] = {
		[ANSWER_UNDER_WAY] =
			"ERROR: this action is under way, and enough repeats of "
			"it are waiting",
		[ANSWER_OTHER_BODY] =
			"ERROR: another action with this id and timestamp was "
			"asked for before",
		[ANSWER_TOO_OLD] =
			"ERROR: this id is older than all answers that are kept; it "
			"is not done again",
		[ANSWER_TOO_MANY] = "ERROR: more than 64 clients",
	};
	const char *kept = NULL;

	if (!a->has_id)
		return true;
	enum answer_state state = dedup_look(d->dedup, a, line, len, &kept);
	if (state == ANSWER_NEW)
		return true;
	if (state == ANSWER_KEPT) {
		say_again(d, from, kept);
		return false;
	}
	struct task *t = state == ANSWER_UNDER_WAY
				 ? queue_find(&d->queue, a->client, a->id, a->timestamp)
				 : NULL;
	if (t && t->asker_count < QUEUE_ASKERS)
		await(t, from);
	else
		say_error(d, from, a, "HUTCH$BAD_ACTION", refusals[state]);
	return false;
}

static void finish_all(struct dispatcher *d)
{
	for (size_t i = 0; i < d->queue.session_count; i++) {
		struct session *s = &d->queue.sessions[i];
		while (s->first)
			dispatcher_finish_error(d, s->first, "HUTCH$SANDBOX_ENDED",
						d->ended);
	}
}

static void enqueue(struct dispatcher *d, struct asker *from, const struct action *a,
		    size_t len)
{
	size_t most = a->kind == ACT_GIT_DIFF ? action_errand_max(ERRAND_GIT_DIFF)
		      : a->kind == ACT_PLUGIN ? PLUGIN_ANSWER_MAX
		      : action_is_errand(a)   ? ERRAND_TEXT_MAX
		      : a->kind != ACT_RUN    ? DISPATCHER_FILE_MAX
		      : a->is_hidden	      ? DISPATCHER_WHOLE_MAX
					      : DISPATCHER_RUN_MAX;
	/* The session is never NULL: the caller has checked that with has_session(). */
	struct session *s = a->is_static ? NULL : queue_session(&d->queue, a->session);

	await(queue_add(&d->queue, s, a, len, most), from);
	if (d->ended)
		finish_all(d);
}

static bool has_session(struct dispatcher *d, const struct action *a)
{
	if (a->kind == ACT_CANCEL || a->kind == ACT_CONFIRM)
		return true;
	return a->is_static ? queue_has_place(&d->queue)
			    : queue_session(&d->queue, a->session) != NULL;
}

/* Handles a decoded action, and takes over its content. */
static void take_action(struct dispatcher *d, struct asker *from, struct action *a,
			const char *line, size_t len)
{
	if (!*a->client) {
		free(a->client);
		a->client = text_copy(from->client->name);
	}
	if (!has_session(d, a))
		say_error(d, from, a, "HUTCH$BAD_ACTION", DISPATCHER_NO_PLACE);
	else if (!is_new(d, from, a, line, len))
		; /* the action was answered, or will be with the one that it repeats */
	else if (a->kind == ACT_CANCEL)
		cancel(d, from, a);
	else if (a->kind == ACT_CONFIRM)
		confirm(d, from, a);
	else
		return enqueue(d, from, a, len);
	action_done(a);
}

/* Redacts the action's token in all output from now on: the client knows the token, but
 * its answers may be shown to others. */
static int hide_token(struct dispatcher *d, const struct action *a, struct err *e)
{
	bool is_hidden;

	return a->token ? dispatcher_hide(d, a->token, &is_hidden, e) : 0;
}

/* Refuses an action that hutch does not know, where there is no plugin to ask. */
static int check_known(const struct dispatcher *d, const struct action *a, struct err *e)
{
	bool may_be = a->kind != ACT_PLUGIN || a->refusal || d->plugins.count > 0;

	return may_be ? 0 : action_unknown(a, e);
}

static void take_line(struct dispatcher *d, struct asker *from, const char *line,
		      size_t len)
{
	struct action a;
	struct err e;

	if (action_decode(line, len, &a, &e) == 0 && hide_token(d, &a, &e) == 0 &&
	    check_known(d, &a, &e) == 0)
		return take_action(d, from, &a, line, len);
	say_bad(d, from, &a, &e);
	action_done(&a);
}

void dispatcher_line(struct dispatcher *d, struct dispatcher_client *c, const char *line,
		     size_t len)
{
	struct asker from = { .client = c };

	take_line(d, &from, line, len);
}

void dispatcher_request(struct dispatcher *d, struct dispatcher_client *c, char *id,
			const char *line, size_t len)
{
	struct asker from = { .client = c, .id = id };

	take_line(d, &from, line, len);
}

void dispatcher_long_line(struct dispatcher *d, struct dispatcher_client *c)
{
	const struct action none = { .kind = ACT_PLUGIN };
	struct asker from = { .client = c };
	struct err e;

	(void)err_set(&e, ERR_LIMIT, "a line of more than %u bytes", ACTION_LINE_MAX);
	say_bad(d, &from, &none, &e);
}

void dispatcher_end(struct dispatcher *d, const char *why)
{
	d->ended = text_format("ERROR: %s", why);
	finish_all(d);
}

bool dispatcher_is_idle(const struct dispatcher_client *c)
{
	return c->outstanding == 0 && reply_queue_is_empty(&c->replies);
}

bool dispatcher_is_full(const struct dispatcher *d)
{
	return d->queue.count >= DISPATCHER_TASKS || d->queue.bytes >= DISPATCHER_BYTES;
}

bool dispatcher_is_behind(const struct dispatcher_client *c)
{
	return buffer_len(c->out) > DISPATCHER_OUT_HIGH ||
	       !reply_queue_is_empty(&c->replies);
}

#include <string.h>

#include "actions/dispatcher.h"
#include "actions/observe_plugin.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "protocol/action.h"
#include "protocol/plugin.h"

/* --- the plugins -------------------------------------------------------------------- */

static void tell(const struct dispatcher *d, const struct known_plugin *p)
{
	if (d->tell_plugin)
		d->tell_plugin(d->context, p);
}

/* Tells the executor of a plugin.  Returns false if there is no room for the message
 * now.  A message that is too large for an empty buffer will never have room. */
static bool introduce(struct dispatcher *d, struct known_plugin *p)
{
	char *argv[] = { p->name, p->folder, NULL };
	struct exec x = d->shell;
	struct list env = { 0 };
	uint32_t id = queue_new_id(&d->queue);
	bool is_free = buffer_len(d->wire) == 0;
	struct err e;

	for (char *const *at = d->shell.env; *at; at++)
		list_add(&env, *at);
	for (size_t i = 0; i < p->environment.count; i++)
		list_set_env(&env, p->environment.items[i]);
	x.flags = 0;
	x.argv = argv;
	x.env = env.items;
	bool is_put = message_put_plugin(d->wire, id, &x, &e) == 0;
	list_done(&env);
	if (!is_put && !is_free)
		return false;
	p->id = id;
	if (is_put)
		return true;
	plugin_table_fail(p, e.text);
	tell(d, p);
	return true;
}

void dispatcher_introduce(struct dispatcher *d)
{
	for (size_t i = 0; i < d->plugins.count; i++)
		if (!d->plugins.all[i].id && !introduce(d, &d->plugins.all[i]))
			return;
}

int dispatcher_offer(struct dispatcher *d, struct known_plugin *p, const struct frame *f,
		     struct err *e)
{
	return plugin_table_offer(&d->plugins, p, f, e);
}

int dispatcher_state(struct dispatcher *d, struct known_plugin *p, const struct frame *f,
		     struct err *e)
{
	if (plugin_table_state(p, f, e) < 0)
		return -1;
	tell(d, p);
	return 0;
}

/* --- their actions ------------------------------------------------------------------ */

static uint64_t timeout_of(const struct action *a)
{
	double ms = a->timeout_s * 1000;

	if (a->timeout_s <= 0)
		return 0;
	return ms < 1 ? 1 : ms > PLUGIN_MS_MAX ? PLUGIN_MS_MAX : (uint64_t)ms;
}

/* Returns the text about an unknown action, which lists hutch's own actions and then those
 * of the plugins, allocated. */
static char *unknown_text(const struct dispatcher *d, const struct action *a)
{
	struct list words = { 0 };
	struct err e;

	(void)action_unknown(a, &e);
	list_addf(&words, "ERROR: %s", e.text);
	for (size_t i = 0; i < d->plugins.count; i++)
		for (size_t k = 0; k < d->plugins.all[i].action_count; k++)
			list_add(&words, d->plugins.all[i].actions[k].name);
	char *text = list_join(&words, 0, ", ");
	list_done(&words);
	return text;
}

/* Answers an action that no plugin of the sandbox answers: with the reason why its plugin
 * failed, if only that one is missing. */
static void finish_unknown(struct dispatcher *d, struct task *t)
{
	for (size_t i = 0; i < d->plugins.count; i++)
		if (d->plugins.all[i].state == PLUGIN_FAILED &&
		    !d->plugins.all[i].action_count) {
			AUTO_FREE char *text =
				text_format("ERROR: %s", d->plugins.all[i].reason);
			return dispatcher_finish_error(d, t, "HUTCH$PLUGIN", text);
		}
	if (t->action.refusal)
		return dispatcher_finish_error(d, t, "", t->action.refusal);
	AUTO_FREE char *text = unknown_text(d, &t->action);
	dispatcher_finish_error(d, t, "HUTCH$BAD_ACTION", text);
}

enum seated dispatcher_seat_plugin(struct dispatcher *d, struct task *t)
{
	if (!plugin_table_is_known(&d->plugins))
		return SEATED_WAITS;
	t->plugin = plugin_table_answerer(&d->plugins, t->action.name, &t->offered);
	if (t->plugin)
		return t->plugin->is_busy ? SEATED_WAITS : SEATED_GO;
	finish_unknown(d, t);
	return SEATED_DONE;
}

void dispatcher_put_call(struct dispatcher *d, const struct session *s, struct task *t,
			 struct err *e)
{
	const struct action *a = &t->action;
	const struct plugin_call c = {
		.plugin = t->plugin->id,
		.session = s->is_open ? s->id : 0,
		.timeout_ms = timeout_of(a),
		.is_streamed = t->is_streamed,
		.cwd = d->shell.cwd,
		.action = a->name,
		.args = { (const uint8_t *)a->args, a->args ? strlen(a->args) : 0 },
	};

	t->plugin->is_busy = true;
	t->deadline_ms = dispatcher_now(d) + plugin_table_ms(t->plugin, c.timeout_ms) +
			 DISPATCHER_GRACE_MS;
	(void)plugin_put_call(d->wire, t->id, &c, e); /* cannot fail: action_decode() has
						       * checked the lengths */
}

/* --- answers ------------------------------------------------------------------------- */

static void finish_failed(struct dispatcher *d, struct task *t, uint32_t outcome)
{
	AUTO_FREE char *reason = text_format("%.*s", (int)buffer_len(&t->content),
					     (const char *)buffer_data(&t->content));

	if (outcome == OUTCOME_CANCELLED)
		return dispatcher_finish_error(d, t, "HUTCH$CANCELLED",
					       "ERROR: The action was cancelled.");
	if (outcome == OUTCOME_REFUSED)
		return dispatcher_finish_error(d, t, "HUTCH$PLUGIN", reason);
	AUTO_FREE char *text = text_format("ERROR: %s", reason);
	dispatcher_finish_error(d, t, "HUTCH$PLUGIN", text);
}

static int check_length(const struct plugin_answer *a, const struct task *t,
			struct err *e)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < a->part_count; i++)
		total += plugin_part_len(&a->parts[i]);
	return total == buffer_len(&t->content)
		       ? 0
		       : err_set(e, ERR_PROTOCOL, "it sent %zu bytes of an answer of %llu",
				 buffer_len(&t->content), (unsigned long long)total);
}

static bool is_text(const struct plugin_part *p)
{
	uint32_t kind = p->kind & ~PART_ITEM;

	return kind == PART_TEXT || kind == PART_DATA || kind == PART_NOTE;
}

/* Redacts the texts of an answer.  The line will be redacted, too, but for the values of
 * some names that are hutch's own words there (redact_json.c), and a plugin chooses the
 * names of its members. */
static void redact_parts(struct dispatcher *d, struct plugin_answer *a, struct task *t)
{
	const uint8_t *at = buffer_data(&t->content);
	struct buffer all, one;

	if (redact_is_empty(&d->secrets))
		return;
	buffer_init(&all, REDACT_GROWTH * PLUGIN_ANSWER_MAX);
	for (uint32_t i = 0; i < a->part_count; i++) {
		size_t len = (size_t)plugin_part_len(&a->parts[i]);
		buffer_init(&one, REDACT_GROWTH * len);
		bool is_cut = is_text(&a->parts[i]) &&
			      redact_cut_text(&d->secrets, at, len, &one);
		/* cannot fail: `all` has room for all parts at their longest */
		(void)buffer_append(&all, is_cut ? buffer_data(&one) : at,
				    is_cut ? buffer_len(&one) : len);
		a->parts[i].value = is_cut ? buffer_len(&one) : a->parts[i].value;
		at += len;
		buffer_done(&one);
	}
	buffer_done(&t->content);
	t->content = all;
}

int dispatcher_answered(struct dispatcher *d, struct task *t, const struct frame *f,
			struct err *e)
{
	struct plugin_answer a;
	struct buffer line;

	if (t->action.kind != ACT_PLUGIN)
		return err_set(e, ERR_PROTOCOL,
			       "it sent a plugin's answer to another action");
	if (plugin_get_answer(f, &a, e) < 0 || check_length(&a, t, e) < 0)
		return -1;
	if (a.outcome != OUTCOME_DONE) {
		finish_failed(d, t, a.outcome);
		return 0;
	}
	redact_parts(d, &a, t);
	const struct observed o = dispatcher_observed(d, t);
	buffer_init(&line, DISPATCHER_LINE_MAX);
	observe_plugin(&line, &o, t->offered, &a);
	dispatcher_finish(d, t, &line);
	return 0;
}

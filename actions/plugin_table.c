#include "actions/plugin_table.h"

#include <string.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/own.h"
#include "protocol/message.h"
#include "policy/plugin_uses.h"

void plugin_table_fill(struct plugin_table *t, const struct plugin_uses *uses)
{
	t->all = mem_zeroed(uses->count, sizeof(*t->all));
	t->count = uses->count;
	for (size_t i = 0; i < uses->count; i++) {
		const struct plugin_use *u = &uses->items[i];
		struct known_plugin *p = &t->all[i];
		p->name = text_copy(u->name);
		p->folder = text_copy(u->folder);
		p->url = u->url ? text_copy(u->url) : NULL;
		p->port = u->port;
		if (u->token)
			list_addf(&p->environment, "HUTCH_PLUGIN_TOKEN=%s", u->token);
		if (u->venv)
			list_addf(&p->environment, "HUTCH_PLUGIN_VENV=%s", u->venv);
	}
}

static void forget_actions(struct known_plugin *p)
{
	for (size_t i = 0; i < p->action_count; i++) {
		free(p->actions[i].name);
		free(p->actions[i].observation);
		free(p->actions[i].message);
	}
	own_free(&p->actions);
	p->action_count = 0;
}

void plugin_table_done(struct plugin_table *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct known_plugin *p = &t->all[i];
		forget_actions(p);
		free(p->name);
		free(p->folder);
		free(p->version);
		free(p->reason);
		free(p->url);
		list_done(&p->environment);
	}
	free(t->all);
	*t = (struct plugin_table){ 0 };
}

bool plugin_table_is_known(const struct plugin_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (!t->all[i].is_known)
			return false;
	return true;
}

struct known_plugin *plugin_table_find(const struct plugin_table *t, uint32_t id)
{
	for (size_t i = 0; i < t->count; i++)
		if (id && t->all[i].id == id)
			return &t->all[i];
	return NULL;
}

struct known_plugin *plugin_table_answerer(const struct plugin_table *t,
					   const char *action,
					   const struct known_action **ret_action)
{
	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->all[i].action_count; k++)
			if (!strcmp(t->all[i].actions[k].name, action)) {
				*ret_action = &t->all[i].actions[k];
				return &t->all[i];
			}
	return NULL;
}

int64_t plugin_table_ms(const struct known_plugin *p, uint64_t timeout_ms)
{
	return (int64_t)(timeout_ms ? timeout_ms : p->timeout_ms) + p->ready_ms +
	       p->grace_ms;
}

/* --- what it says ------------------------------------------------------------------ */

/* Refuses an offer of an action that another plugin of the sandbox has offered. */
static int check_claims(const struct plugin_table *t, const struct plugin_offer *o,
			struct err *e)
{
	const struct known_action *action;

	for (uint32_t i = 0; i < o->action_count; i++)
		if (plugin_table_answerer(t, o->actions[i].action, &action))
			return err_set(e, ERR_PROTOCOL, "two plugins offer the action '%s'",
				       o->actions[i].action);
	return 0;
}

int plugin_table_offer(struct plugin_table *t, struct known_plugin *p,
		       const struct frame *f, struct err *e)
{
	struct plugin_offer o;

	if (plugin_get_offer(f, &o, e) < 0 || check_claims(t, &o, e) < 0)
		return -1;
	if (p->is_known)
		return err_set(e, ERR_PROTOCOL, "a second offer of the plugin '%s'",
			       p->name);
	p->version = text_copy(o.version);
	p->ready_ms = o.ready_ms;
	p->timeout_ms = o.timeout_ms;
	p->grace_ms = o.grace_ms;
	p->actions = mem_zeroed(o.action_count, sizeof(*p->actions));
	p->action_count = o.action_count;
	for (uint32_t i = 0; i < o.action_count; i++)
		p->actions[i] = (struct known_action){
			text_copy(o.actions[i].action),
			text_copy(o.actions[i].observation),
			text_copy(o.actions[i].message),
		};
	p->is_known = true;
	return 0;
}

int plugin_table_state(struct known_plugin *p, const struct frame *f, struct err *e)
{
	const char *reason;
	uint32_t state;

	if (plugin_get_state(f, &state, &reason, e) < 0)
		return -1;
	if (state != PLUGIN_FAILED && !p->is_known)
		return err_set(e, ERR_PROTOCOL, "a state of the plugin '%s' before its "
						"offer", p->name);
	p->is_known = true;
	p->state = state;
	free(p->reason);
	p->reason = state == PLUGIN_FAILED ? text_copy(reason) : NULL;
	return 0;
}

void plugin_table_fail(struct known_plugin *p, const char *reason)
{
	p->is_known = true;
	p->state = PLUGIN_FAILED;
	free(p->reason);
	p->reason = text_format("the plugin '%s': %s", p->name, reason);
}

/* --- for clients ------------------------------------------------------------------- */

const char *plugin_table_state_name(const struct known_plugin *p)
{
	static const char *const names[PLUGIN_STATE_COUNT] = {
		[PLUGIN_STATE_NONE] = "waiting",
		[PLUGIN_STARTING] = "starting",
		[PLUGIN_READY] = "ready",
		[PLUGIN_FAILED] = "failed",
	};

	return names[p->state];
}

void plugin_table_put(struct buffer *to, const struct known_plugin *p)
{
	json_write_text(to, "name", p->name);
	json_write_text(to, "state", plugin_table_state_name(p));
	if (p->reason)
		json_write_bytes(to, "error", p->reason, strlen(p->reason));
	else
		json_write_raw(to, "error", "null");
}

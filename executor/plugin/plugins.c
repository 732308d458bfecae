#include "executor/plugin/plugins.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/plugin/plugin.h"
#include "executor/process/processes.h"
#include "executor/process/user.h"
#include "executor/session/sessions.h"
#include "executor/wire/send_queue.h"
#include "policy/json/json.h"
#include "protocol/action.h"

/* How long an action waits, in ms, until a process may be started again. */
#define WAIT_MS 1000

static void plugin_free(struct plugin *p)
{
	plugin_let_go(p);
	buffer_done(&p->to);
	buffer_done(&p->from);
	manifest_done(&p->manifest);
	exec_done(&p->exec);
	free(p->request);
	free(p->name);
	free(p->folder);
	free(p->failure);
	free(p->call.line);
	free(p);
}

void plugins_done(struct plugins *s)
{
	for (size_t i = 0; i < s->count; i++)
		plugin_free(s->all[i]);
	free(s->all);
	*s = (struct plugins){ 0 };
}

static struct plugin *find(const struct plugins *s, uint32_t id)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i]->id == id)
			return s->all[i];
	return NULL;
}

static struct plugin *find_call(const struct plugins *s, uint32_t id)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i]->call.id == id)
			return s->all[i];
	return NULL;
}

bool plugins_has(const struct plugins *s, uint32_t id)
{
	return find(s, id) || find_call(s, id);
}

/* --- a new plugin -------------------------------------------------------------------- */

/* Reads plugin.json as the sandbox's user.  Returns -1 with the reason in *e; *ret_is_lost:
 * the executor could not become its own user again. */
static int read_manifest(const struct plugin *p, struct manifest *ret, bool *ret_is_lost,
			 struct err *e)
{
	AUTO_FREE char *path = text_format("%s/" MANIFEST_FILE, p->folder);
	AUTO_FREE char *text = NULL;
	struct user_role role;
	size_t len = 0;

	if (user_enter(p->set->user, p->exec.uid, p->exec.gid, &role) < 0)
		return err_sys(e, "become the sandbox's user");
	int got = manifest_load(path, &text, &len, e);
	*ret_is_lost = user_leave(p->set->user, &role) < 0;
	return got < 0 ? -1 : manifest_read(text, len, p->name, ret, e);
}

/* Returns the plugin that came before and answers the action; NULL: there is none. */
static const struct plugin *answerer(const struct plugins *s, const char *action)
{
	for (size_t i = 0; i < s->count; i++)
		if (manifest_action(&s->all[i]->manifest, action))
			return s->all[i];
	return NULL;
}

static int check_claims(const struct plugins *s, const struct manifest *m, struct err *e)
{
	for (size_t i = 0; i < m->action_count; i++) {
		const struct plugin *other = answerer(s, m->actions[i].name);
		if (other)
			return err_set(e, ERR_EXISTS,
				       "the action '%s' is answered by the plugin '%s'",
				       m->actions[i].name, other->name);
	}
	return 0;
}

static void offer(const struct plugin *p)
{
	const struct manifest *m = &p->manifest;
	struct reply a = { .id = p->id };
	struct plugin_offer o = { .version = m->version, .ready_ms = m->ready_ms,
				  .timeout_ms = m->timeout_ms, .grace_ms = m->grace_ms,
				  .action_count = (uint32_t)m->action_count };

	for (size_t i = 0; i < m->action_count; i++)
		o.actions[i] = (struct plugin_offered){ m->actions[i].name,
							m->actions[i].observation,
							m->actions[i].message };
	buffer_init(&a.end, SEND_QUEUE_END_MAX);
	/* cannot fail: 32 actions of the longest names fit */
	(void)plugin_put_offer(&a.end, p->id, &o, NULL);
	send_queue_add(p->set->replies, &a);
}

/* Reads the plugin's manifest and offers its actions, or says why not. */
static void introduce(struct plugin *p, int64_t now)
{
	struct manifest m = { 0 };
	struct err e = { 0 };

	if (read_manifest(p, &m, &p->set->is_lost, &e) == 0 &&
	    check_claims(p->set, &m, &e) == 0) {
		p->manifest = m;
		offer(p);
		if (m.command.count == 0)
			plugin_say_state(p, PLUGIN_READY, "");
		else if (m.starts_at_launch)
			plugin_start(p, now);
		return;
	}
	manifest_done(&m);
	plugin_give_up(p, now, e.text);
}

/* Decodes a copy of the message; the copy lives as long as the plugin, which points into
 * it. */
static struct plugin *new_plugin(struct plugins *s, const struct frame *f, struct err *e)
{
	struct plugin *p = mem_zeroed(1, sizeof(*p));
	struct frame mine = *f;

	*p = (struct plugin){ .set = s, .id = f->id, .in = -1, .out = -1, .errors = -1,
			      .status = -1 };
	p->request = mem_copy(f->body, f->len);
	mine.body = p->request;
	plugin_let_go(p);
	if (message_get_exec(&mine, &p->exec, e) < 0) {
		free(p->request);
		free(p);
		return NULL;
	}
	return p;
}

int plugins_add(struct plugins *s, const struct frame *f, int64_t now, struct err *e)
{
	struct plugin *p = s->count < PLUGINS_MAX ? new_plugin(s, f, e) : NULL;

	if (!p)
		return s->count < PLUGINS_MAX
			       ? -1
			       : err_set(e, ERR_PROTOCOL, "more than %d plugins",
					 PLUGINS_MAX);
	char **argv = p->exec.argv;
	if (!argv[0] || !argv[1] || argv[2] || p->exec.flags) {
		plugin_free(p);
		return err_set(e, ERR_PROTOCOL, "'plugin' without a name and a folder");
	}
	p->name = text_copy(argv[0]);
	p->folder = text_copy(argv[1]);
	introduce(p, now);
	s->all = mem_resize(s->all, s->count + 1, sizeof(*s->all));
	s->all[s->count++] = p;
	return 0;
}

/* --- a call ---------------------------------------------------------------------------- */

/* Makes the call the plugin's own.  Returns -1, with the reason in *e, if the arguments
 * do not fit the action's schema. */
static int take_call(struct plugin *p, uint32_t id, const struct plugin_call *c,
		     struct err *e)
{
	const struct plugin_action *a = manifest_action(&p->manifest, c->action);
	struct file_place place = { p->exec.uid, p->exec.gid, c->cwd };
	uint64_t timeout_ms = c->timeout_ms ? c->timeout_ms : p->manifest.timeout_ms;
	AUTO_JSON struct json *doc = NULL;
	struct json_at args = { 0 };

	p->call = (struct call){ .id = id, .is_streamed = c->is_streamed,
				 .timeout_ms = timeout_ms };
	if (c->args.len > 0) {
		doc = json_parse((const char *)c->args.data, c->args.len, e);
		if (!doc)
			return -1;
		json_root(doc, "args", &args);
	}
	if (!a)
		return err_set(e, ERR_USAGE, "it does not answer '%.64s'", c->action);
	if (manifest_check_args(a, &args, e) < 0)
		return -1;
	(void)sessions_place(p->set->sessions, c->session, &place);
	p->call.action = a->name;
	p->call.line = plugin_call_line(c, id, place.cwd, timeout_ms, &args);
	return 0;
}

/* Starts a process for the call that waits, at once or when it may be started again. */
static void start_for_call(struct plugin *p, int64_t now)
{
	int64_t left = p->not_before - now;

	if (p->set->is_ending)
		return plugin_answer_failure(p, OUTCOME_CANCELLED, "the sandbox is stopping");
	if (p->ends == 0 || left <= 0)
		return plugin_start(p, now);
	if (left <= WAIT_MS) {
		p->due = p->not_before;
		return;
	}
	AUTO_FREE char *reason = text_format("%s\nIt may be started again in %lld s.",
					     p->failure ? p->failure : "",
					     (long long)(left + 999) / 1000);
	plugin_answer_failure(p, OUTCOME_ERROR, reason);
}

int plugins_call(struct plugins *s, const struct frame *f, int64_t now, struct err *e)
{
	struct plugin_call c;
	struct err why = { 0 };

	if (plugin_get_call(f, &c, e) < 0)
		return -1;
	struct plugin *p = find(s, c.plugin);
	if (!p || p->call.id)
		return err_set(e, ERR_PROTOCOL, "'call' of plugin %u, which %s", c.plugin,
			       p ? "has one under way" : "does not exist");
	if (take_call(p, f->id, &c, &why) < 0) {
		plugin_answer_failure(p, OUTCOME_ERROR, why.text);
		return 0;
	}
	switch (p->phase) {
	case PLUGIN_OFF:
		start_for_call(p, now);
		break;
	case PLUGIN_UP:
		plugin_send_call(p, now);
		break;
	case PLUGIN_DEAD:
		plugin_answer_failure(p, OUTCOME_ERROR, p->failure);
		break;
	case PLUGIN_KILLED:
		p->due = now + PLUGIN_REAPED_MS; /* its own may have passed */
		break;
	case PLUGIN_BEGINS:
	default:
		break; /* the call is sent when the process is ready, or started anew */
	}
	return 0;
}

/* Tells the process that the answer is wanted now. */
static void hurry(struct plugin *p, enum outcome why, int64_t now)
{
	struct buffer b;

	p->call.stopped = why;
	p->due = now + p->manifest.grace_ms;
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_number(&b, "cancel", p->call.id);
	json_write_text(&b, "reason", why == OUTCOME_TIMED_OUT ? "timeout" : "cancelled");
	json_write_close(&b, "}\n");
	if (plugin_say(p, (const char *)buffer_data(&b), buffer_len(&b)))
		plugin_write(p, now);
	else
		plugin_fail(p, now, "it does not read its lines");
	buffer_done(&b);
}

bool plugins_cancel(struct plugins *s, uint32_t id, int64_t now)
{
	struct plugin *p = find_call(s, id);

	if (!p)
		return false;
	if (!p->call.is_sent)
		plugin_answer_failure(p, OUTCOME_CANCELLED, "the action was cancelled");
	else if (!p->call.stopped)
		hurry(p, OUTCOME_CANCELLED, now);
	return true;
}

/* --- variables ------------------------------------------------------------------------- */

static char *environment_line(const struct list *set, const struct list *unset)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_open(&b, "environment", "{");
	for (size_t i = 0; i < set->count; i++) {
		size_t len = strcspn(set->items[i], "=");
		AUTO_FREE char *name = text_format("%.*s", (int)len, set->items[i]);
		if (!list_has(unset, name))
			json_write_text(&b, name, set->items[i] + len + 1);
	}
	for (size_t i = 0; i < unset->count; i++)
		json_write_text(&b, unset->items[i], NULL);
	json_write_close(&b, "}}\n");
	return json_write_end(&b);
}

/* Adds the line to those for the process, unless that has no actions and so may read no
 * lines.  A process that is not ready yet has most of the variables in its environment
 * already; telling them twice does no harm. */
static void say_environment(struct plugin *p, const char *line)
{
	if (p->manifest.action_count == 0)
		return;
	if (p->phase == PLUGIN_BEGINS || p->phase == PLUGIN_UP)
		(void)plugin_say(p, line, strlen(line)); /* if there is no room for it,
							  * the next line finds none
							  * either, and fails the
							  * process */
}

void plugins_env(struct plugins *s, const struct frame *f)
{
	struct list set, unset;

	if (s->count == 0 || message_get_env(f, &set, &unset, NULL) < 0)
		return;
	AUTO_FREE char *line = environment_line(&set, &unset);
	for (size_t i = 0; i < s->count; i++)
		say_environment(s->all[i], line);
	list_done(&set);
	list_done(&unset);
}

/* --- the loop ---------------------------------------------------------------------------- */

size_t plugins_watch(const struct plugins *s, struct pollfd *fds, bool is_full)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct plugin *p = s->all[i];
		struct pollfd *mine = fds + i * PLUGIN_POLLS;
		int in = buffer_len(&p->to) > 0 ? p->in : -1;
		mine[0] = (struct pollfd){ .fd = in, .events = POLLOUT };
		mine[1] = (struct pollfd){ .fd = is_full ? -1 : p->out, .events = POLLIN };
		mine[2] = (struct pollfd){ .fd = p->errors, .events = POLLIN };
		mine[3] = (struct pollfd){ .fd = p->status, .events = POLLIN };
	}
	return s->count * PLUGIN_POLLS;
}

void plugins_serve(struct plugins *s, const struct pollfd *fds, int64_t now)
{
	for (size_t i = 0; i < s->count; i++) {
		struct plugin *p = s->all[i];
		const struct pollfd *mine = fds + i * PLUGIN_POLLS;
		if (mine[2].revents)
			plugin_read_errors(p);
		p->has_asked = false;
		if (mine[1].revents && p->out >= 0)
			(void)plugin_read(p, now);
		if (mine[0].revents && p->in >= 0)
			plugin_write(p, now);
		if (mine[3].revents & POLLIN && plugin_read_end(p))
			plugin_end_process(p);
	}
}

/* The descendants that have stayed in the session of the keeper, or in its group, are
 * still found; the next process would find its port taken by them. */
void plugins_dying(struct plugins *s, pid_t pid)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i]->pid == pid)
			plugin_end_process(s->all[i]);
}

bool plugins_reaped(struct plugins *s, pid_t pid, int status, int64_t now)
{
	for (size_t i = 0; i < s->count; i++) {
		struct plugin *p = s->all[i];
		if (p->pid != pid)
			continue;
		plugin_ended(p, status, now);
		if (p->phase == PLUGIN_OFF && p->call.id)
			start_for_call(p, now);
		return true;
	}
	return false;
}

int64_t plugins_due(const struct plugins *s)
{
	int64_t due = INT64_MAX;

	for (size_t i = 0; i < s->count; i++)
		if (s->all[i]->due < due)
			due = s->all[i]->due;
	return due;
}

static void expire(struct plugin *p, int64_t now)
{
	p->due = INT64_MAX;
	if (p->phase == PLUGIN_OFF && p->call.id)
		start_for_call(p, now);
	else if (p->phase == PLUGIN_KILLED && p->call.id)
		plugin_answer_failure(p, OUTCOME_ERROR,
				      "the plugin's last process was killed and does not end");
	else if (p->phase == PLUGIN_BEGINS)
		plugin_fail(p, now, "it was not ready within %u ms", p->manifest.ready_ms);
	else if (p->phase == PLUGIN_UP && p->call.is_sent && !p->call.stopped)
		hurry(p, OUTCOME_TIMED_OUT, now);
	else if (p->phase == PLUGIN_UP && p->call.is_sent)
		plugin_fail(p, now,
			    "it did not answer within %u ms after its action's %s",
			    p->manifest.grace_ms,
			    p->call.stopped == OUTCOME_TIMED_OUT ? "time-out"
								 : "cancellation");
}

void plugins_expire(struct plugins *s, int64_t now)
{
	for (size_t i = 0; i < s->count; i++)
		if (now >= s->all[i]->due)
			expire(s->all[i], now);
}

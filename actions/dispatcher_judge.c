#include <stdlib.h>
#include <string.h>

#include "actions/action_git.h"
#include "actions/dispatcher.h"
#include "actions/redact_json.h"
#include "base/buffer.h"
#include "base/list.h"
#include "base/own.h"
#include "base/redact.h"
#include "policy/rules.h"
#include "protocol/message.h"

/* The most bytes of an action's text in a question, which a person reads. */
#define ABOUT_MAX 4096
/* The most bytes of an action's text in a refusal, which a model reads. */
#define TOLD_MAX 200

/* Returns the name of the action for the rules.  An edit that only views a file counts
 * as a read, and all actions of plugins have one name. */
static const char *name_of(const struct action *a)
{
	if (a->kind == ACT_PLUGIN)
		return "plugin";
	return a->kind == ACT_EDIT && !strcmp(a->command, "view") ? "read"
								  : action_name(a);
}

static uint64_t size_of(const struct action *a)
{
	const char *const texts[] = { a->kind == ACT_WRITE ? a->content : NULL,
				      a->file_text, a->new_str };
	uint64_t size = 0;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i] && strlen(texts[i]) > size)
			size = strlen(texts[i]);
	return size;
}

/* Describes the action for the rules. `same`: a shell command with the same effect, such
 * as "git clone URL"; NULL: there is none. */
static struct deed deed_of(const struct dispatcher *d, const struct action *a,
			   const char *same)
{
	return (struct deed){
		.action = name_of(a),
		.command = a->kind == ACT_RUN ? a->command : NULL,
		.same = same,
		.reads = a->kind == ACT_GIT_DIFF || a->kind == ACT_MICROAGENTS,
		.path = a->path,
		.other = a->kind == ACT_MOVE ? a->other : NULL,
		.cwd = d->shell.cwd,
		.size = size_of(a),
		.is_typed = a->is_input,
	};
}

/* Returns whether rules apply to the action. They do not apply to keys, nor to an empty
 * command, which only waits: both concern a command that was judged before. */
static bool is_judged(const struct action *a)
{
	return a->kind != ACT_RUN || (*a->command && !action_is_key(a->command));
}

/* Returns a copy of the text with secrets redacted, cut to `max` bytes, but not within a
 * character. Allocated; NULL if `text` is NULL. */
static char *shown(const struct dispatcher *d, const char *text, size_t max)
{
	char *all = text ? redact_copy(&d->secrets, text) : NULL;

	if (!all || strlen(all) <= max)
		return all;
	while (max > 0 && (all[max] & 0xc0) == 0x80)
		max--;
	char *some = text_format("%.*s...", (int)max, all);
	free(all);
	return some;
}

/* Returns the parts of the action that the rule's verdict is about, one a line; NULL: it
 * is about the whole action. */
static char *about_of(const struct verdict *v)
{
	return v->about.count ? list_join(&v->about, 0, "\n") : NULL;
}

/* --- a refusal -------------------------------------------------------------------------
 */

static void refuse(struct dispatcher *d, struct task *t, const struct verdict *v,
		   const char *why, const char *remedy)
{
	const struct denial denial = { .what = name_of(&t->action),
				       .path = t->action.path,
				       .layer = "rules",
				       .rule = v->rule,
				       .remedy = remedy };
	AUTO_FREE char *all = about_of(v), *about = shown(d, all, TOLD_MAX);
	AUTO_FREE char *text = text_format("ERROR: This was not done: %s: %s%s%s%s", why,
					   v->reason, about ? " (" : "",
					   about ? about : "", about ? ")" : "");
	struct observed o = dispatcher_observed(d, t);
	struct buffer line;

	dispatcher_record_denial(d, t, v);
	o.denials = &denial;
	o.denial_count = 1;
	buffer_init(&line, DISPATCHER_LINE_MAX);
	observe_error(&line, &o, "HUTCH$REFUSED", text);
	dispatcher_finish(d, t, &line);
}

/* --- a question ------------------------------------------------------------------- */

static struct asker *find_confirmer(struct task *t)
{
	for (size_t i = 0; i < t->asker_count; i++)
		if (t->askers[i].client && t->askers[i].client->confirms)
			return &t->askers[i];
	return NULL;
}

static void ask(struct dispatcher *d, struct task *t, struct asker *asker,
		const struct verdict *v)
{
	const struct observed o = { .action = &t->action };
	AUTO_FREE char *all = about_of(v);
	AUTO_FREE char *about = shown(d, all ? all : t->action.path, ABOUT_MAX);
	const struct question q = { .number = t->ask = ++d->asks,
				    .request = asker->id,
				    .action = name_of(&t->action),
				    .risk = risk_name(v->risk),
				    .reason = v->reason,
				    .about = about };
	struct buffer line;

	t->asked = asker->client;
	buffer_init(&line, DISPATCHER_LINE_MAX);
	observe_ask(&line, &o, &q, asker->client->is_rpc);
	redact_json_line(&d->secrets, &line);
	/* cannot fail: decide() has checked that there is room */
	(void)buffer_append(asker->client->out, buffer_data(&line), buffer_len(&line));
	buffer_done(&line);
}

bool dispatcher_confirm(struct dispatcher *d, const struct dispatcher_client *c,
			const struct action *a)
{
	for (size_t i = 0; i < d->queue.session_count; i++) {
		struct task *t = d->queue.sessions[i].first;
		if (!t || !t->ask || t->ask != a->asked || t->asked != c)
			continue;
		t->asked = NULL;
		t->is_allowed = a->allows;
		return true;
	}
	return false;
}

/* --- the verdict -----------------------------------------------------------------------
 */

/* Refuses a task that had to be confirmed: the client has answered no, or has gone. */
static enum judged end_asked(struct dispatcher *d, struct task *t,
			     const struct verdict *v)
{
	refuse(d, t, v, "it was to be confirmed, and was not",
	       "ask for something else, or say why "
	       "it is needed");
	return JUDGED_DONE;
}

static enum judged decide(struct dispatcher *d, struct task *t, const struct verdict *v)
{
	struct asker *asker = find_confirmer(t);

	if (v->decision == DECISION_ALLOW)
		return JUDGED_GO;
	if (v->decision == DECISION_DENY) {
		refuse(d, t, v, "a rule of the policy refuses it",
		       "do it in another way; hutch policy show lists the rules");
		return JUDGED_DONE;
	}
	if (t->ask)
		return end_asked(d, t, v);
	if (!asker) {
		refuse(d, t, v, "it is to be confirmed, and no client can be asked",
		       "a client that can be asked says so: hutch act --confirm");
		return JUDGED_DONE;
	}
	if (buffer_len(asker->client->out) <= DISPATCHER_OUT_HIGH)
		ask(d, t, asker, v);
	return JUDGED_WAITS;
}

enum judged dispatcher_judge(struct dispatcher *d, struct task *t)
{
	AUTO_FREE char *same = action_git_command(&t->action);
	const struct deed deed = deed_of(d, &t->action, same);
	struct verdict v;

	if (!d->rules || t->is_allowed || !is_judged(&t->action))
		return JUDGED_GO;
	/* Waits for the answer, unless the queue is full: then no line is read, so no
	 * answer can come, and the task is refused. */
	if (t->asked && !dispatcher_is_full(d))
		return JUDGED_WAITS;
	t->asked = NULL;
	rules_judge(d->rules, &deed, &v);
	t->rule = v.rule;
	enum judged result = decide(d, t, &v);
	verdict_done(&v);
	if (result == JUDGED_GO) /* after any other result the task may have been freed */
		t->is_allowed = true;
	return result;
}

#include <stdlib.h>
#include <string.h>

#include "actions/dispatcher.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/rules.h"
#include "protocol/action.h"
#include "sandbox/launch/audit.h"
#include "store/sha256.h"

/* --- the action ----------------------------------------------------------------------
 */

/* Writes only the names of NAME=value: a value may be a secret that was never declared
 * as one. */
static void note_names(struct audit_json *n, const char *key, const struct list *words)
{
	struct list names = { 0 };

	for (size_t i = 0; i < words->count; i++)
		list_addf(&names, "%.*s", (int)strcspn(words->items[i], "="),
			  words->items[i]);
	audit_json_words(n, key, names.items, names.count);
	list_done(&names);
}

/* The audit log redacts secrets in the command; the digest is of the command as the
 * shell gets it. */
static void note_run(struct audit_json *n, const struct action *a)
{
	struct digest digest;

	sha256_bytes(a->command, strlen(a->command), &digest);
	audit_json_text(n, "command", a->command);
	audit_json_text(n, "command_sha256", digest.hex);
	if (a->is_input)
		audit_json_yes(n, "is_input", true);
	if (a->cwd)
		audit_json_text(n, "cwd", a->cwd);
}

static void note_file(struct audit_json *n, const struct action *a)
{
	if (a->command) /* the editor's command, if the action is an edit */
		audit_json_text(n, "command", a->command);
	audit_json_text(n, "path", a->path);
	if (a->other)
		audit_json_text(n, action_other_key(a), a->other);
	audit_json_bytes(n, "content", a->content);
	audit_json_bytes(n, "file_text", a->file_text);
	audit_json_bytes(n, "old_str", a->old_str);
	audit_json_bytes(n, "new_str", a->new_str);
}

static void note_env(struct audit_json *n, const struct action *a)
{
	note_names(n, "set", &a->set);
	note_names(n, "unset", &a->unset);
	note_names(n, "secret", &a->secret);
}

static void note_action(const struct dispatcher *d, struct audit_json *n,
			const struct task *t)
{
	const struct action *a = &t->action;

	audit_note(d->audit, n);
	if (t->record)
		audit_json_number(n, "action", t->record);
	audit_json_text(n, "kind", action_name(a));
	if (*a->client)
		audit_json_text(n, "client", a->client);
	if (a->has_id)
		audit_json_number(n, "id", a->id);
	if (!a->is_static)
		audit_json_text(n, "session", a->session);
	if (a->kind == ACT_RUN)
		note_run(n, a);
	else if (a->kind == ACT_ENV)
		note_env(n, a);
	else if (a->kind == ACT_PLUGIN)
		audit_json_bytes(n, "args", a->args);
	else
		note_file(n, a);
}

/* --- before and after it -------------------------------------------------------------
 */

static bool is_on(const struct dispatcher *d)
{
	return d->audit && d->audit->is_on;
}

int dispatcher_record(struct dispatcher *d, struct task *t)
{
	struct audit_json n;
	struct err e;

	if (!is_on(d) || t->record)
		return 0;
	t->record = ++d->records;
	note_action(d, &n, t);
	audit_json_text(&n, "verdict", t->ask ? "ask" : "allow");
	if (t->ask)
		audit_json_text(&n, "answer", "yes");
	if (t->rule)
		audit_json_text(&n, "rule", t->rule);
	if (audit_add(d->audit, "action", &n, AUDIT_PASSING, &e) == 0)
		return 0;
	t->record = 0;
	AUTO_FREE char *text = text_format("ERROR: This was not done: %s", e.text);
	dispatcher_finish_error(d, t, "HUTCH$NOT_RECORDED", text);
	return -1;
}

void dispatcher_record_denial(struct dispatcher *d, const struct task *t,
			      const struct verdict *v)
{
	struct audit_json n;

	if (!is_on(d))
		return;
	note_action(d, &n, t);
	audit_json_text(&n, "verdict", v->decision == DECISION_DENY ? "deny" : "ask");
	if (v->decision != DECISION_DENY)
		audit_json_text(&n, "answer", t->ask ? "no" : "nobody");
	audit_json_text(&n, "rule", v->rule);
	audit_json_text(&n, "why", v->reason);
	(void)audit_add(d->audit, "refused", &n, AUDIT_PASSING, NULL); /* a loss is
									* counted */
}

void dispatcher_record_result(struct dispatcher *d, const struct task *t)
{
	struct audit_json n;

	if (!is_on(d) || !t->record)
		return;
	AUTO_FREE char *took = text_format("%.3f", dispatcher_observed(d, t).took_ms);
	audit_note(d->audit, &n);
	audit_json_number(&n, "action", t->record);
	audit_json_text(&n, "result", t->result ? t->result : "done");
	if (t->has_exit_code)
		audit_json_number(&n, "exit_code", t->exit_code);
	audit_json_json(&n, "took_ms", took);
	(void)audit_add(d->audit, "result", &n, AUDIT_PASSING,
			NULL); /* counted as lost */
}

/* --- results -------------------------------------------------------------------------
 */

void dispatcher_note_report(struct task *t, const struct report *r)
{
	static const char *const names[] = {
		[REPORT_NONE] = "error",	 [REPORT_COMPLETED] = "completed",
		[REPORT_NO_CHANGE] = "no_change", [REPORT_TIMED_OUT] = "timed_out",
		[REPORT_BUSY] = "busy",		 [REPORT_NOTHING] = "nothing",
		[REPORT_UNKNOWN_KEY] = "unknown_key", [REPORT_CANCELLED] = "cancelled",
	};
	_Static_assert(ARRAY_LEN(names) == REPORT_STATE_COUNT, "a state has no name");

	t->result = names[r->state];
	t->has_exit_code = r->exit_code != ACTION_NO_CODE;
	t->exit_code = r->exit_code;
}

void dispatcher_note_outcome(struct task *t, uint32_t outcome)
{
	static const char *const names[] = {
		[OUTCOME_DONE] = "done",	     [OUTCOME_NOT_FOUND] = "not_found",
		[OUTCOME_IS_FOLDER] = "is_folder",   [OUTCOME_NOT_UTF8] = "not_utf8",
		[OUTCOME_BINARY] = "binary",	     [OUTCOME_TOO_LARGE] = "too_large",
		[OUTCOME_NOT_REGULAR] = "not_regular", [OUTCOME_ERROR] = "error",
		[OUTCOME_TIMED_OUT] = "timed_out",   [OUTCOME_CANCELLED] = "cancelled",
		[OUTCOME_REFUSED] = "refused",
	};
	_Static_assert(ARRAY_LEN(names) == OUTCOME_COUNT, "an outcome has no name");

	t->result = names[outcome];
}

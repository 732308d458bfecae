#include "actions/dispatcher.h"

#include "actions/sandbox_info.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "protocol/message.h"

/* Returns the environment that a session would get if it were opened now. */
static struct list environment(const struct dispatcher *d)
{
	struct list env = { 0 };

	for (char *const *at = d->shell.env; *at; at++)
		list_add(&env, *at);
	variables_apply(&d->variables, &env);
	return env;
}

static void look_at_environment(struct dispatcher *d)
{
	struct list env = environment(d);

	d->sandbox_info.soft_s = sandbox_info_soft_seconds(&env);
	list_done(&env);
}

/* Redacts the value from now on, and adds the name to *ret_hidden; if the value is too
 * short to be redacted, adds the name to *ret_short. */
static int hide_one(struct dispatcher *d, const char *name, const char *value,
		    struct list *ret_hidden, struct list *ret_short, struct err *e)
{
	bool is_hidden;

	if (!value)
		return err_set(e, ERR_USAGE, "args.secret: there is no variable %.60s",
			       name);
	if (dispatcher_hide(d, value, &is_hidden, e) < 0)
		return -1;
	list_add(is_hidden ? ret_hidden : ret_short, name);
	return 0;
}

/* Redacts the secrets of an env action. Must be called before any variable is set, so
 * that no process can print a secret before it is redacted. */
static int hide(struct dispatcher *d, const struct action *a, struct list *ret_hidden,
		struct list *ret_short, struct err *e)
{
	struct list env = environment(d);
	int result = 0;

	for (size_t i = 0; i < a->secret.count && result == 0; i++) {
		const char *name = a->secret.items[i];
		const char *value = list_get_env(&a->set, name);
		result = hide_one(d, name, value ? value : list_get_env(&env, name),
				  ret_hidden, ret_short, e);
	}
	list_done(&env);
	return result;
}

/* Changes the variables here and in the executor. The executor sets them in the shells of
 * sessions; the list here is for processes that the supervisor starts with MSG_EXEC. */
static int change(struct dispatcher *d, const struct action *a, struct err *e)
{
	if (variables_change(&d->variables, &a->set, &a->unset, e) < 0 ||
	    message_put_env(d->wire, &a->set, &a->unset, e) < 0)
		return -1;
	look_at_environment(d);
	return 0;
}

void dispatcher_set_env(struct dispatcher *d, struct task *t)
{
	const struct observed o = dispatcher_observed(d, t);
	const struct action *a = &t->action;
	struct list hidden = { 0 }, not_hidden = { 0 };
	struct buffer line;
	struct err e;

	buffer_init(&line, DISPATCHER_LINE_MAX);
	if (hide(d, a, &hidden, &not_hidden, &e) < 0 || change(d, a, &e) < 0) {
		AUTO_FREE char *text = text_format("ERROR: %s", e.text);
		dispatcher_finish_error(d, t, "HUTCH$BAD_ACTION", text);
	} else {
		observe_env(&line, &o, &hidden, &not_hidden);
		dispatcher_finish(d, t, &line);
	}
	list_done(&hidden);
	list_done(&not_hidden);
}

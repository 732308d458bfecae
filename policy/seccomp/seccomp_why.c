#include "policy/seccomp/seccomp_why.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>

#include "base/answer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/seccomp/call_number.h"
#include "policy/seccomp/profile.h"
#include "policy/seccomp/seccomp_words.h"

/* --- the floor -------------------------------------------------------------------- */

static const struct floor_row *floor_row(const struct call_asked *c, uint32_t nr)
{
	size_t count;
	const struct floor_row *rows = floor_rows(&count);

	for (size_t i = 0; i < count; i++)
		if (rows[i].nr[c->arch] == nr && floor_has(c->profile->floor, &rows[i]))
			return &rows[i];
	return NULL;
}

static bool floor_holds(const struct floor_row *row, const uint64_t *args)
{
	for (size_t i = 0; i < row->test_count; i++) {
		const struct floor_test *t = &row->tests[i];
		const uint32_t arg = (uint32_t)args[t->arg];
		if (t->bits ? arg & t->value : arg == t->value)
			return true;
	}
	return !row->test_count;
}

/* --- a profile -------------------------------------------------------------------- */

static bool test_holds(const struct profile_test *t, const uint64_t *args)
{
	const uint64_t arg = args[t->arg];

	switch (t->op) {
	case OP_NE:
		return arg != t->value;
	case OP_LT:
		return arg < t->value;
	case OP_LE:
		return arg <= t->value;
	case OP_EQ:
		return arg == t->value;
	case OP_GE:
		return arg >= t->value;
	case OP_GT:
		return arg > t->value;
	case OP_MASKED_EQ:
		return (arg & t->mask) == t->value;
	case OP_COUNT:
		break;
	}
	abort();
}

static bool rule_holds(const struct profile_rule *rule, const uint64_t *args)
{
	for (size_t i = 0; i < rule->test_count; i++)
		if (!test_holds(&rule->tests[i], args))
			return false;
	return true;
}

/* The decision of one profile about a call. */
struct found_rule {
	const struct profile_rule *rule; /* the rule that decides; NULL: the default
					  * action */
	uint32_t action;
	bool has_others; /* other rules name the same call, but with other arguments */
};

/* Ranks actions: the smaller an action is as a signed number, the stricter it is
 * (seccomp(2)). */
static int32_t leniency(uint32_t action)
{
	return (int32_t)(action & SECCOMP_RET_ACTION_FULL);
}

static struct found_rule find_rule(const struct call_asked *c, const struct profile *p,
				   uint32_t nr)
{
	struct found_rule ret = { .action = p->default_action };

	for (size_t i = 0; i < p->count; i++) {
		const struct profile_rule *rule = &p->rules[i];
		int number = call_number(c->arch, rule->name);
		if (number < 0 || (uint32_t)number != nr)
			continue;
		ret.has_others |= rule->test_count > 0;
		if (!rule_holds(rule, c->args) ||
		    (ret.rule && leniency(rule->action) >= leniency(ret.action)))
			continue;
		ret.rule = rule;
		ret.action = rule->action;
	}
	return ret;
}

/* --- the answer ------------------------------------------------------------------- */

/* Returns a text for an action, such as "answers EPERM", allocated. */
static char *action_text(uint32_t action)
{
	const char *name;

	switch (action & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
		return text_copy("is let through");
	case SECCOMP_RET_ERRNO:
		if (!(action & SECCOMP_RET_DATA))
			return text_copy("says that it was done, and is not");
		name = strerrorname_np((int)(action & SECCOMP_RET_DATA));
		return name ? text_format("answers %s", name) :
			      text_format("answers the error %u",
					  action & SECCOMP_RET_DATA);
	case SECCOMP_RET_TRAP:
		return text_copy("ends with the signal SIGSYS");
	default:
		return text_copy("ends the process that makes it");
	}
}

static bool is_let_through(uint32_t action)
{
	const uint32_t full = action & SECCOMP_RET_ACTION_FULL;

	return full == SECCOMP_RET_ALLOW || full == SECCOMP_RET_LOG ||
	       (full == SECCOMP_RET_ERRNO && !(action & SECCOMP_RET_DATA));
}

static void say(const struct call_asked *c, uint32_t action, bool has_others,
		struct answer *ret)
{
	AUTO_FREE char *does = action_text(action);

	answer_set(
		ret, is_let_through(action), "seccomp",
		text_format("%s %s%s", c->name, does,
			    has_others ? " with these arguments, and not with all" : ""));
}

static void say_floor(const struct call_asked *c, const struct floor_row *row,
		      struct answer *ret)
{
	say(c, SECCOMP_RET_ERRNO | (uint32_t)row->answer, row->test_count > 0, ret);
	ret->line = text_format(SECCOMP_THE_FLOOR ": %s", row->name);
	if (row->is_nesting)
		ret->change = text_copy("--nesting, which lets commands make namespaces");
}

static void say_rule(const struct call_asked *c, const struct found_rule *f,
		     bool has_others, struct answer *ret)
{
	say(c, f->action, has_others || f->has_others, ret);
	if (f->rule)
		ret->line = text_format("%s: syscalls[%zu]", c->line, f->rule->block);
	else
		ret->line = text_format("%s: defaultAction, since it says nothing of %s",
					c->line, c->name);
	if (!ret->is_yes)
		ret->change = text_copy("--seccomp FILE, with a profile that allows it");
}

int seccomp_why(const struct call_asked *c, struct answer *ret, struct err *e)
{
	const int nr = call_number(c->arch, c->name);

	if (nr == CALL_UNKNOWN)
		return err_set(e, ERR_USAGE, "no system call '%.64s' is known here",
			       c->name);
	if (nr < 0) {
		answer_set(ret, false, "seccomp",
			   text_format("%s is a call of another architecture", c->name));
		return 0;
	}
	const struct floor_row *row = floor_row(c, (uint32_t)nr);
	if (row && floor_holds(row, c->args)) {
		say_floor(c, row, ret);
		return 0;
	}
	struct found_rule on_top = { .action = SECCOMP_RET_ALLOW };
	if (c->pretend)
		on_top = find_rule(c, c->pretend, (uint32_t)nr);
	const struct found_rule f = find_rule(c, c->profile, (uint32_t)nr);
	say_rule(c, on_top.rule ? &on_top : &f, row != NULL, ret);
	if (on_top.rule) {
		own_free(&ret->line);
		ret->line = text_copy(
			"an image as its root with one id: changes of owners and ids pretend");
	}
	return 0;
}

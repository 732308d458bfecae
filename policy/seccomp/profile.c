#include "policy/seccomp/profile.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "policy/seccomp/profile_fit.h"

#define ERRNO_MAX 4095 /* the kernel's MAX_ERRNO, to which it truncates larger values */

/* The state that is shared while a document is read. */
struct reader {
	const struct profile_host *host;
	struct profile *out;
	size_t room;
};

struct action {
	const char *name;
	uint32_t ret;
	const char *refused; /* the reason why hutch refuses the action unless the
			      * profile is a whole filter, or NULL */
};

static const struct action actions[] = {
	{ "SCMP_ACT_ALLOW", SECCOMP_RET_ALLOW, NULL },
	{ "SCMP_ACT_ERRNO", SECCOMP_RET_ERRNO, NULL },
	{ "SCMP_ACT_KILL", SECCOMP_RET_KILL_THREAD, NULL },
	{ "SCMP_ACT_KILL_THREAD", SECCOMP_RET_KILL_THREAD, NULL },
	{ "SCMP_ACT_KILL_PROCESS", SECCOMP_RET_KILL_PROCESS, NULL },
	{ "SCMP_ACT_TRAP", SECCOMP_RET_TRAP, NULL },
	{ "SCMP_ACT_LOG", SECCOMP_RET_LOG, NULL },
	{ "SCMP_ACT_TRACE", SECCOMP_RET_TRACE,
	  "a command could trace itself and let the call pass" },
	{ "SCMP_ACT_NOTIFY", SECCOMP_RET_USER_NOTIF, "not supported yet" },
};

static const char *const ops[] = {
	[OP_NE] = "SCMP_CMP_NE",
	[OP_LT] = "SCMP_CMP_LT",
	[OP_LE] = "SCMP_CMP_LE",
	[OP_EQ] = "SCMP_CMP_EQ",
	[OP_GE] = "SCMP_CMP_GE",
	[OP_GT] = "SCMP_CMP_GT",
	[OP_MASKED_EQ] = "SCMP_CMP_MASKED_EQ",
};
_Static_assert(ARRAY_LEN(ops) == OP_COUNT, "an operator has no name");

static int read_action(const struct json_at *at, const struct profile_host *host,
		       uint32_t *ret, struct err *e)
{
	const char *name;

	if (json_string(at, &name, e))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		if (strcmp(actions[i].name, name) != 0)
			continue;
		if (actions[i].refused && host->floor != FLOOR_NONE)
			return err_set(e, ERR_UNSUPPORTED, "%s: %s: %s", at->place, name,
				       actions[i].refused);
		*ret = actions[i].ret;
		return 0;
	}
	return err_set(e, ERR_USAGE, "%s: unknown action '%.64s'", at->place, name);
}

/* Reads an errno's name: "EPERM" gives 1 (containers-common's `errno`). */
static int read_errno_name(const struct json_at *at, uint64_t *ret, struct err *e)
{
	const char *name;

	if (json_string(at, &name, e))
		return -1;
	for (int n = 1; n <= ERRNO_MAX; n++) {
		const char *known = strerrorname_np(n);

		if (known && strcmp(known, name) == 0) {
			*ret = (uint64_t)n;
			return 0;
		}
	}
	return err_set(e, ERR_USAGE, "%s: unknown error name '%.64s'", at->place, name);
}

/* Reads the errno of an action that takes one.  keys[0] is the key of its number, and
 * keys[1] that of its name. */
static int read_errno(const struct json_at *at, const char *const keys[2], bool is_whole,
		      uint32_t *action, struct err *e)
{
	struct json_at number, name;
	uint64_t value = EPERM, named = 0;
	const bool has_number = json_member(at, keys[0], &number);
	const bool has_name = json_member(at, keys[1], &name);
	const struct json_at *where = has_number ? &number : &name;

	if (has_number && json_uint(&number, &value, e))
		return -1;
	if (has_name && read_errno_name(&name, &named, e))
		return -1;
	if (has_number && has_name && value != named)
		return err_set(e, ERR_USAGE, "%s: not the number of %s", number.place,
			       strerrorname_np((int)named));
	if (has_name)
		value = named;
	if (value > ERRNO_MAX)
		return err_set(e, ERR_USAGE, "%s: no errno is above %d", where->place,
			       ERRNO_MAX);
	/* A tracer reads the number of SCMP_ACT_TRACE (seccomp(2)). */
	if (*action == SECCOMP_RET_ERRNO || *action == SECCOMP_RET_TRACE)
		*action |= (uint32_t)value;
	else if ((has_number || has_name) && !is_whole)
		return err_set(e, ERR_USAGE, "%s: only SCMP_ACT_ERRNO takes an errno",
			       where->place);
	return 0;
}

static int read_op(const struct json_at *at, enum profile_op *ret, struct err *e)
{
	const char *name;

	if (json_string(at, &name, e))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (strcmp(ops[i], name) == 0) {
			*ret = (enum profile_op)i;
			return 0;
		}
	return err_set(e, ERR_USAGE, "%s: unknown operator '%.64s'", at->place, name);
}

/* Finds a member, which must be present. */
static int need(const struct json_at *at, const char *key, struct json_at *ret,
		struct err *e)
{
	if (json_member(at, key, ret))
		return 0;
	return err_set(e, ERR_USAGE, "%s: '%s' is missing", at->place, key);
}

static int need_uint(const struct json_at *at, const char *key, uint64_t *ret,
		     struct err *e)
{
	struct json_at number;
	bool is_negative;

	if (need(at, key, &number, e) || json_wide(&number, &is_negative, ret, e))
		return -1;
	return is_negative ? err_set(e, ERR_USAGE, "%s: a number below 0", number.place)
			   : 0;
}

/* Reads the mask of SCMP_CMP_MASKED_EQ: `value` is the mask, and `valueTwo` is the
 * value to compare with. */
static int read_mask(const struct json_at *at, struct profile_test *test, struct err *e)
{
	struct json_at two;

	test->mask = test->value;
	test->value = 0;
	if (json_member(at, "valueTwo", &two) &&
	    need_uint(at, "valueTwo", &test->value, e))
		return -1;
	if (test->value & ~test->mask)
		return err_set(e, ERR_USAGE,
			       "%s: valueTwo has bits outside the mask: it never matches",
			       at->place);
	return 0;
}

static int read_test(const struct json_at *at, struct profile_test *test, struct err *e)
{
	static const char *const keys[] = { "index", "value", "valueTwo", "op", NULL };
	struct json_at op, two;
	uint64_t index, ignored;

	if (json_only(at, keys, e) || need_uint(at, "index", &index, e) ||
	    need_uint(at, "value", &test->value, e) || need(at, "op", &op, e) ||
	    read_op(&op, &test->op, e))
		return -1;
	if (index >= PROFILE_ARGS)
		return err_set(e, ERR_USAGE, "%s.index: arguments are numbered 0 to 5",
			       at->place);
	test->arg = (unsigned)index;
	test->mask = UINT64_MAX;
	if (test->op == OP_MASKED_EQ)
		return read_mask(at, test, e);
	/* Docker writes `valueTwo: 0` in every test, but only SCMP_CMP_MASKED_EQ uses
	 * it. */
	return json_member(at, "valueTwo", &two) ? json_uint(&two, &ignored, e) : 0;
}

/* Reads the tests of a rule.  Two tests of the same argument are refused: libseccomp
 * rejects them.  For an OCI container *ret_is_any says instead that one test of the rule is
 * enough, as runc and crun have it. */
static int read_tests(const struct json_at *block, const struct profile_host *host,
		      struct profile_rule *rule, bool *ret_is_any, struct err *e)
{
	struct json_at list, item = { 0 };
	unsigned seen = 0;

	*ret_is_any = false;
	if (!json_member(block, "args", &list))
		return 0;
	if (json_expect(&list, JSON_ARRAY, e))
		return -1;
	while (json_step(&list, &item)) {
		struct profile_test test;

		if (read_test(&item, &test, e))
			return -1;
		if (rule->test_count == PROFILE_ARGS)
			return err_set(e, ERR_LIMIT, "%s: more than 6 comparisons",
				       item.place);
		*ret_is_any = *ret_is_any || seen & 1u << test.arg;
		if (*ret_is_any && host->floor != FLOOR_NONE)
			return err_set(
				e, ERR_USAGE,
				"%s: argument %u is compared twice in one block; write "
				"one block for each comparison",
				item.place, test.arg);
		seen |= 1u << test.arg;
		rule->tests[rule->test_count++] = test;
	}
	return 0;
}

static void add_rule(struct reader *r, const struct profile_rule *rule)
{
	struct profile *p = r->out;

	if (p->count == r->room) {
		r->room = r->room ? 2 * r->room : 512;
		p->rules = mem_resize(p->rules, r->room, sizeof(p->rules[0]));
	}
	p->rules[p->count++] = *rule;
}

/* Reads `names`, or `name`, which Docker's first format has. */
static int read_names(const struct json_at *block, struct profile_rule *rule,
		      struct reader *r, struct err *e)
{
	struct json_at names, name = { 0 };
	const bool has_names = json_member(block, "names", &names);

	if (json_member(block, "name", &name) == has_names)
		return err_set(e, ERR_USAGE, "%s: either 'names' or 'name' is needed",
			       block->place);
	if (!has_names) {
		if (json_string(&name, &rule->name, e))
			return -1;
		add_rule(r, rule);
		return 0;
	}
	if (json_expect(&names, JSON_ARRAY, e))
		return -1;
	while (json_step(&names, &name)) {
		if (json_string(&name, &rule->name, e))
			return -1;
		add_rule(r, rule);
	}
	return 0;
}

/* Adds a rule for each of the tests. */
static int read_each(const struct json_at *block, const struct profile_rule *rule,
		     struct reader *r, struct err *e)
{
	for (size_t i = 0; i < rule->test_count; i++) {
		struct profile_rule one = *rule;

		one.test_count = 1;
		one.tests[0] = rule->tests[i];
		if (read_names(block, &one, r, e))
			return -1;
	}
	return 0;
}

static int read_block(const struct json_at *block, struct reader *r, struct err *e)
{
	static const char *const keys[] = { "names",	"name", "action",  "errnoRet",
					    "errno",	"args", "comment", "includes",
					    "excludes", NULL };
	static const char *const errnos[] = { "errnoRet", "errno" };
	struct profile_rule rule = { .block = block->index };
	struct profile ignored = { 0 };
	struct reader nowhere = { .host = r->host, .out = &ignored };
	struct json_at action;
	bool is_fit, is_any;

	if (json_only(block, keys, e) || need(block, "action", &action, e) ||
	    read_action(&action, r->host, &rule.action, e) ||
	    read_errno(block, errnos, r->host->floor == FLOOR_NONE, &rule.action, e) ||
	    read_tests(block, r->host, &rule, &is_any, e) ||
	    profile_fit(block, r->host, &is_fit, e))
		return -1;
	/* A block that does not apply to this host is checked too, and then dropped. */
	const int rc = is_any ? read_each(block, &rule, is_fit ? r : &nowhere, e)
			      : read_names(block, &rule, is_fit ? r : &nowhere, e);
	free(ignored.rules);
	return rc;
}

static int read_blocks(const struct json_at *root, struct reader *r, struct err *e)
{
	struct json_at list, block = { 0 };

	if (!json_member(root, "syscalls", &list))
		return 0;
	if (json_expect(&list, JSON_ARRAY, e))
		return -1;
	while (json_step(&list, &block))
		if (read_block(&block, r, e))
			return -1;
	return 0;
}

static int read_profile(const struct json_at *root, struct reader *r, struct err *e)
{
	static const char *const keys[] = { "defaultAction", "defaultErrnoRet",
					    "defaultErrno",  "architectures",
					    "archMap",	     "flags",
					    "listenerPath",  "listenerMetadata",
					    "syscalls",	     NULL };
	static const char *const errnos[] = { "defaultErrnoRet", "defaultErrno" };
	struct json_at action;

	if (json_only(root, keys, e) || need(root, "defaultAction", &action, e) ||
	    read_action(&action, r->host, &r->out->default_action, e) ||
	    read_errno(root, errnos, r->host->floor == FLOOR_NONE,
		       &r->out->default_action, e) ||
	    profile_check_archs(root, e) ||
	    (r->host->floor != FLOOR_NONE && profile_check_flags(root, e)))
		return -1;
	return read_blocks(root, r, e);
}

int profile_parse(const char *text, size_t len, const struct profile_host *host,
		  struct profile *ret, struct err *e)
{
	struct profile p = { .floor = host->floor };
	struct reader r = { .host = host, .out = &p };
	struct json_at root;

	if (len > PROFILE_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "a profile of more than 4 MiB");
	p.doc = host->floor == FLOOR_NONE ? json_parse_wide(text, len, e)
					  : json_parse(text, len, e);
	if (!p.doc)
		return -1;
	json_root(p.doc, "profile", &root);
	if (read_profile(&root, &r, e)) {
		profile_done(&p);
		return -1;
	}
	*ret = p;
	return 0;
}

void profile_done(struct profile *p)
{
	free(p->rules);
	json_free(p->doc);
	*p = (struct profile){ 0 };
}

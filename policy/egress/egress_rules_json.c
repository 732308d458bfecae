#include <string.h>

#include "base/err.h"
#include "policy/egress/egress_rules.h"
#include "policy/json/json.h"

/* Reads the one member that has the verdict as its key, and the target as its value. */
static int read_verdict(const struct json_at *root, struct egress_word *word,
			struct err *e)
{
	static const enum egress_verdict verdicts[] = { EGRESS_ALLOW, EGRESS_DENY,
							EGRESS_ASK };
	struct json_at at;

	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		if (!json_member(root, egress_verdict_word(verdicts[i]), &at))
			continue;
		if (word->target)
			return err_set(e, ERR_USAGE,
				       "%s: a rule has one of 'allow', 'deny' and 'ask'",
				       root->place);
		word->verdict = verdicts[i];
		if (json_string(&at, &word->target, e) < 0)
			return -1;
	}
	if (word->target)
		return 0;
	(void)err_set(e, ERR_USAGE, "%s: it has none of 'allow', 'deny' and 'ask'",
		      root->place);
	return err_remedy(e, "{\"allow\": \"pypi.org\"} is a rule");
}

static int read_tls(const struct json_at *at, struct egress_word *word, struct err *e)
{
	const char *text;

	if (json_string(at, &text, e) < 0)
		return -1;
	if (strcmp(text, "any") != 0 && strcmp(text, "strict") != 0)
		return err_set(e, ERR_USAGE, "%s: 'strict' or 'any', not '%.40s'",
			       at->place, text);
	word->has_any_tls = !strcmp(text, "any");
	if (word->verdict == EGRESS_DENY)
		return err_set(e, ERR_USAGE, "%s: a rule that denies has no 'tls'",
			       at->place);
	return 0;
}

static int read_rule(const struct json_at *root, struct egress_word *word, struct err *e)
{
	static const char *const keys[] = { "allow", "deny", "ask",  "why",
					    "tls",   "as",   "http", NULL };
	struct json_at at;

	if (json_only(root, keys, e) < 0 || read_verdict(root, word, e) < 0)
		return -1;
	if (json_member(root, "why", &at) && json_string(&at, &word->why, e) < 0)
		return -1;
	if (json_member(root, "tls", &at) && read_tls(&at, word, e) < 0)
		return -1;
	if (json_member(root, "as", &at) && json_string(&at, &word->as, e) < 0)
		return -1;
	if (!json_member(root, "http", &at))
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED,
		      "%s: this hutch has no rules by method and path", at.place);
	return err_remedy(e,
			  "leave 'http' out: the rule is about the host and its ports");
}

int egress_rules_add_value(struct egress_rules *r, const struct json_at *value,
			   const char *from, struct err *e)
{
	struct egress_word word = { .from = from };
	struct json_at root;

	json_root(value->value, "rule", &root);
	if (read_rule(&root, &word, e) < 0)
		return err_from(e, from);
	return egress_rules_add(r, &word, e);
}

int egress_rules_add_json(struct egress_rules *r, const char *json, const char *from,
			  struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(json, strlen(json), e);
	struct json_at root;

	if (!doc)
		return err_from(e, from);
	json_root(doc, "rule", &root);
	return egress_rules_add_value(r, &root, from, e);
}

#include <string.h>

#include "base/err.h"
#include "policy/egress/egress_rules.h"
#include "policy/json/json.h"

/* Reads the member that has the verdict as its key, and the target as its value. */
static int read_verdict(const struct json_at *at, enum egress_verdict verdict,
			struct egress_word *word, struct err *e)
{
	if (word->target)
		return err_set(e, ERR_USAGE,
			       "rule: a rule has one of 'allow', 'deny' and 'ask'");
	word->verdict = verdict;
	return json_string(at, &word->target, e);
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
	return 0;
}

static int refuse_http(const struct json_at *at, struct err *e)
{
	(void)err_set(e, ERR_UNSUPPORTED,
		      "%s: this hutch has no rules by method and path", at->place);
	return err_remedy(e,
			  "leave 'http' out: the rule is about the host and its ports");
}

/* Reads one member, whose key is one of those that a rule may have. */
static int read_member(const struct json_at *at, const char *key,
		       struct egress_word *word, struct err *e)
{
	if (!strcmp(key, "why"))
		return json_string(at, &word->why, e);
	if (!strcmp(key, "as"))
		return json_string(at, &word->as, e);
	if (!strcmp(key, "tls"))
		return read_tls(at, word, e);
	if (!strcmp(key, "http"))
		return refuse_http(at, e);
	return read_verdict(at,
			    !strcmp(key, "allow")  ? EGRESS_ALLOW
			    : !strcmp(key, "deny") ? EGRESS_DENY
						   : EGRESS_ASK,
			    word, e);
}

/* Visits the members in their order: to look for each by its key takes several times as
 * long, which counts for a launch with many rules. */
static int read_rule(const struct json_at *root, struct egress_word *word, struct err *e)
{
	static const char *const keys[] = { "allow", "deny", "ask",  "why",
					    "tls",   "as",   "http", NULL };
	struct json_at at = { 0 }, tls;
	const char *key;

	if (json_only(root, keys, e) < 0)
		return -1;
	while (json_step_key(root, &at, &key))
		if (json_type(&at) != JSON_NULL && read_member(&at, key, word, e) < 0)
			return -1;
	if (!word->target) {
		(void)err_set(e, ERR_USAGE,
			      "%s: it has none of 'allow', 'deny' and 'ask'",
			      root->place);
		return err_remedy(e, "{\"allow\": \"pypi.org\"} is a rule");
	}
	if (word->verdict == EGRESS_DENY && json_member(root, "tls", &tls))
		return err_set(e, ERR_USAGE, "%s: a rule that denies has no 'tls'",
			       tls.place);
	return 0;
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

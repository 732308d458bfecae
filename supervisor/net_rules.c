#include "supervisor/net_rules.h"

#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/egress/egress_rules.h"
#include "policy/egress_policy.h"
#include "policy/json/json.h"

static const char *const members[] = { "allow", "deny", "ask", "why", "tls", "as" };

/* Writes the members in their one order; the rule was checked, so each is a text. */
static char *print(const struct json_at *rule)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		struct json_at at;
		const char *text;
		if (json_member(rule, members[i], &at) &&
		    json_string(&at, &text, NULL) == 0)
			json_write_text(&b, members[i], text);
	}
	json_write_close(&b, "}");
	return json_write_end(&b);
}

char *net_rules_read(const struct json_at *rule, struct err *e)
{
	size_t len;

	if (json_expect(rule, JSON_OBJECT, e) < 0)
		return NULL;
	const char *source = json_source(rule, &len);
	AUTO_FREE char *text = text_format("%.*s", (int)len, source);
	if (egress_policy_check_text(text, e) < 0)
		return NULL;
	return print(rule);
}

int net_rules_insert(const struct list *rules, size_t at, const char *rule,
		     struct list *ret, struct err *e)
{
	if (at < 1 || at > rules->count + 1)
		return err_set(e, ERR_USAGE,
			       "a rule cannot get the number %zu: there are %zu rules",
			       at, rules->count);
	for (size_t i = 0; i < rules->count; i++) {
		if (i == at - 1)
			list_add(ret, rule);
		list_add(ret, rules->items[i]);
	}
	if (at == rules->count + 1)
		list_add(ret, rule);
	return 0;
}

void net_rules_remove(const struct list *rules, size_t at, struct list *ret)
{
	for (size_t i = 0; i < rules->count; i++)
		if (i != at - 1)
			list_add(ret, rules->items[i]);
}

/* Names are compared without regard to case, as rules do. */
static bool has_target(const char *rule, const char *target)
{
	AUTO_JSON struct json *doc = json_parse(rule, strlen(rule), NULL);
	struct json_at root, at;
	const char *text;

	json_root(doc, "rule", &root);
	for (size_t i = 0; doc && i < 3; i++)
		if (json_member(&root, members[i], &at))
			return json_string(&at, &text, NULL) == 0 &&
			       !strcasecmp(text, target);
	return false;
}

size_t net_rules_find(const struct list *rules, const char *target)
{
	for (size_t i = 0; i < rules->count; i++)
		if (has_target(rules->items[i], target))
			return i + 1;
	return 0;
}

int net_rules_parse(const struct list *rules, struct egress_rules *ret, struct err *e)
{
	for (size_t i = 0; i < rules->count; i++)
		if (egress_rules_add_json(ret, rules->items[i], NULL, e) < 0)
			return -1;
	return 0;
}

char *net_rules_json(const struct list *rules)
{
	AUTO_FREE char *all = rules->count ? list_join(rules, 0, ",") : text_copy("");

	return text_format("[%s]", all);
}

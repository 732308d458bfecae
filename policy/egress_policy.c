#include "policy/egress_policy.h"

#include <string.h>

#include "base/err.h"
#include "base/buffer.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/egress/egress_rules.h"
#include "policy/egress/sandbox_name.h"
#include "policy/extra_host.h"
#include "policy/policy.h"

/* Returns JSON without newlines and tabs.  They stand only between the tokens of JSON, and
 * never in a string (RFC 8259). */
static char *on_one_line(const char *json)
{
	char *line = text_copy(json);

	for (char *at = line; *at; at++)
		if (*at == '\n' || *at == '\r' || *at == '\t')
			*at = ' ';
	return line;
}

/* Returns the target of HOST=REASON, and the reason, which is NULL if there is none. */
static char *split(enum egress_verdict verdict, const char *word, const char **ret_why)
{
	const char *equals = verdict == EGRESS_DENY ? strchr(word, '=') : NULL;
	const size_t len = equals ? (size_t)(equals - word) : strlen(word);

	*ret_why = equals ? equals + 1 : NULL;
	return mem_or_abort(strndup(word, len));
}

static bool is_plain(const char *text)
{
	while (*text > ' ' && *text < 0x7f && *text != '"' && *text != '\\')
		text++;
	return !*text;
}

/* Writes what json_write would, in a fifth of its time, which counts for a launch with
 * many rules. */
static char *write_plain(const char *verdict, const char *target)
{
	char *text = mem_new(strlen(verdict) + strlen(target) + sizeof("{\"\":\"\"}"));
	char *end = stpcpy(stpcpy(text, "{\""), verdict);

	(void)stpcpy(stpcpy(stpcpy(end, "\":\""), target), "\"}");
	return text;
}

static char *write_rule(enum egress_verdict verdict, const char *target, const char *why)
{
	struct buffer b;

	if (!why && is_plain(target))
		return write_plain(egress_verdict_word(verdict), target);
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, egress_verdict_word(verdict), target);
	if (why)
		json_write_text(&b, "why", why);
	json_write_close(&b, "}");
	return json_write_end(&b);
}

char *egress_policy_text(enum egress_verdict verdict, const char *word)
{
	const char *why;

	if (*word == '{')
		return on_one_line(word);
	AUTO_FREE char *target = split(verdict, word, &why);
	return write_rule(verdict, target, why);
}

/* Returns the flag that says a rule with this verdict, allocated; NULL: none says all of
 * it. */
static char *flag_of(const char *json, enum egress_verdict verdict)
{
	static const char middle[] = "\",\"why\":\"";
	const char *word = egress_verdict_word(verdict);
	AUTO_FREE char *before = text_format("{\"%s\":\"", word);
	const size_t len = strlen(json), start = strlen(before);

	if (strncmp(json, before, start) != 0 || len <= start + strlen("\"}"))
		return NULL;
	const int rest = (int)(len - start - strlen("\"}"));
	AUTO_FREE char *value = text_format("%.*s", rest, json + start);
	char *why = strstr(value, middle);
	if (why) {
		char *text = why + strlen(middle);
		*why = '=';
		memmove(why + 1, text, strlen(text) + 1);
	}
	AUTO_FREE char *whole = egress_policy_text(verdict, value);
	return strcmp(whole, json) != 0 ? NULL : text_format("--%s %s", word, value);
}

char *egress_policy_line(const char *json)
{
	static const enum egress_verdict verdicts[] = { EGRESS_ALLOW, EGRESS_DENY,
							EGRESS_ASK };
	char *flag = NULL;

	for (size_t i = 0; !flag && i < ARRAY_LEN(verdicts); i++)
		flag = flag_of(json, verdicts[i]);
	return flag ? flag : on_one_line(json);
}

int egress_policy_check_text(const char *json, struct err *e)
{
	struct egress_rules r = { 0 };
	int result = egress_rules_add_json(&r, json, NULL, e);

	egress_rules_done(&r);
	return result;
}

/* Adds the rule that egress_policy_text() puts into JSON, without parsing that. */
static int add_word(struct egress_rules *r, enum egress_verdict verdict, const char *word,
		    struct err *e)
{
	const char *why;

	if (*word == '{')
		return egress_rules_add_json(r, word, NULL, e);
	AUTO_FREE char *target = split(verdict, word, &why);
	return egress_rules_add(
		r,
		&(struct egress_word){ .verdict = verdict, .target = target, .why = why },
		e);
}

int egress_policy_take(struct policy *p, enum egress_verdict verdict, const char *word,
		       struct err *e)
{
	AUTO_FREE char *json = egress_policy_text(verdict, word);

	if (add_word(&p->egress_rules, verdict, word, e) < 0)
		return -1;
	list_add(&p->egress, json);
	extra_host_follow(p);
	if (p->network == NETWORK_NONE && !p->has_network_flag)
		p->network = NETWORK_ALLOW;
	return 0;
}

int egress_policy_add(struct policy *p, enum egress_verdict verdict, const char *word,
		      struct err *e)
{
	if (egress_policy_take(p, verdict, word, e) == 0)
		return 0;
	AUTO_FREE char *from = text_format("--%s %s", egress_verdict_word(verdict), word);
	return err_from(e, from);
}

static int join(struct policy *p, const char *network, struct err *e)
{
	if (!sandbox_name_is_network(network)) {
		(void)err_set(e, ERR_USAGE,
			      "--network-join: '%.60s' is no name of a network", network);
		return err_remedy(e,
				  "lower-case letters, digits, - and _, at most %d bytes",
				  SANDBOX_NAME_NETWORK_MAX);
	}
	if (list_has(&p->joins, network))
		return 0;
	if (p->joins.count == SANDBOX_NAME_JOINS_MAX)
		return err_set(e, ERR_LIMIT,
			       "--network-join: a sandbox joins at most %d networks",
			       SANDBOX_NAME_JOINS_MAX);
	list_add(&p->joins, network);
	return 0;
}

int egress_policy_join(struct policy *p, const char *word, struct err *e)
{
	const char *port = strchr(word, ':');
	AUTO_FREE char *network = text_format(
		"%.*s", (int)(port ? (size_t)(port - word) : strlen(word)), word);

	if (join(p, network, e) < 0)
		return -1;
	if (port) {
		AUTO_FREE char *target =
			text_format("*.%s." SANDBOX_NAME_ZONE "%s", network, port);
		AUTO_FREE char *from = text_format("--network-join %s", word);
		AUTO_FREE char *json = egress_policy_text(EGRESS_ALLOW, target);
		if (egress_rules_add_json(&p->egress_rules, json, NULL, e) < 0) {
			(void)err_from(e, from);
			return err_remedy(e,
					  "%s:5432 is one port, %s:8000-8010 a range, "
					  "%s:* each port",
					  network, network, network);
		}
		list_add(&p->egress, json);
	}
	if (p->network == NETWORK_NONE && !p->has_network_flag)
		p->network = NETWORK_ALLOW;
	return 0;
}

int egress_policy_check_name(const struct policy *p, const char *name, struct err *e)
{
	if (!p->joins.count || sandbox_name_is_reachable(name))
		return 0;
	(void)err_set(
		e, ERR_USAGE,
		"no sandbox of a network (--network-join) could reach the name '%.100s'",
		name);
	return err_remedy(e, "such a name has lower-case letters, digits, - and _, and "
			     "does not end with -");
}

int egress_policy_check(const struct policy *p, struct err *e)
{
	if (p->egress.count && p->network != NETWORK_ALLOW) {
		(void)err_set(e, ERR_USAGE,
			      "rules about connections say nothing with --network %s",
			      policy_network_word(p));
		return err_remedy(e, "--network allow connects to what --allow and a "
				     "policy's egress name, and to nothing else");
	}
	if (p->joins.count && p->network != NETWORK_ALLOW) {
		(void)err_set(e, ERR_USAGE,
			      "--network-join needs a network of rules, and says "
			      "nothing with --network %s",
			      policy_network_word(p));
		return err_remedy(e, "leave --network out, or give --network allow");
	}
	return 0;
}

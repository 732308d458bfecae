#include "policy/egress_policy.h"

#include <string.h>

#include "base/err.h"
#include "base/buffer.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/egress/egress_rules.h"
#include "policy/policy.h"

char *egress_policy_text(enum egress_verdict verdict, const char *word)
{
	const char *why = verdict == EGRESS_DENY ? strchr(word, '=') : NULL;
	const size_t len = why ? (size_t)(why - word) : strlen(word);
	struct buffer b;

	if (*word == '{')
		return text_copy(word);
	AUTO_FREE char *target = text_format("%.*s", (int)len, word);
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, egress_verdict_word(verdict), target);
	if (why)
		json_write_text(&b, "why", why + 1);
	json_write_close(&b, "}");
	return json_write_end(&b);
}

int egress_policy_check_text(const char *json, struct err *e)
{
	struct egress_rules r = { 0 };
	int result = egress_rules_add_json(&r, json, NULL, e);

	egress_rules_done(&r);
	return result;
}

int egress_policy_add(struct policy *p, enum egress_verdict verdict, const char *word,
		      struct err *e)
{
	AUTO_FREE char *json = egress_policy_text(verdict, word);

	if (egress_policy_check_text(json, e) < 0) {
		AUTO_FREE char *from =
			text_format("--%s %s", egress_verdict_word(verdict), word);
		return err_from(e, from);
	}
	list_add(&p->egress, json);
	if (p->network == NETWORK_NONE)
		p->network = NETWORK_ALLOW;
	return 0;
}

int egress_policy_check(const struct policy *p, struct err *e)
{
	struct egress_rules r = { 0 };
	int result = 0;

	if (p->egress.count && p->network != NETWORK_ALLOW) {
		(void)err_set(e, ERR_USAGE,
			      "rules about connections say nothing with --network %s",
			      policy_network_word(p));
		return err_remedy(e, "--network allow connects to what --allow and a "
				     "policy's egress name, and to nothing else");
	}
	for (size_t i = 0; i < p->egress.count && result == 0; i++)
		result = egress_rules_add_json(&r, p->egress.items[i], NULL, e);
	egress_rules_done(&r);
	return result;
}

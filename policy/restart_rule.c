#include "policy/restart_rule.h"

#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/units.h"

static const char *const words[] = {
	[RESTART_NO] = "no",
	[RESTART_ON_FAILURE] = "on-failure",
	[RESTART_ALWAYS] = "always",
	[RESTART_UNLESS_STOPPED] = "unless-stopped",
};
_Static_assert(ARRAY_LEN(words) == RESTART_WHEN_COUNT, "a rule has no word");

/* Parses the number behind "on-failure:". */
static int parse_most(const char *text, struct restart_rule *ret, struct err *e)
{
	uint64_t most = 0;

	if (units_parse_number(text, &most, e) < 0)
		return err_in(e, "--restart on-failure");
	if (most > INT32_MAX)
		return err_set(e, ERR_USAGE,
			       "--restart on-failure takes %d at most, not '%.60s'",
			       INT32_MAX, text);
	ret->most = (uint32_t)most;
	return 0;
}

int restart_rule_parse(const char *word, struct restart_rule *ret, struct err *e)
{
	const size_t len = strcspn(word, ":");

	for (unsigned i = 0; i < RESTART_WHEN_COUNT; i++) {
		if (strlen(words[i]) != len || strncmp(words[i], word, len) != 0)
			continue;
		if (word[len] && i != RESTART_ON_FAILURE)
			break;
		*ret = (struct restart_rule){ .when = (enum restart_when)i };
		return word[len] ? parse_most(word + len + 1, ret, e) : 0;
	}
	return err_set(e, ERR_USAGE,
		       "--restart takes no, on-failure[:N], always or unless-stopped, "
		       "not '%.60s'",
		       word);
}

char *restart_rule_print(const struct restart_rule *r)
{
	return r->most ? text_format("%s:%u", words[r->when], r->most)
		       : text_copy(words[r->when]);
}

#include "policy/egress/reason.h"

#include "base/own.h"

const char *egress_reason_word(enum egress_reason reason)
{
	static const char *const words[] = {
		[EGRESS_BY_NO_RULE] = "no-rule", [EGRESS_BY_RULE] = "rule",
		[EGRESS_PORT] = "port",		 [EGRESS_PRIVATE] = "private-address",
		[EGRESS_METADATA] = "metadata",	 [EGRESS_OWN_ADDRESS] = "own-address",
		[EGRESS_NO_NAME] = "no-name",	 [EGRESS_NAME_INVALID] = "name-invalid",
		[EGRESS_SNI] = "sni-mismatch",	 [EGRESS_HOST] = "host-mismatch",
		[EGRESS_LIMIT] = "limit",	 [EGRESS_UPSTREAM] = "upstream-failed",
		[EGRESS_LOST] = "egress-lost",
	};
	_Static_assert(ARRAY_LEN(words) == EGRESS_REASONS, "a reason has no word");

	return words[reason];
}

#include "policy/egress/reason.h"

#include <assert.h>

#include "base/own.h"

static const struct {
	const char *word, *text;
} reasons[] = {
	[REASON_NONE] = { "", "the connection was allowed" },
	[REASON_NO_RULE] = { "no-rule", "no rule allows this host" },
	[REASON_RULE] = { "denied", "a rule denies this host" },
	[REASON_NOT_ANSWERED] = { "not-answered",
				  "the question was not answered with yes" },
	[REASON_PORT] = { "port", "no rule allows this port of the host" },
	[REASON_NO_NAME] = { "no-name", "the address has no name that was looked up" },
	[REASON_NAME_INVALID] = { "name-invalid", "the name is not valid" },
	[REASON_PRIVATE_ADDRESS] = { "private-address",
				     "the name leads to a private address" },
	[REASON_METADATA] = { "metadata", "the name leads to a metadata service" },
	[REASON_HOST_ADDRESS] = { "host-address",
				  "the name leads to an address of this host" },
	[REASON_SNI_MISMATCH] = { "sni-mismatch", "TLS asked for another host" },
	[REASON_SNI_MISSING] = { "sni-missing", "TLS named no host" },
	[REASON_TLS_INVALID] = { "tls-invalid", "the connection began with invalid TLS" },
	[REASON_HOST_MISMATCH] = { "host-mismatch", "HTTP asked for another host" },
	[REASON_HTTP_INVALID] = { "http-invalid", "the HTTP request is not valid" },
	[REASON_HTTP_FORBIDDEN] = { "http-forbidden",
				    "CONNECT and upgrades other than websocket are refused" },
	[REASON_LIMIT] = { "limit", "there are too many connections or new names" },
	[REASON_RULE_REMOVED] = { "rule-removed",
				  "the rule that allowed it was removed" },
	[REASON_UPSTREAM_FAILED] = { "upstream-failed", "the host could not be reached" },
	[REASON_EGRESS_LOST] = { "egress-lost", "hutch-egress has ended" },
	[REASON_UDP] = { "udp", "no UDP leaves the sandbox" },
};
static_assert(ARRAY_LEN(reasons) == REASON_COUNT, "a reason has no row");

const char *reason_word(unsigned reason)
{
	return reason < REASON_COUNT ? reasons[reason].word : "unknown";
}

const char *reason_text(unsigned reason)
{
	return reason < REASON_COUNT ? reasons[reason].text : "the reason is unknown";
}

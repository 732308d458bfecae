/* Rules and destinations: each line of the input is a rule, in JSON or as a target that
 * is allowed; the last line is a name or an address.  Rules are read back to the same,
 * bounds hold, a question agrees with connections, and no closed range is opened. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "policy/egress/egress_check.h"
#include "policy/egress/egress_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rule(const struct egress_rule *r)
{
	if (!r->text || !*r->text || !egress_rule_contains(r, r))
		abort();
	if (r->ports.low > r->ports.high || (r->ports.is_web && r->ports.low != 80))
		abort();
}

static void check_name(const struct egress_rules *r, const struct host_name *n)
{
	static const uint16_t ports[] = { 1, 22, 80, 443, 8080, 65535 };
	enum egress_lookup l = egress_rules_lookup(r, n, NULL);
	struct egress_decision d;

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		egress_rules_name(r, n, ports[i], &d);
		if (d.verdict != EGRESS_DENY && l == EGRESS_LOOKUP_REFUSED)
			abort();
		if ((d.reason == REASON_NO_RULE) != (d.rule == EGRESS_NO_RULE))
			abort();
		free(egress_rule_propose_name(n, ports[i]));
	}
}

static void check_address(const struct egress_rules *r, const struct address *a)
{
	const struct address_range *range = address_special(a);
	struct egress_decision literal, resolved;

	egress_rules_address(r, a, 443, &literal);
	egress_rules_resolved(r, a, 443, &resolved);
	if (range && range->kind == ADDRESS_CLOSED &&
	    (literal.verdict != EGRESS_DENY || resolved.verdict != EGRESS_DENY))
		abort();
	if (range && range->kind == ADDRESS_METADATA && resolved.verdict != EGRESS_DENY)
		abort();
	if (literal.verdict != EGRESS_DENY && literal.reason != REASON_RULE)
		abort();
}

static void check_all(const struct egress_rules *r, const char *destination)
{
	struct egress_warning *w = NULL;
	struct host_name n;
	struct address a;

	if (r->count > EGRESS_RULES_MAX || r->port_count > EGRESS_PORTS_MAX)
		abort();
	for (size_t i = 0; i < r->count; i++)
		check_rule(&r->items[i]);
	size_t count = egress_rules_check(r, &w);
	for (size_t i = 0; i < count; i++)
		free(egress_warning_text(r, &w[i]));
	free(w);
	if (!host_name_read(&n, destination, strlen(destination)))
		check_name(r, &n);
	if (address_parse(destination, strlen(destination), &a))
		check_address(r, &a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct egress_rules r = { 0 };
	char *text = calloc(size + 1, 1), *line = text, *end;
	struct err e;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	for (; (end = strchr(line, '\n')); line = end + 1) {
		struct egress_word word = { .verdict = EGRESS_ALLOW, .target = line };
		*end = '\0';
		if (*line == '{')
			(void)egress_rules_add_json(&r, line, "fuzz", &e);
		else
			(void)egress_rules_add(&r, &word, &e);
	}
	check_all(&r, line);
	while (r.count)
		egress_rules_remove(&r, r.count / 2);
	egress_rules_done(&r);
	free(text);
	return 0;
}

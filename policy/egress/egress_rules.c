#include "policy/egress/egress_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/egress/egress_presets.h"

static void free_rules(struct egress_rule *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		egress_rule_done(&items[i]);
	free(items);
}

void egress_rules_reserve(struct egress_rules *r, size_t count)
{
	if (count > EGRESS_RULES_MAX)
		count = EGRESS_RULES_MAX;
	if (count <= r->room)
		return;
	r->items = mem_resize(r->items, count, sizeof(*r->items));
	r->room = count;
}

void egress_rules_done(struct egress_rules *r)
{
	if (!r)
		return;
	free_rules(r->items, r->count);
	*r = (struct egress_rules){ 0 };
}

/* --- ports ------------------------------------------------------------------------ */

static void add_port(struct egress_rules *r, uint16_t port)
{
	size_t at = 0;

	while (at < r->port_count && r->ports[at] < port)
		at++;
	if (at < r->port_count && r->ports[at] == port)
		return;
	if (r->port_count == EGRESS_PORTS_MAX) {
		r->has_all_ports = true;
		return;
	}
	memmove(&r->ports[at + 1], &r->ports[at],
		(r->port_count++ - at) * sizeof(r->ports[0]));
	r->ports[at] = port;
}

/* Adds the ports that need a listener because of the rule. */
static void add_ports(struct egress_rules *r, const struct egress_rule *rule)
{
	const struct egress_ports *p = &rule->ports;

	if (rule->verdict == EGRESS_DENY)
		return;
	if (egress_ports_are_all(p))
		r->has_all_ports = true;
	if (p->is_web) {
		add_port(r, p->low);
		add_port(r, p->high);
		return;
	}
	/* It ends after EGRESS_PORTS_MAX ports, since those are all that fit. */
	for (unsigned int port = p->low; port <= p->high && !r->has_all_ports; port++)
		add_port(r, (uint16_t)port);
}

static void count_ports_anew(struct egress_rules *r)
{
	r->port_count = 0;
	r->has_all_ports = false;
	for (size_t i = 0; i < r->count; i++)
		add_ports(r, &r->items[i]);
}

/* --- adding and removing ---------------------------------------------------------- */

static int check_why(const char *why, struct err *e)
{
	if (strlen(why) > EGRESS_WHY_MAX)
		return err_set(e, ERR_LIMIT, "a reason has at most %d bytes",
			       EGRESS_WHY_MAX);
	for (; *why; why++)
		if ((unsigned char)*why < ' ' || *why == 0x7f)
			return err_set(e, ERR_USAGE,
				       "a reason is one line without control characters");
	return 0;
}

static int make_rule(struct egress_rule *ret, const struct egress_word *word,
		     const char *target, struct err *e)
{
	if (egress_rule_parse(ret, word->verdict, target, e) < 0)
		return -1;
	if (word->as && egress_rule_rename(ret, word->as, e) < 0) {
		egress_rule_done(ret);
		return -1;
	}
	ret->has_any_tls = word->has_any_tls;
	ret->why = word->why ? text_copy(word->why) : NULL;
	ret->from = word->from ? text_copy(word->from) : NULL;
	return 0;
}

static int check_count(size_t count, struct err *e)
{
	return count > EGRESS_RULES_MAX
		       ? err_set(e, ERR_LIMIT, "there are more than %d rules",
				 EGRESS_RULES_MAX)
		       : 0;
}

/* Puts rules before the rule `at`, and takes over what they own. */
static void put(struct egress_rules *r, size_t at, const struct egress_rule *added,
		size_t count)
{
	if (r->count + count > r->room) {
		r->room = 2 * r->room + count;
		r->items = mem_resize(r->items, r->room, sizeof(*r->items));
	}
	memmove(&r->items[at + count], &r->items[at],
		(r->count - at) * sizeof(*r->items));
	memcpy(&r->items[at], added, count * sizeof(*added));
	r->count += count;
}

/* Puts the new rules before the rule `at`, if all are within the bounds. */
static int splice(struct egress_rules *r, size_t at, const struct egress_rule *added,
		  size_t count, struct err *e)
{
	struct egress_rules after = *r;

	if (check_count(r->count + count, e) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		add_ports(&after, &added[i]);
	put(&after, at, added, count);
	*r = after;
	return 0;
}

static bool is_preset(const char *target)
{
	/* "@host:PORT" is a target itself. */
	return *target == '@' && strncmp(target, "@host:", 6) != 0 &&
	       strcmp(target, "@host") != 0;
}

/* Gives the targets of the preset for which the word stands. */
static int expand(const struct egress_word *word, struct list *ret, struct err *e)
{
	const char *preset = word->target + 1;

	if (strchr(preset, ':')) {
		(void)err_set(e, ERR_USAGE, "'%.100s': a preset has its own ports",
			      word->target);
		return err_remedy(e, "@%.*s is the rule", (int)strcspn(preset, ":"),
				  preset);
	}
	return egress_preset_targets(preset, ret, e);
}

/* Makes the rules of a preset in `ret`, which has room for them. */
static int make_all(const struct egress_word *word, const struct list *targets,
		    struct egress_rule *ret, struct err *e)
{
	for (size_t i = 0; i < targets->count; i++) {
		if (make_rule(&ret[i], word, targets->items[i], e) < 0)
			return -1;
		AUTO_FREE char *text =
			text_format("%s (%s)", targets->items[i], word->target);
		egress_rule_set_text(&ret[i], text);
	}
	return 0;
}

static int insert_preset(struct egress_rules *r, size_t at,
			 const struct egress_word *word, struct err *e)
{
	struct list targets = { 0 };
	int result = expand(word, &targets, e);
	struct egress_rule *added = mem_zeroed(targets.count, sizeof(*added));

	if (result == 0)
		result = make_all(word, &targets, added, e);
	if (result == 0 && targets.count)
		result = splice(r, at, added, targets.count, e);
	if (result == 0)
		free(added);
	else
		free_rules(added, targets.count);
	list_done(&targets);
	return result;
}

static int insert(struct egress_rules *r, size_t at, const struct egress_word *word,
		  struct err *e)
{
	struct egress_rule one;

	if (word->why && check_why(word->why, e) < 0)
		return -1;
	if (is_preset(word->target))
		return insert_preset(r, at, word, e);
	if (make_rule(&one, word, word->target, e) < 0)
		return -1;
	if (splice(r, at, &one, 1, e) == 0)
		return 0;
	egress_rule_done(&one);
	return -1;
}

int egress_rules_insert(struct egress_rules *r, size_t at, const struct egress_word *word,
			struct err *e)
{
	if (at > r->count)
		at = r->count;
	return insert(r, at, word, e) < 0 ? err_from(e, word->from) : 0;
}

int egress_rules_add(struct egress_rules *r, const struct egress_word *word,
		     struct err *e)
{
	return egress_rules_insert(r, r->count, word, e);
}

void egress_rules_remove(struct egress_rules *r, size_t at)
{
	if (at >= r->count)
		return;
	egress_rule_done(&r->items[at]);
	memmove(&r->items[at], &r->items[at + 1], (--r->count - at) * sizeof(*r->items));
	count_ports_anew(r);
}

/* --- decisions -------------------------------------------------------------------- */

/* A name, or an address; the other is NULL. */
struct destination {
	const struct host_name *name;
	const struct address *address;
};

static bool is_about(const struct egress_rule *r, const struct destination *d)
{
	return d->name ? egress_rule_has_name(r, d->name)
		       : egress_rule_has_address(r, d->address);
}

/* Finds the first rule about the destination and the port. */
static void judge(const struct egress_rules *r, const struct destination *d,
		  uint16_t port, struct egress_decision *ret)
{
	*ret = (struct egress_decision){ EGRESS_DENY, REASON_NO_RULE, EGRESS_NO_RULE };
	for (size_t i = 0; i < r->count; i++) {
		const struct egress_rule *rule = &r->items[i];
		if (!is_about(rule, d))
			continue;
		if (egress_ports_have(&rule->ports, port)) {
			*ret = (struct egress_decision){ rule->verdict, REASON_RULE, i };
			return;
		}
		if (ret->rule == EGRESS_NO_RULE && rule->verdict != EGRESS_DENY) {
			ret->reason = REASON_PORT;
			ret->rule = i;
		}
	}
}

void egress_rules_name(const struct egress_rules *r, const struct host_name *name,
		       uint16_t port, struct egress_decision *ret)
{
	judge(r, &(struct destination){ .name = name }, port, ret);
}

/* Judges one address, without the ones inside of it. */
static void judge_resolved(const struct egress_rules *r, const struct address *a,
			   uint16_t port, struct egress_decision *ret)
{
	const struct address_range *range = address_range_of(a);
	const bool is_metadata = range && range->kind == ADDRESS_METADATA;

	judge(r, &(struct destination){ .address = a }, port, ret);
	if (ret->reason == REASON_RULE && !(is_metadata && ret->verdict != EGRESS_DENY))
		return;
	*ret = (struct egress_decision){ EGRESS_ALLOW, REASON_NO_RULE, EGRESS_NO_RULE };
	if (range) {
		ret->verdict = EGRESS_DENY;
		ret->reason = is_metadata ? REASON_METADATA : REASON_PRIVATE_ADDRESS;
	}
}

static bool is_stricter(enum egress_verdict a, enum egress_verdict b)
{
	return b != EGRESS_DENY && (a == EGRESS_DENY || (a == EGRESS_ASK && b != a));
}

/* Makes the decision as strict as that about each IPv4 address inside the address. */
static void judge_inner(const struct egress_rules *r, const struct address *a,
			uint16_t port, struct egress_decision *ret)
{
	struct address inner[ADDRESS_INNER_MAX];
	const size_t count = address_inner(a, inner);

	for (size_t i = 0; i < count; i++) {
		struct egress_decision d;
		judge_resolved(r, &inner[i], port, &d);
		if (is_stricter(d.verdict, ret->verdict))
			*ret = d;
	}
}

void egress_rules_resolved(const struct egress_rules *r, const struct address *a,
			   uint16_t port, struct egress_decision *ret)
{
	judge_resolved(r, a, port, ret);
	judge_inner(r, a, port, ret);
}

void egress_rules_address(const struct egress_rules *r, const struct address *a,
			  uint16_t port, struct egress_decision *ret)
{
	const struct address_range *range = address_range_of(a);

	judge(r, &(struct destination){ .address = a }, port, ret);
	if (ret->reason == REASON_NO_RULE && range && range->kind == ADDRESS_METADATA)
		ret->reason = REASON_METADATA;
	judge_inner(r, a, port, ret);
}

/* --- questions for names ---------------------------------------------------------- */

/* A set of ports, one bit each. */
struct port_set {
	uint64_t words[(UINT16_MAX + 1) / 64];
};

/* Adds the ports, and returns whether one of them was not in the set. */
static bool add_range(struct port_set *s, unsigned int low, unsigned int high)
{
	bool is_news = false;

	for (unsigned int at = low / 64; at <= high / 64; at++) {
		uint64_t mask = UINT64_MAX;
		if (at == low / 64)
			mask &= UINT64_MAX << low % 64;
		if (at == high / 64)
			mask &= UINT64_MAX >> (63 - high % 64);
		is_news |= (mask & ~s->words[at]) != 0;
		s->words[at] |= mask;
	}
	return is_news;
}

static bool add_to_set(struct port_set *s, const struct egress_ports *p)
{
	if (!p->is_web)
		return add_range(s, p->low, p->high);
	bool has_low = add_range(s, p->low, p->low);
	return add_range(s, p->high, p->high) || has_low;
}

static enum egress_lookup lookup_by(const struct egress_rule *r)
{
	bool is_exact = r->kind == EGRESS_NAME || r->kind == EGRESS_LOOPBACK;

	if (r->verdict == EGRESS_DENY)
		return EGRESS_LOOKUP_REFUSED;
	return r->verdict == EGRESS_ALLOW && is_exact ? EGRESS_LOOKUP_ALLOWED
						      : EGRESS_LOOKUP_ASKED;
}

/* A rule counts if it decides for a port at least: each rule takes its ports from those
 * behind it, and the first rule about all ports is the last one that counts. */
enum egress_lookup egress_rules_lookup(const struct egress_rules *r,
				       const struct host_name *name,
				       struct egress_decision *ret)
{
	struct egress_decision d = { EGRESS_DENY, REASON_NO_RULE, EGRESS_NO_RULE };
	enum egress_lookup best = EGRESS_LOOKUP_REFUSED;
	struct port_set taken = { .words[0] = 1 }; /* no connection has port 0 */

	for (size_t i = 0; i < r->count; i++) {
		const struct egress_rule *rule = &r->items[i];
		if (!egress_rule_has_name(rule, name) ||
		    !add_to_set(&taken, &rule->ports))
			continue;
		enum egress_lookup found = lookup_by(rule);
		if (d.rule == EGRESS_NO_RULE || found > best)
			d = (struct egress_decision){ rule->verdict, REASON_RULE, i };
		if (found > best)
			best = found;
		if (egress_ports_are_all(&rule->ports) || best == EGRESS_LOOKUP_ALLOWED)
			break;
	}
	if (ret)
		*ret = d;
	return best;
}

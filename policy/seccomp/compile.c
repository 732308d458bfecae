#include "policy/seccomp/compile.h"

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/seccomp/bpf.h"
#include "policy/seccomp/call_number.h"
#include "policy/seccomp/profile.h"

/* An entry for the call `nr`: either a row of the floor or a rule of the profile. */
struct entry {
	uint32_t nr;
	const struct floor_row *row;
	const struct profile_rule *rule;
};

struct entries {
	struct entry *list; /* owned; the statements */
	size_t count;
};

/* All entries for one call, whose code is being written. */
struct call {
	const struct floor_row *row; /* the floor's row for the call, or NULL */
	const struct entry *entries; /* the profile's rules for the call, strictest
				      * first */
	size_t count;
	uint32_t otherwise; /* the action if no rule matches */
};

/* Ranks actions as the kernel does (seccomp(2)): the smaller an action is as a signed
 * number, the stricter it is. */
static int32_t leniency(uint32_t action)
{
	return (int32_t)(action & SECCOMP_RET_ACTION_FULL);
}

/* Orders entries by call number; for one call the floor comes first, then the rules
 * from the strictest on, equally strict ones in the order of the file. */
static int by_number(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr > y->nr ? 1 : -1;
	if (x->row || y->row)
		return x->row ? -1 : 1;

	const int32_t lx = leniency(x->rule->action), ly = leniency(y->rule->action);
	if (lx != ly)
		return lx > ly ? 1 : -1;
	return (x->rule > y->rule) - (x->rule < y->rule);
}

/* Adds the rows of this floor. */
static void add_floor(enum floor_kind kind, enum arch arch, struct entries *all)
{
	size_t count;
	const struct floor_row *rows = floor_rows(&count);

	for (size_t i = 0; i < count; i++)
		if (floor_has(kind, &rows[i]))
			all->list[all->count++] =
				(struct entry){ .nr = rows[i].nr[arch], .row = &rows[i] };
}

static int add_rule(const struct profile *p, const struct profile_rule *rule,
		    enum arch arch, struct entries *all, struct err *e)
{
	const int nr = call_number(arch, rule->name);

	if (nr >= 0)
		all->list[all->count++] =
			(struct entry){ .nr = (uint32_t)nr, .rule = rule };
	else if (nr == CALL_UNKNOWN &&
		 leniency(rule->action) < leniency(p->default_action))
		return err_set(
			e, ERR_USAGE,
			"profile.syscalls[%zu]: no call '%.64s' is known here, so that "
			"it can't be refused",
			rule->block, rule->name);
	return 0;
}

static int collect(const struct profile *p, enum arch arch, struct entries *ret,
		   struct err *e)
{
	size_t rows;

	(void)floor_rows(&rows); /* only the number of rows is needed */
	ret->list = mem_zeroed(p->count + rows, sizeof(struct entry));
	add_floor(p->floor, arch, ret);
	for (size_t i = 0; i < p->count; i++)
		if (add_rule(p, &p->rules[i], arch, ret, e))
			return -1;
	qsort(ret->list, ret->count, sizeof(struct entry), by_number);
	return 0;
}

/* low_word() and high_word() return the offsets of the two halves of a 64-bit argument;
 * both architectures are little-endian. */
static uint32_t low_word(unsigned arg)
{
	return (uint32_t)offsetof(struct seccomp_data, args) + 8 * arg;
}

static uint32_t high_word(unsigned arg)
{
	return low_word(arg) + 4;
}

/* The labels of the instructions that follow a test. */
struct exits {
	size_t yes, no;
};

/* A test: (the word at `offset` & mask) == value. */
struct word {
	uint32_t offset, mask, value;
};

static bool is_one_bit(uint32_t mask)
{
	return mask && !(mask & (mask - 1));
}

static size_t write_word(struct bpf *b, const struct word *w, struct exits to)
{
	size_t at;

	if (!w->mask)
		return to.yes;
	if (w->mask == UINT32_MAX)
		at = bpf_jump(b, BPF_JEQ, w->value, to.yes, to.no);
	else if (!w->value)
		at = bpf_jump(b, BPF_JSET, w->mask, to.no, to.yes);
	else if (is_one_bit(w->mask))
		at = bpf_jump(b, BPF_JSET, w->mask, to.yes, to.no);
	else
		at = bpf_and(b, w->mask, bpf_jump(b, BPF_JEQ, w->value, to.yes, to.no));
	return bpf_load(b, w->offset, at);
}

static size_t write_equal(struct bpf *b, const struct profile_test *t, struct exits to)
{
	const struct word low = { low_word(t->arg), (uint32_t)t->mask,
				  (uint32_t)t->value };
	const struct word high = { high_word(t->arg), (uint32_t)(t->mask >> 32),
				   (uint32_t)(t->value >> 32) };
	const size_t then = write_word(b, &low, to);

	return write_word(b, &high, (struct exits){ then, to.no });
}

/* Writes a comparison of a 64-bit argument.  If the high halves are equal, the low
 * halves are compared by `op`, which is BPF_JGT or BPF_JGE. */
static size_t write_greater(struct bpf *b, const struct profile_test *t, uint16_t op,
			    struct exits to)
{
	const uint32_t high = (uint32_t)(t->value >> 32);
	size_t at = bpf_jump(b, op, (uint32_t)t->value, to.yes, to.no);

	at = bpf_load(b, low_word(t->arg), at);
	at = bpf_jump(b, BPF_JEQ, high, at, to.no);
	at = bpf_jump(b, BPF_JGT, high, to.yes, at);
	return bpf_load(b, high_word(t->arg), at);
}

static size_t write_test(struct bpf *b, const struct profile_test *t, struct exits to)
{
	const struct exits turned = { to.no, to.yes };

	switch (t->op) {
	case OP_EQ:
	case OP_MASKED_EQ:
		return write_equal(b, t, to);
	case OP_NE:
		return write_equal(b, t, turned);
	case OP_GT:
		return write_greater(b, t, BPF_JGT, to);
	case OP_GE:
		return write_greater(b, t, BPF_JGE, to);
	case OP_LE:
		return write_greater(b, t, BPF_JGT, turned);
	case OP_LT:
		return write_greater(b, t, BPF_JGE, turned);
	case OP_COUNT:
		break;
	}
	abort();
}

static bool is_same(const struct profile_test *a, const struct profile_test *b)
{
	return a->arg == b->arg && a->op == b->op && a->value == b->value &&
	       a->mask == b->mask;
}

/* Returns how many rules at the end of `entries` have the same test at index `depth`,
 * so that this test can be written once for all of them.  The code for tests before
 * `depth` is common to them already.  A rule without a test at `depth` is returned
 * alone. */
static size_t tail_of_same(const struct entry *entries, size_t count, size_t depth)
{
	const struct profile_rule *last = entries[count - 1].rule;
	size_t same = 1;

	if (last->test_count <= depth)
		return 1;
	while (same < count) {
		const struct profile_rule *rule = entries[count - 1 - same].rule;

		if (rule->test_count <= depth ||
		    !is_same(&rule->tests[depth], &last->tests[depth]))
			break;
		same++;
	}
	return same;
}

/* Writes code that tries the rules in their order, strictest first, and continues at
 * `next` if none matches.  The last rule is written first, since bpf.h writes
 * backwards. */
static size_t write_rules(struct bpf *b, const struct call *c, size_t depth, size_t next)
{
	for (size_t left = c->count; left > 0;) {
		const size_t same = tail_of_same(c->entries, left, depth);
		const struct call tail = { .entries = c->entries + left - same,
					   .count = same };
		const struct profile_rule *rule = tail.entries[0].rule;

		left -= same;
		if (rule->test_count <= depth) {
			next = bpf_ret(b, rule->action);
			continue;
		}
		const struct exits to = { write_rules(b, &tail, depth + 1, next), next };
		next = write_test(b, &rule->tests[depth], to);
	}
	return next;
}

static struct bpf_target write_call(struct bpf *b, const struct call *c)
{
	struct bpf_target target = { .ret = c->otherwise };

	if (c->count)
		target.label = write_rules(b, c, 0, bpf_ret(b, c->otherwise));
	return c->row ? floor_guard(b, c->row, target) : target;
}

/* Returns the entries for one call.  Rules after the first one without a condition are
 * left out: they are no stricter, and would never be reached. */
static struct call call_of(const struct entry *first, size_t count, uint32_t otherwise)
{
	struct call c = { .row = first->row, .otherwise = otherwise };
	const size_t rules = c.row ? count - 1 : count;

	c.entries = c.row ? first + 1 : first;
	while (c.count < rules && c.entries[c.count].rule->test_count)
		c.count++;
	if (c.count < rules)
		c.otherwise = c.entries[c.count].rule->action;
	while (c.count && c.entries[c.count - 1].rule->action == c.otherwise)
		c.count--;
	return c;
}

static bool is_ret(const struct bpf_range *r, uint32_t ret)
{
	return !r->target.label && r->target.ret == ret;
}

/* Appends a range, or extends the last one if both lead to the same action. */
static size_t put_range(struct bpf_range *ranges, size_t n, struct bpf_range next)
{
	if (n && !next.target.label && is_ret(&ranges[n - 1], next.target.ret))
		return n;
	ranges[n] = next;
	return n + 1;
}

/* Writes the code for all calls, and fills `ranges` for the search by call number.
 * Numbers without an entry get the action `otherwise`.  `ranges` has room for two rows
 * for each entry, and one more. */
static size_t write_calls(struct bpf *b, const struct entries *all, uint32_t otherwise,
			  struct bpf_range *ranges)
{
	const struct bpf_target unsaid = { .ret = otherwise };
	uint32_t end = 0;
	size_t n = 0;

	for (size_t i = 0, same; i < all->count; i += same) {
		const struct entry *first = all->list + i;

		for (same = 1; i + same < all->count && first[same].nr == first->nr;)
			same++;

		const struct call c = call_of(first, same, otherwise);
		if (first->nr > end)
			n = put_range(ranges, n, (struct bpf_range){ end, unsaid });
		n = put_range(ranges, n,
			      (struct bpf_range){ first->nr, write_call(b, &c) });
		end = first->nr + 1;
	}
	return put_range(ranges, n, (struct bpf_range){ end, unsaid });
}

int compile_profile(const struct profile *p, enum arch arch, struct bpf *b, struct err *e)
{
	struct entries all = { 0 };

	if (collect(p, arch, &all, e)) {
		free(all.list);
		return -1;
	}
	AUTO_FREE struct bpf_range *ranges =
		mem_zeroed(2 * all.count + 1, sizeof(*ranges));

	const size_t count = write_calls(b, &all, p->default_action, ranges);

	floor_enter(b, arch, bpf_search(b, ranges, count));
	free(all.list);
	if (!bpf_fits(b))
		return err_set(e, ERR_LIMIT,
			       "the profile makes %zu instructions; the kernel takes %d",
			       b->count, BPF_MAXINSNS);
	return 0;
}

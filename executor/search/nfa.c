#include "executor/search/nfa.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "executor/search/charset.h"
#include "executor/search/pattern.h"

/* --- steps ------------------------------------------------------------------ */

/* Steps are made from the end of the pattern to its beginning, since each step holds the
 * number of the next one. When NFA_MAX steps are stored, `is_full` is set, and no
 * further step is stored. */
struct builder {
	struct nfa *p;
	const struct pattern *from;
	uint32_t *sets; /* owned; for each node of the pattern, 1 plus the index in
			 * p->sets of its set; 0: no set was made */
	bool is_full;
};

static uint32_t add_step(struct builder *m, struct nfa_step step)
{
	struct nfa *p = m->p;

	if (p->count == NFA_MAX) {
		m->is_full = true;
		return 0;
	}
	if (p->count == p->room) {
		p->room = p->room ? 2 * p->room : 64;
		p->steps = mem_resize(p->steps, p->room, sizeof(*p->steps));
	}
	p->steps[p->count] = step;
	return p->count++;
}

static uint32_t add_split(struct builder *m, uint32_t next, uint32_t other)
{
	return add_step(m, (struct nfa_step){ .op = NFA_SPLIT, .next = next,
						  .other = other });
}

static uint32_t add_place(struct builder *m, enum pattern_kind place, uint32_t next)
{
	return add_step(m, (struct nfa_step){ .op = NFA_PLACE,
						  .place = (uint8_t)place,
						  .next = next });
}

/* Adds a step for a range of bytes, or returns an equal one among the last 64 steps: the
 * last bytes of most UTF-8 characters have the same range. */
static uint32_t add_range(struct builder *m, uint32_t since, struct nfa_step step)
{
	struct nfa *p = m->p;
	uint32_t from = p->count > since + 64 ? p->count - 64 : since;

	step.op = NFA_RANGE;
	for (uint32_t i = from; i < p->count; i++) {
		const struct nfa_step *s = &p->steps[i];
		if (s->op == NFA_RANGE && s->low == step.low &&
		    s->high == step.high && s->next == step.next)
			return i;
	}
	return add_step(m, step);
}

/* --- characters ------------------------------------------------------------- */

struct sequences {
	struct builder *m;
	uint32_t next, since;
	uint32_t alternatives; /* the step from which all alternatives so far are
			        * reached */
	bool has_any;
};

static void add_alternative(struct sequences *s, uint32_t step)
{
	s->alternatives = s->has_any ? add_split(s->m, step, s->alternatives) : step;
	s->has_any = true;
}

/* Adds a range of characters that is exactly a sequence of byte ranges: any combination
 * of bytes in these ranges is a character of the range. */
static void add_box(struct sequences *s, struct charset_range r)
{
	uint8_t low[4], high[4];
	int len = charset_encode(r.first, low);
	uint32_t step = s->next;

	(void)charset_encode(r.last, high); /* r.last is as long in UTF-8 as r.first,
					     * since cut_of() found no place to cut */
	for (int i = len - 1; i >= 0; i--)
		step = add_range(s->m, s->since, (struct nfa_step){
			.low = low[i], .high = high[i], .next = step });
	add_alternative(s, step);
}

/* Returns the character in front of which a range must be cut, so that in the end each
 * part is a sequence of byte ranges (add_box()): where the length in UTF-8 changes, or
 * where a continuation byte wraps around. 0: the range need not be cut. */
static uint32_t cut_of(struct charset_range r)
{
	static const uint32_t lasts[] = { 0x7f, 0x7ff, 0xffff };

	for (size_t i = 0; i < 3; i++)
		if (r.first <= lasts[i] && r.last > lasts[i])
			return lasts[i] + 1;
	for (unsigned bits = 6; bits <= 18 && r.first >= 0x80; bits += 6) {
		uint32_t mask = (1u << bits) - 1;
		if ((r.first & ~mask) == (r.last & ~mask))
			continue;
		if (r.first & mask)
			return (r.first | mask) + 1;
		if ((r.last & mask) != mask)
			return r.last & ~mask;
	}
	return 0;
}

/* Adds a range of characters, cut into sequences of byte ranges. There are at most seven
 * cuts on each side, so the recursion is shallow. */
static void add_range_of_codepoints(struct sequences *s, struct charset_range r)
{
	uint32_t cut = cut_of(r);

	if (cut == 0)
		return add_box(s, r);
	add_range_of_codepoints(s, (struct charset_range){ r.first, cut - 1 });
	add_range_of_codepoints(s, (struct charset_range){ cut, r.last });
}

static void set_bits(struct nfa_set *to, const struct charset *from)
{
	for (size_t i = 0; i < from->count; i++)
		for (uint32_t c = from->ranges[i].first;
		     c <= from->ranges[i].last && c < 128; c++)
			to->bits[c >> 6] |= (uint64_t)1 << (c & 63);
}

/* Returns the index of the byte set with the ASCII characters of `from`. The set of a
 * node is made only once, even if the node is repeated. */
static uint32_t set_number(struct builder *m, uint32_t node, const struct charset *from)
{
	struct nfa *p = m->p;

	if (m->sets[node] != 0)
		return m->sets[node] - 1;
	if (p->set_count == p->set_room) {
		p->set_room = p->set_room ? 2 * p->set_room : 8;
		p->sets = mem_resize(p->sets, p->set_room, sizeof(*p->sets));
	}
	p->sets[p->set_count] = (struct nfa_set){ 0 };
	set_bits(&p->sets[p->set_count], from);
	m->sets[node] = ++p->set_count;
	return p->set_count - 1;
}

static uint32_t make_set(struct builder *m, uint32_t node, uint32_t next)
{
	const struct charset *set = pattern_node(m->from, node)->set;
	struct sequences s = { .m = m, .next = next, .since = m->p->count };

	for (size_t i = 0; i < set->count && !m->is_full; i++) {
		struct charset_range r = set->ranges[i];
		if (r.first < 0x80)
			r.first = 0x80;
		if (r.first <= r.last)
			add_range_of_codepoints(&s, r);
	}
	if (set->count > 0 && set->ranges[0].first < 0x80)
		add_alternative(&s, add_step(m, (struct nfa_step){
							.op = NFA_SET,
							.set = set_number(m, node, set),
							.next = next }));
	return s.has_any ? s.alternatives
			 : add_step(m, (struct nfa_step){ .op = NFA_FAIL });
}

/* --- parts ------------------------------------------------------------------ */

static uint32_t make(struct builder *m, uint32_t node, uint32_t next);

static uint32_t make_choice(struct builder *m, uint32_t last, uint32_t next)
{
	uint32_t made = make(m, last, next);

	for (uint32_t at = pattern_node(m->from, last)->before; at != 0 && !m->is_full;
	     at = pattern_node(m->from, at)->before)
		made = add_split(m, make(m, at, next), made);
	return made;
}

/* Makes the steps of a repetition without an upper limit: a loop. `once`: the repeated
 * part must match at least once. */
static uint32_t make_loop(struct builder *m, uint32_t node, uint32_t next, bool once)
{
	uint32_t loop = add_split(m, 0, next);
	uint32_t body = make(m, node, loop);

	if (m->is_full)
		return 0;
	m->p->steps[loop].next = body;
	return once ? body : loop;
}

static uint32_t make_repeat(struct builder *m, const struct pattern_node *n,
			    uint32_t next)
{
	uint32_t made = next, min = n->min;

	if (n->max == PATTERN_ENDLESS) {
		made = make_loop(m, n->last, next, min > 0);
		min -= min > 0;
	}
	for (uint32_t i = n->min; n->max != PATTERN_ENDLESS && i < n->max && !m->is_full;
	     i++)
		made = add_split(m, make(m, n->last, made), next);
	/* If a repeated part adds no steps, since it is empty, its repetition is
	 * pointless. Without this check (((){9}){9}){9} would take long. */
	for (uint32_t i = 0, after; i < min && !m->is_full; i++, made = after)
		if ((after = make(m, n->last, made)) == made)
			break;
	return made;
}

/* Makes the steps for `$`, which also matches in front of a carriage return that ends
 * the line. */
static uint32_t make_line_end(struct builder *m, uint32_t next)
{
	uint32_t end = add_place(m, PATTERN_LINE_END, next);
	uint32_t with = add_step(m, (struct nfa_step){
		.op = NFA_RANGE, .low = '\r', .high = '\r', .next = end });

	return add_split(m, with, end);
}

static uint32_t make_place(struct builder *m, enum pattern_kind kind, uint32_t next)
{
	m->p->has_edges |= kind == PATTERN_WORD_EDGE || kind == PATTERN_NO_EDGE;
	return kind == PATTERN_LINE_END ? make_line_end(m, next) :
					  add_place(m, kind, next);
}

static uint32_t make_cat(struct builder *m, uint32_t last, uint32_t next)
{
	for (uint32_t at = last; at != 0 && !m->is_full;
	     at = pattern_node(m->from, at)->before)
		next = make(m, at, next);
	return next;
}

static uint32_t make(struct builder *m, uint32_t node, uint32_t next)
{
	const struct pattern_node *n = pattern_node(m->from, node);

	if (n->kind == PATTERN_EMPTY)
		return next;
	if (n->kind == PATTERN_SET)
		return make_set(m, node, next);
	if (n->kind == PATTERN_CAT)
		return make_cat(m, n->last, next);
	if (n->kind == PATTERN_ALT)
		return make_choice(m, n->last, next);
	if (n->kind == PATTERN_REPEAT)
		return make_repeat(m, n, next);
	return make_place(m, n->kind, next);
}

/* --- classes ---------------------------------------------------------------- */

/* Splits every byte class into the bytes that are in `has` and those that are not. */
static void refine(struct nfa *p, const struct nfa_set *has)
{
	int16_t in[256], out[256];
	uint32_t count = 0;

	for (int i = 0; i < 256; i++)
		in[i] = out[i] = -1;
	for (int c = 0; c < 256; c++) {
		int16_t *side = nfa_set_has(has, (uint8_t)c) ? in : out;
		int16_t *class = &side[p->classes[c]];
		if (*class < 0)
			*class = (int16_t)count++;
		p->classes[c] = (uint8_t)*class;
	}
	p->class_count = count;
}

static void add_bytes(struct nfa_set *s, int low, int high)
{
	for (int c = low; c <= high; c++)
		s->bits[c >> 6] |= (uint64_t)1 << (c & 63);
}

static void refine_range(struct nfa *p, int low, int high)
{
	struct nfa_set s = { 0 };

	add_bytes(&s, low, high);
	refine(p, &s);
}

static void refine_words(struct nfa *p)
{
	struct nfa_set s = { 0 };

	for (int c = 0; c < 256; c++)
		if (nfa_is_word((uint8_t)c))
			add_bytes(&s, c, c);
	refine(p, &s);
}

/* Divides the 256 byte values into classes; no step treats two bytes of a class
 * differently. The ranges of bytes that were seen are noted, since many steps have the
 * same range. */
static void classify(struct nfa *p)
{
	uint64_t seen[65536 / 64] = { 0 };

	refine_range(p, '\n', '\n');
	if (p->has_edges)
		refine_words(p);
	for (uint32_t i = 0; i < p->set_count; i++)
		refine(p, &p->sets[i]);
	for (uint32_t i = 0; i < p->count; i++) {
		const struct nfa_step *s = &p->steps[i];
		unsigned key = s->op == NFA_RANGE ? s->low * 256u + s->high : 0;
		if (s->op != NFA_RANGE || (seen[key / 64] >> (key % 64) & 1))
			continue;
		seen[key / 64] |= (uint64_t)1 << (key % 64);
		refine_range(p, s->low, s->high);
	}
}

int nfa_init(struct nfa *p, const struct pattern *from, struct err *e)
{
	struct builder m = { .p = p, .from = from };

	*p = (struct nfa){ 0 };
	m.sets = mem_zeroed(pattern_count(from), sizeof(*m.sets));
	uint32_t match = add_step(&m, (struct nfa_step){ .op = NFA_MATCH });
	p->start = make(&m, pattern_root(from), match);
	free(m.sets);
	if (m.is_full) {
		nfa_done(p);
		return err_set(e, ERR_LIMIT,
			       "the pattern is too large, because of what it"
			       " repeats; write smaller counts, or * and +");
	}
	classify(p);
	return 0;
}

void nfa_done(struct nfa *p)
{
	if (!p)
		return;
	free(p->steps);
	free(p->sets);
	*p = (struct nfa){ 0 };
}

#include "executor/search/literal.h"

#include <string.h>

#include "executor/search/charset.h"
#include "executor/search/pattern.h"

/* --- choosing the literal ----------------------------------------------------- */

/* A sequence of bytes that follow each other in every match. */
struct run {
	uint8_t bytes[LITERAL_MAX], masks[LITERAL_MAX];
	size_t len;
};

struct search {
	const struct pattern *p;
	struct run now, best;
	unsigned value; /* how useful the best run is: the sum of its bytes' rarity */
	bool is_all;	/* so far the pattern consists of the sequence `now` and nothing
			 * else */
};

/* The most frequent bytes of text files and source code, most frequent first. */
static const char common[] = " etaoinrslcdmpu_fhg.byv,()-x0w=;\"1/:k>'<*2{}[]\t";

/* Returns how rare a byte is in texts; a higher number is rarer. */
static unsigned rarity(uint8_t byte, uint8_t mask)
{
	const char *at = byte ? strchr(common, byte) : NULL;
	unsigned value = at ? 2 + (unsigned)(at - common) : 2 + (unsigned)sizeof(common);

	return mask ? value - value / 4 : value;
}

static unsigned value_of(const struct run *r)
{
	unsigned value = 0;

	for (size_t i = 0; i < r->len; i++)
		value += rarity(r->bytes[i], r->masks[i]);
	return value;
}

static void end_run(struct search *s)
{
	unsigned value = value_of(&s->now);

	if (value > s->value) {
		s->best = s->now;
		s->value = value;
	}
	s->now = (struct run){ 0 };
}

static void add_byte(struct search *s, uint8_t byte, uint8_t mask)
{
	struct run *r = &s->now;

	if (r->len == LITERAL_MAX) {
		s->is_all = false;
		return;
	}
	r->bytes[r->len] = byte | mask;
	r->masks[r->len++] = mask;
}

static void add_one(struct search *s, uint32_t c)
{
	uint8_t bytes[4];
	int len = charset_encode(c, bytes);

	for (int i = 0; i < len; i++)
		add_byte(s, bytes[i], 0);
}

static bool is_one(const struct charset_range *r)
{
	return r->first == r->last;
}

static bool add_set(struct search *s, const struct charset *set)
{
	const struct charset_range *r = set->ranges;

	if (set->count == 1 && is_one(r))
		return add_one(s, r->first), true;
	if (set->count != 2 || !is_one(r) || !is_one(r + 1) || r[0].first < 'A' ||
	    r[0].first > 'Z' || r[1].first != (r[0].first | 0x20))
		return false;
	add_byte(s, (uint8_t)r[1].first, 0x20);
	return true;
}

static void search_node(struct search *s, uint32_t at);

/* Visits a node's children in the order of the pattern, although they are linked from
 * the last to the first. */
static void search_children(struct search *s, uint32_t last)
{
	uint32_t before = pattern_node(s->p, last)->before;

	if (before != 0)
		search_children(s, before);
	search_node(s, last);
}

/* Ends the current sequence of bytes, since any bytes may follow here. */
static void leave_gap(struct search *s)
{
	s->is_all = false;
	end_run(s);
}

static void search_node(struct search *s, uint32_t at)
{
	const struct pattern_node *n = pattern_node(s->p, at);

	if (n->kind == PATTERN_CAT)
		return search_children(s, n->last);
	if (n->kind == PATTERN_EMPTY || (n->kind == PATTERN_SET && add_set(s, n->set)))
		return;
	if (n->kind != PATTERN_REPEAT || n->min == 0) {
		/* An anchor or a word boundary matches no byte, so the literals around
		 * it are adjacent. Only `$` may match a carriage return, and ends the
		 * sequence. */
		s->is_all = false;
		if (n->kind < PATTERN_LINE_BEGIN || n->kind == PATTERN_LINE_END)
			end_run(s);
		return;
	}
	/* The repeated part occurs once at least; the bytes behind its first occurrence
	 * are unknown. */
	search_node(s, n->last);
	leave_gap(s);
}

static void choose_rare(struct literal *n)
{
	unsigned best = 0, second = 0;

	for (size_t i = 0; i < n->len; i++) {
		unsigned value = rarity(n->bytes[i], n->masks[i]);
		if (value > best) {
			second = best;
			n->other = n->rare;
			best = value;
			n->rare = i;
		} else if (value > second) {
			second = value;
			n->other = i;
		}
	}
	if (n->len == 1)
		n->other = n->rare;
}

void literal_init(struct literal *n, const struct pattern *p)
{
	struct search s = { .p = p, .is_all = true };

	*n = (struct literal){ 0 };
	search_node(&s, pattern_root(p));
	end_run(&s);
	/* A literal that is a single frequent letter is of no use: nearly every line has
	 * it. */
	if (s.best.len == 0 || (s.best.len == 1 && s.value < 2 + sizeof(common) / 2))
		return;
	memcpy(n->bytes, s.best.bytes, s.best.len);
	memcpy(n->masks, s.best.masks, s.best.len);
	n->len = s.best.len;
	n->is_all = s.is_all;
	choose_rare(n);
}

/* --- searching ---------------------------------------------------------------- */

/* Vector types of the compiler: SSE2 on x86-64, NEON on aarch64. */
typedef uint8_t vector __attribute__((vector_size(16)));
typedef uint64_t halves __attribute__((vector_size(16)));

static inline vector load(const uint8_t *at)
{
	vector v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static inline vector fill(uint8_t byte)
{
	return (vector){ 0 } + byte;
}

static inline bool is_any(vector v)
{
	halves h = (halves)v;

	return (h[0] | h[1]) != 0;
}

static bool is_here(const struct literal *n, const uint8_t *at)
{
	for (size_t i = 0; i < n->len; i++)
		if ((at[i] | n->masks[i]) != n->bytes[i])
			return false;
	return true;
}

/* Compares byte by byte at `count` offsets: where the vector code has found a candidate,
 * and at the end of the text. */
static const uint8_t *find_slowly(const struct literal *n, const uint8_t *at,
				  size_t count)
{
	uint8_t rare = n->bytes[n->rare], mask = n->masks[n->rare];

	for (size_t i = 0; i < count; i++)
		if ((at[i + n->rare] | mask) == rare && is_here(n, at + i))
			return at + i;
	return NULL;
}

const uint8_t *literal_find(const struct literal *n, const uint8_t *at,
			    const uint8_t *end)
{
	if ((size_t)(end - at) < n->len)
		return NULL;

	const uint8_t *last = end - n->len; /* the last address where the literal may
					     * begin */
	const vector rare = fill(n->bytes[n->rare]), other = fill(n->bytes[n->other]);
	const vector rare_mask = fill(n->masks[n->rare]),
		     other_mask = fill(n->masks[n->other]);
	const size_t r = n->rare, o = n->other, step = 2 * sizeof(vector);

	for (; (size_t)(last + 1 - at) >= step; at += step) {
		const uint8_t *next = at + sizeof(vector);
		vector a = (vector)((load(at + r) | rare_mask) == rare) &
			   (vector)((load(at + o) | other_mask) == other);
		vector b = (vector)((load(next + r) | rare_mask) == rare) &
			   (vector)((load(next + o) | other_mask) == other);
		if (!is_any(a | b))
			continue;
		const uint8_t *found = find_slowly(n, at, step);
		if (found)
			return found;
	}
	return find_slowly(n, at, (size_t)(last + 1 - at));
}

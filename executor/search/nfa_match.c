#include "executor/search/nfa_match.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/search/pattern.h"

/* --- preparing -------------------------------------------------------------- */

int prepared_init(struct prepared *p, const struct pattern *from, struct err *e)
{
	*p = (struct prepared){ 0 };
	if (nfa_init(&p->nfa, from, e) < 0)
		return -1;
	literal_init(&p->literal, from);
	return 0;
}

void prepared_done(struct prepared *p)
{
	if (!p)
		return;
	nfa_done(&p->nfa);
}

/* --- sets of steps ---------------------------------------------------------- */

/* A set of the automaton's steps: `list` in the order in which they were added, and
 * `has` with a bit for each step. */
struct steps {
	uint32_t *list;	  /* owned */
	uint64_t *has;	  /* owned */
	uint32_t count;
};

static void steps_init(struct steps *s, uint32_t max)
{
	s->list = mem_zeroed(max, sizeof(*s->list));
	s->has = mem_zeroed(max / 64 + 1, sizeof(*s->has));
	s->count = 0;
}

static void steps_done(struct steps *s)
{
	free(s->list);
	free(s->has);
}

static void steps_clear(struct steps *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->has[s->list[i] / 64] = 0;
	s->count = 0;
}

static void steps_add_one(struct steps *s, uint32_t step)
{
	uint64_t bit = (uint64_t)1 << (step % 64);

	if (s->has[step / 64] & bit)
		return;
	s->has[step / 64] |= bit;
	s->list[s->count++] = step;
}

/* Sorts the list, so that equal sets have equal lists. */
static void steps_sort(struct steps *s, uint32_t max)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < max / 64 + 1 && count < s->count; i++)
		for (uint64_t left = s->has[i]; left; left &= left - 1)
			s->list[count++] = 64 * i + (uint32_t)__builtin_ctzll(left);
}

/* --- states ----------------------------------------------------------------- */

/* The kind of the byte that was read last, which ^ and \b depend on. */
enum front { FRONT_BEGIN, FRONT_WORD, FRONT_OTHER };

/* Numbers in the table that are no states; the states' own numbers begin at
 * STATE_FIRST. */
enum { STATE_UNKNOWN, STATE_MATCHED, STATE_FIRST };

struct state {
	uint32_t from, count; /* where the state's steps are in `items`, and how many
			       * there are */
	uint8_t front;	      /* enum front */
};

struct nfa_match {
	const struct prepared *p; /* borrowed */
	struct state *states;	  /* owned; indexed by the state's number */
	uint32_t *table;	  /* owned; the transitions: the next state, indexed by
				   * state and byte class */
	uint32_t *items;	  /* owned */
	uint32_t *hashed;	  /* owned; a hash table that finds a state's number by
				   * its steps; 0: a free entry */
	uint32_t state_count, state_room, state_max;
	uint32_t item_count, item_room, hash_room;
	uint32_t begin;		  /* the number of the state at the beginning of a line;
				   * 0: not made yet */
	struct steps start;	  /* the steps that are added at every byte, since a
				   * match may begin at every byte */
	struct steps now, then;
};

/* Adds a step, with all steps that it leads to without reading a byte. A condition, such
 * as the end of a line, is not followed here, since it depends on the next byte. */
static void steps_add(struct steps *s, const struct nfa *p, uint32_t step)
{
	uint32_t first = s->count;

	steps_add_one(s, step);
	for (uint32_t i = first; i < s->count; i++) {
		const struct nfa_step *at = &p->steps[s->list[i]];
		if (at->op != NFA_SPLIT)
			continue;
		steps_add_one(s, at->next);
		steps_add_one(s, at->other);
	}
}

static uint32_t hash_of(const struct steps *s, enum front front)
{
	uint32_t h = 2166136261u ^ front;

	for (uint32_t i = 0; i < s->count; i++)
		h = (h ^ s->list[i]) * 16777619u + (h >> 15);
	return h;
}

static bool is_same(const struct nfa_match *m, const struct state *a,
		    const struct steps *s, enum front front)
{
	return a->front == front && a->count == s->count &&
	       memcmp(m->items + a->from, s->list, s->count * sizeof(*s->list)) == 0;
}

static void forget(struct nfa_match *m)
{
	m->state_count = STATE_FIRST;
	m->item_count = 0;
	m->begin = 0;
	memset(m->hashed, 0, m->hash_room * sizeof(*m->hashed));
}

static void put_hash(struct nfa_match *m, uint32_t number, uint32_t hash)
{
	uint32_t mask = m->hash_room - 1, at = hash & mask;

	while (m->hashed[at] != 0)
		at = (at + 1) & mask;
	m->hashed[at] = number;
}

static uint32_t hash_of_state(const struct nfa_match *m, uint32_t number)
{
	const struct state *s = &m->states[number];
	struct steps as = { .list = m->items + s->from, .count = s->count };

	return hash_of(&as, s->front);
}

/* Doubles the room for states, up to state_max. */
static void grow_states(struct nfa_match *m)
{
	uint32_t classes = m->p->nfa.class_count;

	m->state_room = 2 * m->state_room > m->state_max ? m->state_max :
							   2 * m->state_room;
	m->states = mem_resize(m->states, m->state_room, sizeof(*m->states));
	m->table =
		mem_resize(m->table, (size_t)m->state_room * classes, sizeof(*m->table));
	m->hash_room *= 2;
	free(m->hashed);
	m->hashed = mem_zeroed(m->hash_room, sizeof(*m->hashed));
	for (uint32_t i = STATE_FIRST; i < m->state_count; i++)
		put_hash(m, i, hash_of_state(m, i));
}

static void grow_items(struct nfa_match *m, uint32_t count)
{
	while (m->item_room < count)
		m->item_room *= 2;
	m->items = mem_resize(m->items, m->item_room, sizeof(*m->items));
}

/* Makes room for one more state of `count` steps. If the states would then exceed
 * NFA_MATCH_ROOM, all existing states are dropped. */
static void make_room(struct nfa_match *m, uint32_t count)
{
	if (m->state_count == m->state_max ||
	    (m->item_count + count) * sizeof(*m->items) > NFA_MATCH_ROOM)
		forget(m);
	if (m->state_count == m->state_room)
		grow_states(m);
	if (m->item_count + count > m->item_room)
		grow_items(m, m->item_count + count);
}

static uint32_t add_state(struct nfa_match *m, const struct steps *s, enum front front)
{
	uint32_t classes = m->p->nfa.class_count;

	make_room(m, s->count);
	uint32_t number = m->state_count++;
	m->states[number] = (struct state){ m->item_count, s->count, (uint8_t)front };
	memcpy(m->items + m->item_count, s->list, s->count * sizeof(*s->list));
	m->item_count += s->count;
	memset(m->table + (size_t)number * classes, 0, classes * sizeof(*m->table));
	put_hash(m, number, hash_of(s, front));
	return number;
}

/* Returns the state with these steps, and makes it if there is none. */
static uint32_t state_of(struct nfa_match *m, struct steps *s, enum front front)
{
	uint32_t mask = m->hash_room - 1;

	steps_sort(s, m->p->nfa.count);
	for (uint32_t at = hash_of(s, front) & mask; m->hashed[at] != 0;
	     at = (at + 1) & mask)
		if (is_same(m, &m->states[m->hashed[at]], s, front))
			return m->hashed[at];
	return add_state(m, s, front);
}

/* --- a step ----------------------------------------------------------------- */

static bool is_so(enum pattern_kind place, enum front front, uint8_t next)
{
	bool is_edge = (front == FRONT_WORD) != nfa_is_word(next);

	if (place == PATTERN_LINE_BEGIN)
		return front == FRONT_BEGIN;
	if (place == PATTERN_LINE_END)
		return next == '\n';
	return place == PATTERN_WORD_EDGE ? is_edge : !is_edge;
}

/* Fills m->now with the steps of a state and all that follow from the conditions (^, $,
 * \b, \B) that hold in front of the byte `next`. True: a match is reached. */
static bool reach(struct nfa_match *m, const struct state *s, uint8_t next)
{
	const struct nfa *p = &m->p->nfa;

	steps_clear(&m->now);
	for (uint32_t i = 0; i < s->count; i++)
		steps_add_one(&m->now, m->items[s->from + i]);
	for (uint32_t i = 0; i < m->now.count; i++) {
		const struct nfa_step *at = &p->steps[m->now.list[i]];
		if (at->op == NFA_MATCH)
			return true;
		if (at->op == NFA_PLACE &&
		    is_so((enum pattern_kind)at->place, (enum front)s->front, next))
			steps_add(&m->now, p, at->next);
	}
	return false;
}

static bool takes(const struct nfa *p, const struct nfa_step *s, uint8_t c)
{
	if (s->op == NFA_RANGE)
		return c >= s->low && c <= s->high;
	return s->op == NFA_SET && nfa_set_has(&p->sets[s->set], c);
}

static void begin_anywhere(struct nfa_match *m, struct steps *s)
{
	steps_clear(s);
	for (uint32_t i = 0; i < m->start.count; i++)
		steps_add_one(s, m->start.list[i]);
}

static enum front front_of(const struct nfa_match *m, uint8_t c)
{
	if (c == '\n')
		return FRONT_BEGIN;
	return m->p->nfa.has_edges && nfa_is_word(c) ? FRONT_WORD : FRONT_OTHER;
}

/* Returns whether the set has step 0, which is always NFA_MATCH. */
static bool is_matched(const struct steps *s)
{
	return s->has[0] & 1;
}

/* Computes the state that follows `from` after the byte c, and adds it if it is new. */
static uint32_t make_step(struct nfa_match *m, uint32_t from, uint8_t c)
{
	const struct nfa *p = &m->p->nfa;

	if (reach(m, &m->states[from], c))
		return STATE_MATCHED;
	begin_anywhere(m, &m->then);
	for (uint32_t i = 0; i < m->now.count; i++) {
		const struct nfa_step *at = &p->steps[m->now.list[i]];
		if (takes(p, at, c))
			steps_add(&m->then, p, at->next);
	}
	return is_matched(&m->then) ? STATE_MATCHED :
				      state_of(m, &m->then, front_of(m, c));
}

/* Returns the state that follows `from` after the byte c, from the table if it is known.
 * If add_state() had to drop all states, `from` is gone, so the result is not put into
 * the table. */
static uint32_t step(struct nfa_match *m, uint32_t from, uint8_t c)
{
	const struct nfa *p = &m->p->nfa;
	size_t at = (size_t)from * p->class_count + p->classes[c];
	uint32_t known = m->table[at];

	if (known != STATE_UNKNOWN)
		return known;
	uint32_t count = m->state_count, next = make_step(m, from, c);
	if (m->state_count >= count)
		m->table[at] = next;
	return next;
}

static uint32_t begin_line(struct nfa_match *m)
{
	begin_anywhere(m, &m->then);
	if (is_matched(&m->then))
		return STATE_MATCHED;
	if (m->begin == 0) {
		uint32_t made = state_of(m, &m->then, FRONT_BEGIN);
		m->begin = made;
	}
	return m->begin;
}

/* Reads lines until a match is certain, and returns the address of the byte that decided
 * it, or `end` if that was the end of a last line without a newline. NULL: there is no
 * match. */
static const uint8_t *run(struct nfa_match *m, const uint8_t *at, const uint8_t *end)
{
	const struct nfa *p = &m->p->nfa;
	const uint8_t *classes = p->classes;
	uint32_t state = begin_line(m), count = p->class_count;

	if (state == STATE_MATCHED)
		return at;
	for (; at < end; at++) {
		uint32_t next = m->table[(size_t)state * count + classes[*at]];
		if (next <= STATE_MATCHED &&
		    (next = step(m, state, *at)) == STATE_MATCHED)
			return at;
		state = next;
	}
	bool is_open = end[-1] != '\n';
	return is_open && step(m, state, '\n') == STATE_MATCHED ? end : NULL;
}

/* --- lines ------------------------------------------------------------------ */

static struct line line_around(const uint8_t *from, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *before = memrchr(from, '\n', (size_t)(at - from));
	const uint8_t *behind = memchr(at, '\n', (size_t)(end - at));

	return (struct line){ before ? before + 1 : from, behind ? behind : end };
}

/* Searches for the literal first; the automaton reads only the lines that contain it. */
static bool find_by_literal(struct nfa_match *m, const uint8_t *at, const uint8_t *end,
			   struct line *ret)
{
	const struct literal *n = &m->p->literal;
	const uint8_t *from = at;

	while (from < end && (at = literal_find(n, from, end))) {
		struct line line = line_around(from, at, end);
		if (n->is_all || run(m, line.start, line.end)) {
			*ret = line;
			return true;
		}
		from = line.end + (line.end < end);
	}
	return false;
}

bool nfa_match_find(struct nfa_match *m, const uint8_t *at, const uint8_t *end,
		  struct line *ret)
{
	if (at == end)
		return false;
	if (m->p->literal.len > 0)
		return find_by_literal(m, at, end, ret);
	const uint8_t *matched = run(m, at, end);
	if (matched)
		*ret = line_around(at, matched, end);
	return matched != NULL;
}

/* --- life ------------------------------------------------------------------- */

static uint32_t power_above(uint32_t n)
{
	uint32_t power = 16;

	while (power < n)
		power *= 2;
	return power;
}

struct nfa_match *nfa_match_new(const struct prepared *p)
{
	struct nfa_match *m = mem_zeroed(1, sizeof(*m));
	uint32_t classes = p->nfa.class_count;

	m->p = p;
	m->state_max = (uint32_t)(NFA_MATCH_ROOM / (classes * sizeof(*m->table)));
	m->state_room = 16;
	m->hash_room = power_above(2 * m->state_room);
	m->item_room = 256;
	m->states = mem_new(m->state_room * sizeof(*m->states));
	m->table = mem_new((size_t)m->state_room * classes * sizeof(*m->table));
	m->items = mem_new(m->item_room * sizeof(*m->items));
	m->hashed = mem_zeroed(m->hash_room, sizeof(*m->hashed));
	m->state_count = STATE_FIRST;
	steps_init(&m->start, p->nfa.count);
	steps_init(&m->now, p->nfa.count);
	steps_init(&m->then, p->nfa.count);
	steps_add(&m->start, &p->nfa, p->nfa.start);
	return m;
}

void nfa_match_free(struct nfa_match *m)
{
	if (!m)
		return;
	free(m->states);
	free(m->table);
	free(m->items);
	free(m->hashed);
	steps_done(&m->start);
	steps_done(&m->now);
	steps_done(&m->then);
	free(m);
}

#include "executor/edit/diff.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fnv1a.h"
#include "base/mem.h"
#include "base/utf8.h"

#define NONE UINT32_MAX /* the id of a line that the new text does not have */

/* One of the two texts, as lines. Equal lines have equal ids. */
struct side {
	struct bytes text;
	uint32_t *starts; /* owned; the offset of each line, then the text's length plus
			   * 1, as if a newline ended the text */
	uint32_t *ids;	  /* owned; the id of each line */
	size_t count;
};

/* An entry of the table of common runs, for one line of the new text: `len` equal lines
 * end there. `row` is the row, that is the old line, for which `len` was written; in any
 * other row the entry counts as 0, so that the table is never cleared. */
struct cell {
	uint32_t row, len;
};

/* `size` lines of the old text from `a` on are equal to lines of the new text from `b`
 * on. */
struct match {
	uint32_t a, b, size;
};

/* A part of both texts that is still to be compared: lines [alo, ahi) of the old text
 * and [blo, bhi) of the new one. */
struct region {
	uint32_t alo, ahi, blo, bhi;
};

struct matcher {
	struct side a, b;
	/* The line numbers of the new text, sorted by the lines' ids: the lines with one
	 * id are places[begins[id]] up to places[begins[id + 1]], without the latter,
	 * ascending. Both owned. */
	uint32_t *begins, *places;
	uint32_t id_count, popular; /* a line that the new text has more than `popular`
				     * times begins no run, as in difflib */
	struct cell *cells[2];	    /* owned; two rows of the table of common runs: for
				     * the old line before, and for the current one */
	uint32_t row, steps;
	struct match *found; /* owned; the matches found so far */
	size_t found_count;
	struct region *todo; /* owned; the regions that are still to be searched */
	size_t todo_count;
};

/* --- lines and their ids --------------------------------------------------- */

static size_t count_lines(struct bytes text)
{
	size_t count = 1;

	for (const uint8_t *at = text.data, *end = at + text.len;
	     at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
		count++;
	return count;
}

static void side_init(struct side *s, struct bytes text, size_t count)
{
	*s = (struct side){ .text = text, .count = count,
			    .starts = mem_zeroed(count + 1, sizeof(*s->starts)),
			    .ids = mem_zeroed(count, sizeof(*s->ids)) };
	size_t line = 0;
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '\n')
			s->starts[++line] = (uint32_t)i + 1;
	s->starts[count] = (uint32_t)text.len + 1;
}

static void side_done(struct side *s)
{
	free(s->starts);
	free(s->ids);
}

static struct bytes line_of(const struct side *s, size_t i)
{
	return (struct bytes){ s->text.data + s->starts[i],
			       s->starts[i + 1] - s->starts[i] - 1 };
}

static bool is_same(struct bytes a, struct bytes b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Takes steps from the limit on work. False: the limit is used up. */
static bool spend(struct matcher *m, size_t steps)
{
	if (m->steps <= steps) {
		m->steps = 0;
		return false;
	}
	m->steps -= (uint32_t)steps;
	return true;
}

/* Hashes a line with FNV-1a. A text whose lines are crafted to collide only uses up the
 * limit on steps. */
static uint32_t hash_of(struct bytes line)
{
	const uint64_t h = fnv1a(FNV1A_START, line.data, line.len);

	return (uint32_t)(h ^ h >> 32);
}

/* An open-addressing hash table of the new text's lines. */
struct table {
	struct slot {
		uint32_t hash, line; /* the line's number plus 1; 0: the slot is free */
	} *slots; /* owned */
	uint32_t mask;
};

static void table_init(struct table *t, size_t lines)
{
	uint32_t room = 16;

	while (room < 2 * lines)
		room *= 2;
	*t = (struct table){ mem_zeroed(room, sizeof(*t->slots)), room - 1 };
}

/* Returns the slot with an equal line, or the free one where the line belongs. NULL: no
 * steps are left. */
static struct slot *find_slot(struct matcher *m, struct table *t, struct bytes line)
{
	uint32_t hash = hash_of(line), at = hash & t->mask;

	for (;; at = (at + 1) & t->mask) {
		struct slot *s = &t->slots[at];
		if (!spend(m, 1))
			return NULL;
		if (!s->line)
			s->hash = hash;
		if (!s->line)
			return s;
		if (s->hash != hash || !spend(m, line.len / 64))
			continue;
		if (is_same(line_of(&m->b, s->line - 1), line))
			return s;
	}
}

static bool name_new_lines(struct matcher *m, struct table *t)
{
	for (size_t i = 0; i < m->b.count; i++) {
		struct slot *s = find_slot(m, t, line_of(&m->b, i));
		if (!s)
			return false;
		m->b.ids[i] = s->line ? m->b.ids[s->line - 1] : m->id_count++;
		if (!s->line)
			s->line = (uint32_t)i + 1;
	}
	return true;
}

static bool name_old_lines(struct matcher *m, struct table *t)
{
	for (size_t i = 0; i < m->a.count; i++) {
		struct slot *s = find_slot(m, t, line_of(&m->a, i));
		if (!s)
			return false;
		m->a.ids[i] = s->line ? m->b.ids[s->line - 1] : NONE;
	}
	return true;
}

static bool name_lines(struct matcher *m)
{
	struct table t;

	table_init(&t, m->b.count);
	bool are_named = name_new_lines(m, &t) && name_old_lines(m, &t);
	free(t.slots);
	return are_named;
}

/* Sorts the lines of the new text by id, with a counting sort. The last loop fills
 * each id's part of `places` from its end, so that begins[id] is then where that part
 * begins. */
static void place_lines(struct matcher *m)
{
	m->begins = mem_zeroed(m->id_count + 1, sizeof(*m->begins));
	m->places = mem_zeroed(m->b.count, sizeof(*m->places));
	for (size_t i = 0; i < m->b.count; i++)
		m->begins[m->b.ids[i]]++;
	for (uint32_t id = 0, sum = 0; id <= m->id_count; id++)
		m->begins[id] = sum += id < m->id_count ? m->begins[id] : 0;
	for (size_t i = m->b.count; i-- > 0;)
		m->places[--m->begins[m->b.ids[i]]] = (uint32_t)i;
}

/* --- matches --------------------------------------------------------------- */

/* Returns the index of the first element of places[from, to) that is `line` or a later
 * line. */
static uint32_t first_place(const struct matcher *m, uint32_t from, uint32_t to,
			    uint32_t line)
{
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		if (m->places[middle] < line)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Compares old line `i` with each equal line of the new text. A run of equal lines that
 * ends with this pair is one line longer than the run that ends with the pair of lines
 * before it. */
static bool match_line(struct matcher *m, const struct region *r, uint32_t i,
		       struct match *best)
{
	uint32_t id = m->a.ids[i], row = ++m->row;
	const struct cell *before = m->cells[(row - 1) & 1];
	struct cell *now = m->cells[row & 1];

	if (id == NONE || m->begins[id + 1] - m->begins[id] > m->popular)
		return spend(m, 1);
	uint32_t to = m->begins[id + 1];
	uint32_t at = first_place(m, m->begins[id], to, r->blo);
	for (; at < to && m->places[at] < r->bhi; at++) {
		uint32_t j = m->places[at]; /* cell 0 stands for the line before the
					     * first, so line j has cell j + 1 */
		uint32_t len = before[j].row == row - 1 ? before[j].len + 1 : 1;
		now[j + 1] = (struct cell){ row, len };
		if (len > best->size)
			*best = (struct match){ i + 1 - len, j + 1 - len, len };
		if (!spend(m, 1))
			return false;
	}
	return spend(m, 1);
}

/* Lengthens a match at both ends by equal lines. Lines that are too frequent to begin a
 * run may lengthen one. */
static void extend(const struct matcher *m, const struct region *r, struct match *x)
{
	const uint32_t *a = m->a.ids, *b = m->b.ids;

	while (x->a > r->alo && x->b > r->blo && a[x->a - 1] == b[x->b - 1]) {
		x->a--;
		x->b--;
		x->size++;
	}
	while (x->a + x->size < r->ahi && x->b + x->size < r->bhi &&
	       a[x->a + x->size] == b[x->b + x->size])
		x->size++;
}

static bool find_longest(struct matcher *m, const struct region *r, struct match *ret)
{
	struct match best = { r->alo, r->blo, 0 };

	m->row++; /* skips a row number, so that no entry of an earlier search counts as
		   * the row before the first */
	for (uint32_t i = r->alo; i < r->ahi; i++)
		if (!match_line(m, r, i, &best))
			return false;
	extend(m, r, &best);
	*ret = best;
	return spend(m, best.size);
}

static void push(struct matcher *m, struct region r)
{
	if (r.alo == r.ahi || r.blo == r.bhi)
		return;
	if ((m->todo_count & (m->todo_count - 1)) == 0)
		m->todo = mem_resize(m->todo, m->todo_count ? 2 * m->todo_count : 1,
				     sizeof(r));
	m->todo[m->todo_count++] = r;
}

static void add_match(struct matcher *m, struct match x)
{
	if ((m->found_count & (m->found_count - 1)) == 0)
		m->found = mem_resize(m->found, m->found_count ? 2 * m->found_count :
				      1, sizeof(x));
	m->found[m->found_count++] = x;
}

static int compare(const void *one, const void *other)
{
	const struct match *x = one, *y = other;

	return (x->a > y->a) - (x->a < y->a);
}

/* Finds all matches, in order.  False: the steps did not suffice. */
static bool find_all(struct matcher *m)
{
	push(m, (struct region){ 0, (uint32_t)m->a.count, 0, (uint32_t)m->b.count });
	while (m->todo_count > 0) {
		struct region r = m->todo[--m->todo_count];
		struct match x;
		if (!find_longest(m, &r, &x))
			return false;
		if (x.size == 0)
			continue;
		add_match(m, x);
		push(m, (struct region){ r.alo, x.a, r.blo, x.b });
		push(m, (struct region){ x.a + x.size, r.ahi, x.b + x.size, r.bhi });
	}
	if (m->found_count > 0)
		qsort(m->found, m->found_count, sizeof(*m->found), compare);
	return true;
}

static bool match(struct matcher *m)
{
	if (!name_lines(m))
		return false;
	place_lines(m);
	m->popular = m->b.count >= 200 ? (uint32_t)m->b.count / 100 + 1 : NONE;
	for (int i = 0; i < 2; i++)
		m->cells[i] = mem_zeroed(m->b.count + 1, sizeof(*m->cells[i]));
	return find_all(m);
}

static void matcher_done(struct matcher *m)
{
	side_done(&m->a);
	side_done(&m->b);
	free(m->begins);
	free(m->places);
	free(m->cells[0]);
	free(m->cells[1]);
	free(m->found);
	free(m->todo);
}

/* --- output ---------------------------------------------------------------- */

struct out {
	struct buffer *to;
	const char *path;
	bool has_begun, is_cut;
};

/* Some lines of a text: its bytes [from, to). `to` may be one byte behind the text, as
 * if a newline ended the text. */
struct part {
	struct bytes text;
	size_t from, to;
	size_t line, count; /* the number of the first line, from 0, and the number of
			     * lines */
};

/* Appends a line to the diff, without white space at its end. Always leaves room for
 * DIFF_NOTICE, which it appends in place of the first line that does not fit. */
static void put_line(struct out *o, const char *sign, struct bytes line)
{
	size_t sign_len = strlen(sign), len = utf8_trimmed(line.data, line.len);
	size_t need = sign_len + len + 1;

	if (o->is_cut)
		return;
	if (buffer_len(o->to) + need + sizeof(DIFF_NOTICE) > o->to->max) {
		o->is_cut = true;
		(void)buffer_append(o->to, "\n" DIFF_NOTICE, sizeof(DIFF_NOTICE));
		return;
	}
	if (o->has_begun)
		(void)buffer_append(o->to, "\n", 1);
	(void)buffer_append(o->to, sign, sign_len);
	(void)buffer_append(o->to, line.data, len);
	o->has_begun = true;
}

static void put_lines(struct out *o, const char *sign, const struct part *p)
{
	for (size_t at = p->from; at < p->to && !o->is_cut;) {
		const uint8_t *data = p->text.data + at;
		const uint8_t *end = memchr(data, '\n', p->text.len - at);
		size_t len = end ? (size_t)(end - data) : p->text.len - at;
		put_line(o, sign, (struct bytes){ data, len });
		at += len + 1;
	}
}

static void put_begin(struct out *o)
{
	struct bytes path = { (const uint8_t *)o->path, strlen(o->path) };

	put_line(o, "--- ", path);
	put_line(o, "+++ ", path);
}

/* Prints the line numbers of one side of a hunk, as diff(1) does: "FIRST,COUNT", or only
 * FIRST for a single line. For an empty side FIRST is the line before it. */
static int print_range(char *to, size_t room, const struct part *p)
{
	if (p->count == 1)
		return snprintf(to, room, "%zu", p->line + 1);
	return snprintf(to, room, "%zu,%zu", p->count ? p->line + 1 : p->line,
			p->count);
}

static void put_hunk(struct out *o, const struct part *old, const struct part *new)
{
	char text[128];
	int len = snprintf(text, sizeof(text), "@@ -");

	len += print_range(text + len, sizeof(text) - (size_t)len, old);
	len += snprintf(text + len, sizeof(text) - (size_t)len, " +");
	len += print_range(text + len, sizeof(text) - (size_t)len, new);
	len += snprintf(text + len, sizeof(text) - (size_t)len, " @@");
	if (!o->has_begun)
		put_begin(o);
	put_line(o, "", (struct bytes){ (const uint8_t *)text, (size_t)len });
	put_lines(o, "-", old);
	put_lines(o, "+", new);
}

static struct part part_of(const struct side *s, uint32_t first, uint32_t end)
{
	return (struct part){ s->text, s->starts[first], s->starts[end], first,
			      end - first };
}

/* Writes the lines between the matches as hunks. */
static void put_hunks(struct out *o, const struct matcher *m)
{
	uint32_t i = 0, j = 0;

	for (size_t k = 0; k <= m->found_count; k++) {
		struct match x = { (uint32_t)m->a.count, (uint32_t)m->b.count, 0 };
		if (k < m->found_count)
			x = m->found[k];
		struct part old = part_of(&m->a, i, x.a);
		struct part new = part_of(&m->b, j, x.b);
		if (old.count + new.count > 0)
			put_hunk(o, &old, &new);
		i = x.a + x.size;
		j = x.b + x.size;
	}
}

/* --- the simple diff, beyond the limits ----------------------------------------- */

/* Returns the offset where the line that contains `at` ends. */
static size_t end_of_line(struct bytes text, size_t at)
{
	const uint8_t *end = memchr(text.data + at, '\n', text.len - at);

	return end ? (size_t)(end - text.data) : text.len;
}

/* Returns the offset where the line that ends at `end` begins. */
static size_t begin_of_line(struct bytes text, size_t end)
{
	while (end > 0 && text.data[end - 1] != '\n')
		end--;
	return end;
}

static struct bytes piece(struct bytes text, size_t from, size_t to)
{
	return (struct bytes){ text.data + from, to - from };
}

/* Takes equal lines off the beginning of both parts. */
static void skip_head(struct part *x, struct part *y)
{
	while (x->from < x->to && y->from < y->to) {
		size_t i = end_of_line(x->text, x->from);
		size_t j = end_of_line(y->text, y->from);
		if (!is_same(piece(x->text, x->from, i), piece(y->text, y->from, j)))
			return;
		x->from = i + 1;
		y->from = j + 1;
		x->line++;
		y->line++;
		x->count--;
		y->count--;
	}
}

/* Takes equal lines off the end of both parts. */
static void skip_tail(struct part *x, struct part *y)
{
	while (x->from < x->to && y->from < y->to) {
		size_t i = begin_of_line(x->text, x->to - 1);
		size_t j = begin_of_line(y->text, y->to - 1);
		if (!is_same(piece(x->text, i, x->to - 1),
			     piece(y->text, j, y->to - 1)))
			return;
		x->to = i;
		y->to = j;
		x->count--;
		y->count--;
	}
}

static void put_simple(struct out *o, struct part old, struct part new)
{
	skip_head(&old, &new);
	skip_tail(&old, &new);
	if (old.count + new.count > 0)
		put_hunk(o, &old, &new);
}

static bool put_matched(struct out *o, const struct part *old, const struct part *new,
			uint32_t steps)
{
	struct matcher m = { .steps = steps };

	side_init(&m.a, old->text, old->count);
	side_init(&m.b, new->text, new->count);
	bool is_matched = match(&m);
	if (is_matched)
		put_hunks(o, &m);
	matcher_done(&m);
	return is_matched;
}

/* Makes a part of the whole text. An empty text may have NULL as data, and NULL + 0 is
 * undefined in C. */
static struct part whole(struct bytes text)
{
	if (text.len == 0)
		text.data = (const uint8_t *)"";
	return (struct part){ text, 0, text.len + 1, 0, count_lines(text) };
}

void diff_put_in(struct buffer *to, const char *path, struct bytes old, struct bytes new,
		 uint32_t steps)
{
	struct out o = { .to = to, .path = path };
	struct part a = whole(old), b = whole(new);

	if (is_same(old, new))
		return;
	if (a.count + b.count > DIFF_LINES || !put_matched(&o, &a, &b, steps))
		put_simple(&o, a, b);
}

void diff_put(struct buffer *to, const char *path, struct bytes old, struct bytes new)
{
	diff_put_in(to, path, old, new, DIFF_STEPS);
}

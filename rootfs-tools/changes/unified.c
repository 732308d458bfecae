#include "rootfs-tools/changes/unified.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"

#define AROUND 3

struct line {
	const char *text;
	size_t len; /* length of the line with its newline */
};

struct lines {
	struct line *items; /* owned */
	size_t count;
	bool *is_edited; /* owned: removed, or added */
};

static void split(struct lines *l, const char *text, size_t len)
{
	size_t room = 16;

	*l = (struct lines){ .items = mem_zeroed(room, sizeof(*l->items)) };
	while (len > 0) { /* `text` may be NULL if len is 0 */
		const char *newline = memchr(text, '\n', len);
		size_t one = newline ? (size_t)(newline - text) + 1 : len;
		if (l->count == room) {
			room *= 2;
			l->items = mem_resize(l->items, room, sizeof(*l->items));
		}
		l->items[l->count++] = (struct line){ text, one };
		text += one;
		len -= one;
	}
	l->is_edited = mem_zeroed(l->count + 1, sizeof(*l->is_edited));
}

static bool is_equal(const struct line *a, const struct line *b)
{
	return a->len == b->len && !memcmp(a->text, b->text, a->len);
}

/* --- what is other ------------------------------------------------------- */

/* The part of both texts that may differ: the common lines at the beginning and at the
 * end are left out. */
struct middle {
	struct lines *old, *new;
	size_t from;	/* index of the part's first line, in both texts */
	long n, m;	/* numbers of lines */
};

static struct middle middle_of(struct lines *old, struct lines *new)
{
	size_t front = 0, back = 0;
	size_t shorter = old->count < new->count ? old->count : new->count;

	while (front < shorter && is_equal(&old->items[front], &new->items[front]))
		front++;
	while (back < shorter - front && is_equal(&old->items[old->count - 1 - back],
						  &new->items[new->count - 1 - back]))
		back++;
	return (struct middle){ old, new, front, (long)(old->count - front - back),
				(long)(new->count - front - back) };
}

static bool is_match(const struct middle *w, long x, long y)
{
	return is_equal(&w->old->items[w->from + (size_t)x],
			&w->new->items[w->from + (size_t)y]);
}

/* The table of Myers' algorithm: for each number of edits d, a row with the furthest x
 * on each diagonal k. */
struct trace {
	int32_t *furthest; /* owned; row d has 2d + 1 entries, for k = -d to d */
	long d;		   /* number of the last row, in which the end of both texts was
			    * reached; -1: too many edits */
};

static int32_t *row_of(const struct trace *t, long d)
{
	return t->furthest + d * d + d; /* row d begins at d * d, with k = -d; so k = 0 is
					 * d entries further */
}

/* Returns whether the path to diagonal k comes from diagonal k + 1, by an added line,
 * and not from k - 1, by a removed line.  The diagonal that got further is chosen. */
static bool is_down(const struct trace *t, long d, long k)
{
	const int32_t *before = row_of(t, d - 1);

	return k == -d || (k != d && before[k - 1] < before[k + 1]);
}

static long start_of(const struct trace *t, long d, long k)
{
	if (d == 0)
		return 0;
	const int32_t *before = row_of(t, d - 1);
	return is_down(t, d, k) ? before[k + 1] : before[k - 1] + 1;
}

static bool extend_row(const struct middle *w, struct trace *t, long d)
{
	int32_t *row = row_of(t, d);

	for (long k = -d; k <= d; k += 2) {
		long x = start_of(t, d, k), y = x - k;
		while (x < w->n && y < w->m && is_match(w, x, y)) {
			x++;
			y++;
		}
		row[k] = (int32_t)x;
		if (x >= w->n && y >= w->m)
			return true;
	}
	return false;
}

static void mark(struct middle *w, bool is_old, long number)
{
	struct lines *l = is_old ? w->old : w->new;

	l->is_edited[w->from + (size_t)number] = true;
}

static void mark_all(struct middle *w)
{
	for (long i = 0; i < w->n; i++)
		mark(w, true, i);
	for (long i = 0; i < w->m; i++)
		mark(w, false, i);
}

/* Marks the edited lines, following the shortest path back from its end. */
static void mark_path(struct middle *w, const struct trace *t)
{
	long x = w->n, y = w->m;

	for (long d = t->d; d > 0; d--) {
		long k = x - y;
		bool down = is_down(t, d, k);
		const int32_t *before = row_of(t, d - 1);
		long was = down ? before[k + 1] : before[k - 1];
		if (down)
			mark(w, false, was - (k + 1));
		else
			mark(w, true, was);
		x = was;
		y = was - (down ? k + 1 : k - 1);
	}
}

static void mark_edits(struct lines *old, struct lines *new)
{
	struct middle w = middle_of(old, new);
	/* n + m edits are always enough: n lines removed and m added. */
	long enough = w.n + w.m < UNIFIED_EDITS ? w.n + w.m : UNIFIED_EDITS;
	struct trace t = { .d = -1 };

	/* The array may be large; its pages take memory only once they are written. */
	t.furthest =
		mem_new((size_t)(enough + 1) * (size_t)(enough + 1) * sizeof(int32_t));
	for (long d = 0; d <= enough && t.d < 0; d++)
		if (extend_row(&w, &t, d))
			t.d = d;
	if (t.d < 0)
		mark_all(&w);
	else
		mark_path(&w, &t);
	free(t.furthest);
}

/* --- shown ------------------------------------------------------------ */

static void put_line(FILE *to, char sign, const struct line *l)
{
	(void)fputc(sign, to);
	(void)fwrite(l->text, 1, l->len, to);
	if (l->text[l->len - 1] != '\n')
		(void)fputs("\n\\ No newline at end of file\n", to);
}

/* The lines of a hunk in both texts, from the first line to before the end. */
struct hunk {
	size_t old, old_end, new, new_end;
};

/* Prints the range of a hunk.  diff(1) counts lines from 1; an empty range is named by
 * the line before it. */
static void put_range(FILE *to, char sign, size_t from, size_t end)
{
	size_t count = end - from;

	(void)fprintf(to, "%c%zu", sign, count ? from + 1 : from);
	if (count != 1)
		(void)fprintf(to, ",%zu", count);
}

static void put_hunk(FILE *to, const struct lines *old, const struct lines *new,
		     const struct hunk *h)
{
	size_t i = h->old, j = h->new;

	(void)fputs("@@ ", to);
	put_range(to, '-', h->old, h->old_end);
	(void)fputc(' ', to);
	put_range(to, '+', h->new, h->new_end);
	(void)fputs(" @@\n", to);
	while (i < h->old_end || j < h->new_end) {
		if (i < h->old_end && old->is_edited[i])
			put_line(to, '-', &old->items[i++]);
		else if (j < h->new_end && new->is_edited[j])
			put_line(to, '+', &new->items[j++]);
		else {
			put_line(to, ' ', &old->items[i++]);
			j++;
		}
	}
}

static bool is_edit(const struct lines *old, const struct lines *new, size_t i, size_t j)
{
	return (i < old->count && old->is_edited[i]) ||
	       (j < new->count &&new->is_edited[j]);
}

/* Finds the end of a hunk.  The hunk ends at the first run of more than 2 * AROUND
 * equal lines; a shorter run is shown whole, as context. */
static void find_end(const struct lines *old, const struct lines *new, struct hunk *h)
{
	size_t i = h->old_end, j = h->new_end, same = 0;

	while ((i < old->count || j < new->count) && same <= 2 * AROUND) {
		if (is_edit(old, new, i, j)) {
			while (i < old->count && old->is_edited[i])
				i++;
			while (j < new->count && new->is_edited[j])
				j++;
			h->old_end = i;
			h->new_end = j;
			same = 0;
			continue;
		}
		i++;
		j++;
		same++;
	}
	size_t left = old->count - h->old_end;
	size_t more = left < AROUND ? left : AROUND;
	h->old_end += more;
	h->new_end += more;
}

static void put_hunks(FILE *to, const struct lines *old, const struct lines *new)
{
	size_t i = 0, j = 0, begin = 0;

	while (i < old->count || j < new->count) {
		if (!is_edit(old, new, i, j)) {
			i++;
			j++;
			continue;
		}
		size_t before = i - begin < AROUND ? i - begin : AROUND;
		struct hunk h = { i - before, i, j - before, j };
		find_end(old, new, &h);
		put_hunk(to, old, new, &h);
		begin = i = h.old_end;
		j = h.new_end;
	}
}

static void lines_done(struct lines *l)
{
	free(l->items);
	free(l->is_edited);
}

char *unified(const char *old, size_t old_len, const char *new, size_t new_len,
	      size_t *ret_len)
{
	struct lines a, b;
	char *text = NULL;
	size_t len = 0;

	split(&a, old, old_len);
	split(&b, new, new_len);
	mark_edits(&a, &b);
	FILE *to = mem_or_abort(open_memstream(&text, &len));
	put_hunks(to, &a, &b);
	mem_or_abort(fclose(to) == 0 ? text : NULL);
	lines_done(&a);
	lines_done(&b);
	*ret_len = len;
	return text;
}

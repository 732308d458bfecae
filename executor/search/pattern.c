#include "executor/search/pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "executor/search/pattern_parts.h"

/* --- the tree --------------------------------------------------------------- */

struct pattern {
	struct pattern_node *nodes; /* owned; nodes[0] is unused, since node number 0
				     * means that there is no node */
	uint32_t count, room;
	uint32_t root;
};

static uint32_t add_node(struct pattern *p, struct pattern_node node)
{
	if (p->count == p->room) {
		p->room = p->room ? 2 * p->room : 16;
		p->nodes = mem_resize(p->nodes, p->room, sizeof(*p->nodes));
	}
	p->nodes[p->count] = node;
	return p->count++;
}

static uint32_t add_kind(struct pattern *p, enum pattern_kind kind)
{
	return add_node(p, (struct pattern_node){ .kind = kind });
}

static void add_child(struct pattern *p, uint32_t parent, uint32_t child)
{
	p->nodes[child].before = p->nodes[parent].last;
	p->nodes[parent].last = child;
}

/* Adds a node for a set of characters, and takes over the content of `set`. Newlines and
 * surrogates are removed from the set, since no line has them. */
static uint32_t add_set(struct pattern *p, struct charset *set)
{
	struct charset *mine = mem_copy(set, sizeof(*set));

	charset_remove(mine, '\n', '\n');
	charset_remove(mine, 0xd800, 0xdfff);
	*set = (struct charset){ 0 };
	return add_node(p, (struct pattern_node){ .kind = PATTERN_SET, .set = mine });
}

static uint32_t add_codepoint(struct reader *r, uint32_t c)
{
	struct charset set = { 0 };

	charset_add(&set, c, c);
	if (r->ignores_case)
		charset_fold(&set);
	return add_set(r->made, &set);
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->count; i++) {
		charset_done(p->nodes[i].set);
		free(p->nodes[i].set);
	}
	free(p->nodes);
	free(p);
}

uint32_t pattern_count(const struct pattern *p)
{
	return p->count;
}

uint32_t pattern_root(const struct pattern *p)
{
	return p->root;
}

const struct pattern_node *pattern_node(const struct pattern *p, uint32_t at)
{
	return &p->nodes[at];
}

/* --- characters ------------------------------------------------------------- */

int reader_refuse(const struct reader *r, const uint8_t *where, const char *why)
{
	size_t number = utf8_count(r->text, (size_t)(where - r->text)) + 1;
	size_t len = (size_t)(r->end - where), shown = utf8_skip(where, len, 6);

	return err_set(r->e, ERR_USAGE, "the pattern at character %zu, `%.*s%s`: %s",
		       number, (int)shown, (const char *)where, shown < len ? "..." : "",
		       why);
}

uint32_t reader_codepoint(struct reader *r)
{
	static const uint8_t firsts[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	int len = utf8_char(r->at, (size_t)(r->end - r->at));
	uint32_t c = r->at[0] & firsts[len];

	for (int i = 1; i < len; i++)
		c = c << 6 | (r->at[i] & 0x3f);
	r->at += len;
	return c;
}

static bool is_next(const struct reader *r, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(r->end - r->at) >= len && memcmp(r->at, text, len) == 0;
}

static bool take(struct reader *r, const char *text)
{
	if (!is_next(r, text))
		return false;
	r->at += strlen(text);
	return true;
}

/* --- repetitions ------------------------------------------------------------ */

struct interval {
	uint32_t min, max;
};

/* Reads a decimal number. False: there is none. If the number is above
 * PATTERN_COUNT_MAX, *ret is some number above that limit, which the caller refuses. */
static bool read_number(const uint8_t **at, const uint8_t *end, uint32_t *ret)
{
	const uint8_t *from = *at;
	uint32_t n = 0;

	for (; *at < end && isdigit(**at); (*at)++)
		n = n > PATTERN_COUNT_MAX ? n : 10 * n + (uint32_t)(**at - '0');
	if (*at == from)
		return false;
	*ret = n;
	return true;
}

/* Reads a repetition {m}, {m,}, {m,n} or {,n}. False: the text is none of these, so the
 * { is an ordinary character, as in grep(1). */
static bool read_interval(struct reader *r, struct interval *ret)
{
	const uint8_t *at = r->at + 1;
	struct interval found = { 0, PATTERN_ENDLESS };
	bool has_min = read_number(&at, r->end, &found.min);
	bool has_comma = at < r->end && *at == ',';

	at += has_comma;
	bool has_max = has_comma && read_number(&at, r->end, &found.max);
	if (at == r->end || *at != '}' || (!has_min && !has_max))
		return false;
	if (!has_comma)
		found.max = found.min;
	r->at = at + 1;
	*ret = found;
	return true;
}

static bool read_repetition(struct reader *r, struct interval *ret)
{
	if (r->at == r->end)
		return false;
	switch (*r->at) {
	case '*':
		*ret = (struct interval){ 0, PATTERN_ENDLESS };
		break;
	case '+':
		*ret = (struct interval){ 1, PATTERN_ENDLESS };
		break;
	case '?':
		*ret = (struct interval){ 0, 1 };
		break;
	case '{':
		return read_interval(r, ret);
	default:
		return false;
	}
	r->at++;
	return true;
}

static int check_interval(const struct reader *r, const uint8_t *where, struct interval n)
{
	if (n.min > PATTERN_COUNT_MAX ||
	    (n.max != PATTERN_ENDLESS && n.max > PATTERN_COUNT_MAX))
		return reader_refuse(r, where, "1000 times is the most");
	if (n.max < n.min)
		return reader_refuse(r, where, "the first number is the smaller one");
	return 0;
}

static bool is_place(enum pattern_kind kind)
{
	return kind >= PATTERN_LINE_BEGIN;
}

/* Reads a repetition, if one follows, and applies it to *part. In other dialects a ?
 * behind a repetition makes it non-greedy, which does not change whether a line matches;
 * so the ? is skipped. */
static int repeat(struct reader *r, uint32_t *part)
{
	const uint8_t *where = r->at;
	struct interval n;

	if (!read_repetition(r, &n))
		return 0;
	if (check_interval(r, where, n) < 0)
		return -1;
	if (is_place(r->made->nodes[*part].kind))
		return reader_refuse(r, where,
				     "a place is there or not, so it cannot be repeated");
	uint32_t made = add_kind(r->made, PATTERN_REPEAT);
	r->made->nodes[made].min = n.min;
	r->made->nodes[made].max = n.max;
	add_child(r->made, made, *part);
	*part = made;
	(void)take(r, "?"); /* skips the ? of a non-greedy repetition */
	where = r->at;
	if (read_repetition(r, &n))
		return reader_refuse(
			r, where, "two repetitions in a row; put the first into (...)");
	return 0;
}

/* --- the grammar ------------------------------------------------------------ */

static int read_choice(struct reader *r, uint32_t *ret);

static bool has_sign(const struct reader *r, size_t after, const char *any)
{
	return (size_t)(r->end - r->at) > after && r->at[after] &&
	       strchr(any, r->at[after]);
}

static int refuse_question(const struct reader *r, const uint8_t *where)
{
	if (has_sign(r, 0, "P") || (has_sign(r, 0, "<") && !has_sign(r, 1, "=!")))
		return reader_refuse(r, where,
				     "there are no names of groups; write (...)");
	if (has_sign(r, 0, "=!<"))
		return reader_refuse(r, where, "there is no looking ahead or behind");
	return reader_refuse(r, where, "there are no options in a pattern; ignore_case is"
			     " an argument of the action");
}

/* Reads the rest of a group, whose ( has been read. */
static int read_group(struct reader *r, uint32_t *ret)
{
	const uint8_t *where = r->at - 1;

	if (!take(r, "?:") && take(r, "?"))
		return refuse_question(r, where);
	if (++r->depth > PATTERN_DEPTH_MAX)
		return reader_refuse(r, where, "more than 100 groups in one another");
	if (read_choice(r, ret) < 0)
		return -1;
	if (!take(r, ")"))
		return reader_refuse(r, where, "it is not closed by a );" ITSELF);
	r->depth--;
	return 0;
}

static int read_set(struct reader *r, uint32_t *ret)
{
	struct charset set = { 0 };

	if (reader_bracket(r, &set) < 0) {
		charset_done(&set);
		return -1;
	}
	*ret = add_set(r->made, &set);
	return 0;
}

static int read_escape(struct reader *r, uint32_t *ret)
{
	struct escape found;

	if (is_next(r, "b") || is_next(r, "B")) {
		*ret = add_kind(r->made,
				*r->at == 'b' ? PATTERN_WORD_EDGE : PATTERN_NO_EDGE);
		r->at++;
		return 0;
	}
	if (reader_escape(r, &found) < 0)
		return -1;
	*ret = found.is_set ? add_set(r->made, &found.set)
			    : add_codepoint(r, found.codepoint);
	return 0;
}

static uint32_t add_any(struct pattern *p)
{
	struct charset set = { 0 };

	charset_add(&set, 0, CODEPOINT_MAX);
	return add_set(p, &set);
}

static int read_sign(struct reader *r, uint32_t *ret)
{
	const uint8_t *where = r->at;
	uint32_t c = reader_codepoint(r);

	switch (c) {
	case '(':
		return read_group(r, ret);
	case '[':
		return read_set(r, ret);
	case '\\':
		return read_escape(r, ret);
	case ')':
		return reader_refuse(r, where, "it closes nothing;" ITSELF);
	case '\n':
		return reader_refuse(r, where,
				     "each line is looked at alone, and has no newline");
	case '.':
		*ret = add_any(r->made);
		return 0;
	case '^':
	case '$':
		*ret = add_kind(r->made,
				c == '^' ? PATTERN_LINE_BEGIN : PATTERN_LINE_END);
		return 0;
	default:
		*ret = add_codepoint(r, c);
		return 0;
	}
}

/* Reads one character, class, group or anchor, and the repetition that may follow. */
static int read_part(struct reader *r, uint32_t *ret)
{
	const uint8_t *where = r->at;
	struct interval n;

	if (read_repetition(r, &n))
		return reader_refuse(r, where, "it has nothing to repeat;" ITSELF);
	if (read_sign(r, ret) < 0)
		return -1;
	return repeat(r, ret);
}

static int read_sequence(struct reader *r, uint32_t *ret)
{
	uint32_t made = add_kind(r->made, PATTERN_CAT), part;

	while (r->at < r->end && *r->at != '|' && (*r->at != ')' || r->depth == 0)) {
		if (read_part(r, &part) < 0)
			return -1;
		add_child(r->made, made, part);
	}
	if (r->made->nodes[made].last == 0)
		r->made->nodes[made].kind = PATTERN_EMPTY;
	*ret = made;
	return 0;
}

static int read_choice(struct reader *r, uint32_t *ret)
{
	uint32_t made = add_kind(r->made, PATTERN_ALT), one;

	do {
		if (read_sequence(r, &one) < 0)
			return -1;
		add_child(r->made, made, one);
	} while (take(r, "|"));
	*ret = r->made->nodes[one].before ? made : one;
	return 0;
}

static int read_all(struct reader *r)
{
	size_t len = (size_t)(r->end - r->text);

	if (len > PATTERN_LENGTH_MAX)
		return err_set(r->e, ERR_LIMIT,
			       "the pattern has %zu bytes; %d is the most", len,
			       PATTERN_LENGTH_MAX);
	if (!utf8_is_valid(r->text, len, false))
		return err_set(r->e, ERR_USAGE, "the pattern is not UTF-8");
	(void)add_kind(r->made, PATTERN_EMPTY); /* takes number 0, which stands for no
						 * node */
	return read_choice(r, &r->made->root);
}

int pattern_new(struct pattern **ret, const char *text, bool ignores_case, struct err *e)
{
	struct pattern *made = mem_zeroed(1, sizeof(*made));
	const uint8_t *from = (const uint8_t *)text;
	struct reader r = { .text = from, .at = from, .end = from + strlen(text),
			    .made = made, .ignores_case = ignores_case, .e = e };

	if (read_all(&r) < 0) {
		pattern_free(made);
		return -1;
	}
	*ret = made;
	return 0;
}

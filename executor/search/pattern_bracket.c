#include "executor/search/pattern_parts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"

/* --- classes ----------------------------------------------------------------- */

/* The ASCII ranges of the classes [:NAME:], as pairs of characters: from, to. */
static const struct {
	const char *name, *ranges;
} classes[] = {
	{ "alnum", "09AZaz" },	{ "alpha", "AZaz" },	{ "blank", "\t\t  " },
	{ "cntrl", "\1\x1f\x7f\x7f" }, { "digit", "09" }, { "graph", "!~" },
	{ "lower", "az" },	{ "print", " ~" },	{ "punct", "!/:@[`{~" },
	{ "space", "\t\r  " },	{ "upper", "AZ" },	{ "xdigit", "09AFaf" },
};

static void add_ranges(struct charset *s, const char *ranges)
{
	for (; *ranges; ranges += 2)
		charset_add(s, (uint8_t)ranges[0], (uint8_t)ranges[1]);
	charset_settle(s);
}

/* --- escapes ------------------------------------------------------------------ */

static bool class_of(char letter, struct charset *set)
{
	static const char *const of[] = {
		['d'] = "09", ['w'] = "09AZ__az", ['s'] = "\t\r  "
	};
	int small = tolower((uint8_t)letter);

	if (small != 'd' && small != 'w' && small != 's')
		return false;
	add_ranges(set, of[small]);
	if (letter != small)
		charset_negate(set);
	return true;
}

static int refuse_escape(struct reader *r, const uint8_t *where)
{
	uint8_t c = where[1];
	char why[160];

	if (c == '<' || c == '>')
		snprintf(why, sizeof(why),
			 "some read it as a word's edge, others as the character;"
			 " write \\b or [%c]",
			 c);
	else if (c == 'n')
		snprintf(why, sizeof(why),
			 "each line is looked at alone, and has no newline");
	else if (isdigit(c))
		snprintf(why, sizeof(why), "there are no back-references");
	else
		snprintf(
			why, sizeof(why),
			"there is no such escape; there are"
			" \\b \\B \\d \\D \\s \\S \\w \\W \\t \\r \\f \\v and quoted signs");
	return reader_refuse(r, where, why);
}

int reader_escape(struct reader *r, struct escape *ret)
{
	static const char letters[] = "trfv", meant[] = "\t\r\f\v";
	const uint8_t *where = r->at - 1;

	*ret = (struct escape){ 0 };
	if (r->at == r->end)
		return reader_refuse(r, where, "it quotes nothing;" ITSELF);
	uint32_t c = reader_codepoint(r);
	const char *letter = c < 128 ? strchr(letters, (int)c) : NULL;
	if (c < 128 && class_of((char)c, &ret->set)) {
		ret->is_set = true;
		return 0;
	}
	if (!letter && c < 128 && (isalnum((int)c) || c == '<' || c == '>'))
		return refuse_escape(r, where);
	ret->codepoint = letter ? (uint8_t)meant[letter - letters] : c;
	return 0;
}

/* --- brackets ----------------------------------------------------------------- */

static int refuse_open(const struct reader *r, const uint8_t *from)
{
	return reader_refuse(r, from, "it is not closed by a ];" ITSELF);
}

/* Reads [:NAME:]; the caller has seen that it begins with "[:". */
static int read_class(struct reader *r, struct charset *set)
{
	const uint8_t *where = r->at;
	const uint8_t *name = where + 2;
	const uint8_t *end = memmem(name, (size_t)(r->end - name), ":]", 2);

	for (size_t i = 0; end && i < ARRAY_LEN(classes); i++) {
		size_t len = strlen(classes[i].name);
		if ((size_t)(end - name) != len ||
		    memcmp(name, classes[i].name, len) != 0)
			continue;
		add_ranges(set, classes[i].ranges);
		r->at = end + 2;
		return 0;
	}
	return reader_refuse(
		r, where,
		"there is no such class; there are alnum alpha blank cntrl"
		" digit graph lower print punct space upper xdigit, as [[:alpha:]]");
}

/* Reads one member of a bracket: a character, an escape, or a class [:NAME:]. */
static int read_item(struct reader *r, struct escape *ret)
{
	const uint8_t *where = r->at;
	uint8_t next = r->end - where > 1 ? where[1] : 0;

	*ret = (struct escape){ 0 };
	if (*where == '[' && (next == '.' || next == '='))
		return reader_refuse(r, where, "there are no collating elements;"
				     " for the character [ put a backslash in front");
	if (*where == '[' && next == ':') {
		ret->is_set = true;
		return read_class(r, &ret->set);
	}
	ret->codepoint = reader_codepoint(r);
	if (ret->codepoint != '\\')
		return 0;
	if (r->at == r->end || *r->at != 'n')
		return reader_escape(r, ret);
	ret->codepoint = '\n'; /* a newline may be named here, in [^\n]; no line has one,
			        * so this is the same as `.` */
	r->at++;
	return 0;
}

/* Reads the second character of a range, whose - has been read, and adds the range. */
static int read_range(struct reader *r, struct escape from, struct charset *set)
{
	const uint8_t *where = r->at - 1;
	struct escape to;
	int rc = read_item(r, &to);

	if (rc == 0 && (from.is_set || to.is_set))
		rc = reader_refuse(r, where, "a range is of two characters;"
				   " the - itself stands first, or last");
	else if (rc == 0 && to.codepoint < from.codepoint)
		rc = reader_refuse(r, where, "the range ends before it begins");
	charset_done(&to.set);
	if (rc == 0)
		charset_add(set, from.codepoint, to.codepoint);
	return rc;
}

static bool is_range(const struct reader *r)
{
	return r->end - r->at > 1 && r->at[0] == '-' && r->at[1] != ']';
}

static int read_member(struct reader *r, struct charset *set)
{
	struct escape item;
	int rc = read_item(r, &item);

	if (rc == 0 && is_range(r)) {
		r->at++;
		rc = read_range(r, item, set);
	} else if (rc == 0 && item.is_set) {
		charset_add_all(set, &item.set);
	} else if (rc == 0) {
		charset_add(set, item.codepoint, item.codepoint);
	}
	charset_done(&item.set);
	return rc;
}

int reader_bracket(struct reader *r, struct charset *set)
{
	const uint8_t *from = r->at - 1;
	bool is_not = r->at < r->end && *r->at == '^';
	r->at += is_not;
	const uint8_t *first = r->at;

	while (r->at < r->end && (*r->at != ']' || r->at == first))
		if (read_member(r, set) < 0)
			return -1;
	if (r->at == r->end)
		return refuse_open(r, from);
	if (r->at - first > 2 && *first == ':' && r->at[-1] == ':')
		return reader_refuse(r, from,
				     "a class stands in two pairs, as [[:alpha:]]");
	r->at++;
	charset_settle(set);
	/* Letters get their other case before the set is negated: [^a] is then neither a
	 * nor A. */
	if (r->ignores_case)
		charset_fold(set);
	if (is_not)
		charset_negate(set);
	return 0;
}

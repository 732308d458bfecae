#include "executor/search/glob.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"

struct glob {
	struct list branches; /* owned; one pattern without braces for each combination
			       * of choices in the pattern's braces */
};

/* --- characters ------------------------------------------------------------------ */

/* Returns the code point at *at, and moves *at behind it. Each byte of invalid UTF-8
 * gives a value of its own above all code points. */
static uint32_t next_char(const char **at)
{
	const uint8_t *p = (const uint8_t *)*at;
	size_t len = utf8_length(p, strnlen(*at, 4));
	uint32_t c = len < 2 ? p[0] : p[0] & (0x7fu >> len);

	if (len == 0) {
		(*at)++;
		return 0x110000u + p[0];
	}
	for (size_t i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3fu);
	*at += len;
	return c;
}

static bool is_slash_or_end(char c)
{
	return c == '\0' || c == '/';
}

/* Returns the end, behind the ']', of the character class whose '[' is at `at`. NULL:
 * there is no ']', so the '[' is an ordinary character. */
static const char *class_end(const char *at)
{
	at++;
	if (*at == '!' || *at == '^')
		at++;
	if (*at == ']')
		at++;
	while (*at && *at != ']' && *at != '/') {
		if (*at == '\\' && !is_slash_or_end(at[1]))
			at++;
		at++;
	}
	return *at == ']' ? at + 1 : NULL;
}

static uint32_t class_char(const char **at)
{
	if (**at == '\\' && (*at)[1])
		(*at)++;
	return next_char(at);
}

static bool class_has(const char *at, const char *end, uint32_t c)
{
	bool is_other = at[1] == '!' || at[1] == '^', is_in = false;

	at += is_other ? 2 : 1;
	for (bool is_first = true; is_first || at < end - 1; is_first = false) {
		uint32_t low = class_char(&at), high = low;
		if (*at == '-' && at + 1 < end - 1) {
			at++;
			high = class_char(&at);
		}
		is_in = is_in || (c >= low && c <= high);
	}
	return is_in != is_other;
}

/* --- one part --------------------------------------------------------------------- */

/* Matches one character or class of the pattern with one character of the name, and
 * moves both on; false: they differ. The caller handles `*`. */
static bool match_one(const char **pattern, const char **name)
{
	const char *p = *pattern, *end = *p == '[' ? class_end(p) : NULL;
	bool is_any = *p == '?';

	if (is_slash_or_end(**name))
		return false;
	uint32_t c = next_char(name);
	if (end || is_any) {
		*pattern = end ? end : p + 1;
		return is_any || class_has(p, end, c);
	}
	if (*p == '\\' && !is_slash_or_end(p[1]))
		p++;
	if (is_slash_or_end(*p))
		return false;
	uint32_t wanted = next_char(&p);
	*pattern = p;
	return wanted == c;
}

/* Matches the first component of the pattern with the first component of the path. After
 * a mismatch only the last `*` is tried again with more text: all text in front of it
 * was matched as early as possible. */
static bool match_part(const char *p, const char *name)
{
	const char *star = NULL, *again = NULL;

	if (*name == '.' && *p != '.' && !(p[0] == '\\' && p[1] == '.'))
		return false;
	for (;;) {
		if (*p == '*') {
			star = ++p;
			again = name;
			continue;
		}
		if (is_slash_or_end(*p) && is_slash_or_end(*name))
			return true;
		if (match_one(&p, &name))
			continue;
		if (!star || is_slash_or_end(*again))
			return false;
		(void)next_char(&again);
		p = star;
		name = again;
	}
}

/* --- all parts --------------------------------------------------------------------- */

static bool is_any_folders(const char *p)
{
	return p[0] == '*' && p[1] == '*' && is_slash_or_end(p[2]);
}

/* Returns the next component of the path or pattern; NULL: this one is the last. */
static const char *next_part(const char *at)
{
	at += strcspn(at, "/");
	return *at ? at + 1 : NULL;
}

/* Matches all components of a pattern with those of a path. After a mismatch only the
 * last `**` is tried again. `is_begin`: `path` is a folder; returns whether a path below
 * it can match. */
static bool match_parts(const char *p, const char *path, bool is_begin)
{
	const char *star = NULL, *again = NULL;

	for (;;) {
		if (p && is_any_folders(p)) {
			star = next_part(p);
			again = path;
			if (!star) /* `**` at the pattern's end has an implied `*` behind
				    * it: it matches all that is below, and nothing
				    * hidden */
				star = "*";
			p = star;
			continue;
		}
		if (!path)
			return is_begin ? p != NULL || star : !p;
		if (p && match_part(p, path)) {
			p = next_part(p);
			path = next_part(path);
			continue;
		}
		if (!star || !again || *again == '.')
			return false;
		again = next_part(again);
		path = again;
		p = star;
		if (!path)
			return is_begin;
	}
}

bool glob_matches(const struct glob *g, const char *path)
{
	for (size_t i = 0; i < g->branches.count; i++)
		if (match_parts(g->branches.items[i], path, false))
			return true;
	return false;
}

bool glob_leads_to(const struct glob *g, const char *path)
{
	for (size_t i = 0; i < g->branches.count; i++)
		if (match_parts(g->branches.items[i], path, true))
			return true;
	return false;
}

/* --- braces ------------------------------------------------------------------------ */

struct braces {
	const char *open, *close; /* the first pair of braces that has a comma; NULL:
				   * there is none */
};

/* Returns the end of the character, escape or class at `at`. A '[' without a ']' means
 * that no later '[' up to the next slash has one either: *open is set to that slash (or
 * the end), so that the ']' is searched for only once. At first *open must not be behind
 * `at`. */
static const char *skip(const char *at, const char **open)
{
	const char *end = *at == '[' && at >= *open ? class_end(at) : NULL;

	if (end)
		return end;
	if (*at == '[' && at >= *open)
		*open = at + strcspn(at, "/");
	return at + (at[0] == '\\' && at[1] ? 2 : 1);
}

/* Returns the '}' that closes the braces opened at `at`, and whether they have a comma
 * that is not inside inner braces. NULL: they are not closed. */
static const char *find_close(const char *at, bool *ret_has_comma)
{
	const char *open = at;
	int depth = 0;

	*ret_has_comma = false;
	for (; *at; at = skip(at, &open)) {
		depth += *at == '{';
		*ret_has_comma = *ret_has_comma || (*at == ',' && depth == 1);
		if (*at == '}' && --depth == 0)
			return at;
	}
	return NULL;
}

static struct braces find_braces(const char *at)
{
	for (const char *open = at; *at; at = skip(at, &open)) {
		bool has_comma;
		const char *close = *at == '{' ? find_close(at, &has_comma) : NULL;
		if (close && has_comma)
			return (struct braces){ at, close };
	}
	return (struct braces){ 0 };
}

/* Returns the next comma that is not inside inner braces, or the end of the braces. */
static const char *choice_end(const char *at, const char *close)
{
	const char *open = at;
	int depth = 0;

	for (; at < close; at = skip(at, &open)) {
		if (*at == ',' && depth == 0)
			return at;
		depth += (*at == '{') - (*at == '}');
	}
	return close;
}

/* Replaces several slashes in a row by one, as the paths to be matched have them. */
static void squeeze(char *branch)
{
	char *to = branch;

	for (const char *at = branch; *at; at++)
		if (*at != '/' || at[1] != '/')
			*to++ = *at;
	*to = '\0';
}

/* Puts a backslash in front of each '[' that has no ']'; otherwise each match would
 * search for the ']' again. The caller frees the result. */
static char *without_open(const char *branch)
{
	char *to = mem_new(2 * strlen(branch) + 1), *end = to;
	const char *open = branch;

	for (const char *at = branch, *next; *at; at = next) {
		next = skip(at, &open);
		if (*at == '[' && at < open)
			*end++ = '\\';
		end = mempcpy(end, at, (size_t)(next - at));
	}
	*end = '\0';
	return to;
}

static void add_branch(struct glob *g, const char *branch)
{
	AUTO_FREE char *closed = without_open(branch);

	squeeze(closed);
	list_add(&g->branches, closed);
}

/* Replaces a pattern that has braces by one pattern for each choice in the first braces,
 * until no pattern has any; the list of patterns serves as the queue. False: there are
 * too many. */
static bool expand(struct glob *g, const char *pattern)
{
	struct list waiting = { 0 };
	bool is_fine = true;

	list_add(&waiting, pattern);
	for (size_t i = 0; is_fine && i < waiting.count; i++) {
		const char *one = waiting.items[i];
		struct braces b = find_braces(one);
		if (!b.open)
			add_branch(g, one);
		for (const char *at = b.open; at && at < b.close && is_fine;) {
			const char *end = choice_end(at + 1, b.close);
			list_addf(&waiting, "%.*s%.*s%s", (int)(b.open - one), one,
				  (int)(end - at - 1), at + 1, b.close + 1);
			one = waiting.items[i];
			is_fine = waiting.count <= 2 * GLOB_BRANCHES;
			at = end;
		}
	}
	list_done(&waiting);
	return is_fine && g->branches.count <= GLOB_BRANCHES;
}

/* --- a pattern ---------------------------------------------------------------------- */

static const char *fault_of(const char *branch)
{
	if (!*branch)
		return "An empty pattern matches nothing.";
	if (*branch == '/')
		return "The pattern begins with a slash, or one of its braces does; 'path' says "
		       "where it begins.";
	for (const char *p = branch; p; p = next_part(p))
		if (p[0] == '.' && (is_slash_or_end(p[1]) ||
				    (p[1] == '.' && is_slash_or_end(p[2]))))
			return "A pattern has no parts '.' and '..'; 'path' says where it "
			       "begins.";
	return NULL;
}

struct glob *glob_new(const char *pattern, const char **ret_why)
{
	struct glob *g = mem_zeroed(1, sizeof(*g));

	*ret_why = expand(g, pattern) ? NULL : "The pattern has too many alternatives.";
	for (size_t i = 0; !*ret_why && i < g->branches.count; i++)
		*ret_why = fault_of(g->branches.items[i]);
	if (!*ret_why)
		return g;
	glob_free(g);
	return NULL;
}

void glob_free(struct glob *g)
{
	if (!g)
		return;
	list_done(&g->branches);
	free(g);
}

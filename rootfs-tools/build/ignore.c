#include "rootfs-tools/build/ignore.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

/* --- one pattern ---------------------------------------------------------------- */

/* Returns whether `c` is in the class [...]; *at is moved after the class's ']', or
 * set to NULL if there is none. */
static bool in_class(const char **at, char c)
{
	const char *p = *at + 1;
	bool is_not = *p == '^', is_in = false;

	p += is_not;
	do {
		unsigned char from, to;
		p += *p == '\\' && p[1];
		if (!*p) {
			*at = NULL;
			return false;
		}
		from = to = (unsigned char)*p++;
		if (*p == '-' && p[1] && p[1] != ']') {
			p++;
			p += *p == '\\' && p[1];
			to = (unsigned char)*p++;
		}
		is_in |= from <= (unsigned char)c && (unsigned char)c <= to;
	} while (*p && *p != ']');
	*at = *p ? p + 1 : NULL;
	return is_in != is_not;
}

/* Matches one letter of the pattern with one letter of the path; *p is moved after
 * the letter of the pattern. */
static bool matches_one(const char **p, char c)
{
	if (!c || c == '/')
		return **p == c && c && (*p)++;
	if (**p == '[') {
		const char *at = *p;
		bool is_in = in_class(&at, c);
		if (at)
			*p = at;
		return at && is_in;
	}
	if (**p == '\\' && (*p)[1])
		(*p)++;
	else if (**p == '?') {
		(*p)++;
		return true;
	}
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

/* Returns the length of "**" and a slash after it, or 0.  With the slash, "**" matches
 * any number of whole path parts; without, the rest of the path. */
static size_t double_star(const char *p)
{
	if (p[0] != '*' || p[1] != '*')
		return 0;
	return p[2] == '/' ? 3 : 2;
}

/* Where to continue after a mismatch: p in the pattern after the last '*' or "**", s in
 * the path.  A '*' then takes one more letter, but no slash; "**" takes any letter.
 * Only the last of each kind is tried again, which bounds the time. */
struct retry {
	const char *p, *s;
};

static bool again(struct retry *r, bool crosses, const char **p, const char **s)
{
	if (!r->p || !*r->s || (!crosses && *r->s == '/'))
		return false;
	r->s++;
	*p = r->p;
	*s = r->s;
	return true;
}

/* Tries a double star again at a later position.  After "**" with a slash, only
 * positions at the start of a path part are tried. */
static bool again_double(struct retry *r, bool whole, const char **p, const char **s)
{
	do {
		if (!again(r, true, p, s))
			return false;
	} while (whole && (*s)[-1] != '/');
	return true;
}

bool pattern_matches(const char *pattern, const char *path)
{
	struct retry star = { 0 }, stars = { 0 };
	const char *p = pattern, *s = path;
	bool whole = false;

	for (;;) {
		size_t len = double_star(p);
		if (len) {
			whole = len == 3;
			p += len;
			stars = (struct retry){ p, s };
			star = (struct retry){ 0 };
			if (!*p && len == 2)
				return true;
		} else if (*p == '*') {
			star = (struct retry){ ++p, s };
		} else if (!*p && !*s) {
			return true;
		} else if (*s && *p && matches_one(&p, *s)) {
			s++;
		} else if (!again(&star, false, &p, &s)) {
			star = (struct retry){ 0 };
			if (!again_double(&stars, whole, &p, &s))
				return false;
		}
	}
}

bool pattern_is_one(const char *text)
{
	return strpbrk(text, "*?[\\") != NULL;
}

/* --- the file ------------------------------------------------------------------- */

/* Returns the pattern without blanks and slashes around it, and without "." and empty
 * parts; ".." removes one part, as in Go's path.Clean. */
static char *cleaned(const char *text, size_t len)
{
	char *clean = mem_new(len + 1);
	size_t at = 0;

	for (size_t i = 0, end; i < len; i = end + 1) {
		for (end = i; end < len && text[end] != '/';)
			end++;
		if (end == i || (end == i + 1 && text[i] == '.'))
			continue;
		if (end == i + 2 && !memcmp(text + i, "..", 2)) {
			while (at && clean[--at] != '/') {
				/* drop the part before the ".." */
			}
			continue;
		}
		if (at)
			clean[at++] = '/';
		memcpy(clean + at, text + i, end - i);
		at += end - i;
	}
	clean[at] = '\0';
	return clean;
}

/* Removes blanks at both ends. */
static void trim(const char **at, size_t *len)
{
	while (*len && isspace((unsigned char)**at)) {
		(*at)++;
		(*len)--;
	}
	while (*len && isspace((unsigned char)(*at)[*len - 1]))
		(*len)--;
}

static void add_rule(struct ignore *i, const char *at, size_t len)
{
	bool is_comment = len && *at == '#';

	trim(&at, &len);
	if (!len || is_comment)
		return;
	bool brings_back = *at == '!';
	at += brings_back;
	len -= brings_back;
	trim(&at, &len);
	AUTO_FREE char *pattern = cleaned(at, len);
	if (!*pattern)
		return;
	i->rules = mem_resize(i->rules, i->count + 1, sizeof(*i->rules));
	i->rules[i->count++] = (struct ignore_rule){ pattern, brings_back };
	i->brings_back |= brings_back;
	pattern = NULL;
}

int ignore_read(const char *text, size_t len, const char *name, struct ignore *ret,
		struct err *e)
{
	struct ignore i = { 0 };

	if (memchr(text, '\0', len))
		return err_set(e, ERR_USAGE,
			       "%.200s: a 0 byte is in it, so it is no text", name);
	for (const char *at = text, *end = text + len, *stop; at < end; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop)
			stop = end;
		add_rule(&i, at, (size_t)(stop - at));
		if (i.count > IGNORE_PATTERNS) {
			ignore_done(&i);
			return err_set(e, ERR_LIMIT, "%.200s: more than %u patterns",
				       name, IGNORE_PATTERNS);
		}
	}
	*ret = i;
	return 0;
}

void ignore_done(struct ignore *i)
{
	for (size_t n = 0; n < i->count; n++)
		free(i->rules[n].pattern);
	free(i->rules);
	*i = (struct ignore){ 0 };
}

/* Returns whether the pattern matches the path or one of its parent folders. */
static bool matches_above(const char *pattern, const char *path)
{
	AUTO_FREE char *part = text_copy(path);

	for (;;) {
		if (pattern_matches(pattern, part))
			return true;
		char *slash = strrchr(part, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
}

bool ignore_has(const struct ignore *i, const char *path)
{
	bool is_out = false;

	for (size_t n = 0; n < i->count; n++)
		if (is_out == i->rules[n].brings_back &&
		    matches_above(i->rules[n].pattern, path))
			is_out = !i->rules[n].brings_back;
	return is_out;
}

bool ignore_has_all_below(const struct ignore *i, const char *folder)
{
	return !i->brings_back && ignore_has(i, folder);
}

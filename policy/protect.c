#include "policy/protect.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"
#include "policy/wildcard.h"

#define ANY_NAMES "**"

/* --- names as the widest of file systems takes them ------------------------------- */

static const struct {
	uint32_t code;
	const char *is;
} folds[] = {
	{ 0xdf, "ss" },	   { 0x17f, "s" },   { 0x1e9e, "ss" }, { 0x212a, "k" },
	{ 0xfb00, "ff" },  { 0xfb01, "fi" }, { 0xfb02, "fl" }, { 0xfb03, "ffi" },
	{ 0xfb04, "ffl" }, { 0xfb05, "st" }, { 0xfb06, "st" },
};

static const struct {
	uint32_t first, last;
} ignored[] = {
	{ 0xad, 0xad },	      { 0x34f, 0x34f },	    { 0x61c, 0x61c },
	{ 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
	{ 0x200b, 0x200f },   { 0x202a, 0x202e },   { 0x2060, 0x206f },
	{ 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfff8 },   { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

/* Returns the ASCII text that replaces a code point for comparisons; "": the code point
 * is ignored; NULL: it stays as it is. */
static const char *fold_code(uint32_t code)
{
	for (size_t i = 0; i < ARRAY_LEN(folds); i++)
		if (folds[i].code == code)
			return folds[i].is;
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		if (code >= ignored[i].first && code <= ignored[i].last)
			return "";
	return NULL;
}

/* Writes the name in the form that is compared.  The result is never longer than the
 * name, since no replacement has more bytes than its code point.  A name of which
 * nothing would be left stays as it is. */
static size_t fold_name(const char *name, size_t len, char *to)
{
	char *out = to;

	for (size_t i = 0; i < len;) {
		size_t size = utf8_length(name + i, len - i);
		const char *is =
			size > 1 ? fold_code(utf8_code((const uint8_t *)name + i, size))
				 : NULL;
		if (is)
			out = stpcpy(out, is);
		else if (size > 1)
			out = mempcpy(out, name + i, size);
		else /* this also copies a byte that is no valid UTF-8 */
			*out++ = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20
									 : name[i]);
		i += size ? size : 1;
	}
	if (out == to && len)
		out = mempcpy(out, name, len);
	return (size_t)(out - to);
}

static void fold_text(const char *text, char *to)
{
	while (*text) {
		size_t len = strcspn(text, "/");
		to += fold_name(text, len, to);
		text += len;
		if (*text)
			*to++ = *text++;
	}
	*to = '\0';
}

/* Returns the length of a name without the dots and spaces at its end, which some file
 * systems ignore. */
static size_t name_len(const char *name, size_t len)
{
	const size_t whole = len;

	while (len > 0 && (name[len - 1] == '.' || name[len - 1] == ' '))
		len--;
	return len ? len : whole;
}

/* Returns the next name of a folded path and moves *at past it; NULL at the end. */
static const char *next_name(const char **at, size_t *ret_len)
{
	const char *name = *at + strspn(*at, "/");
	size_t len = strcspn(name, "/");

	*at = name + len;
	*ret_len = name_len(name, len);
	return len ? name : NULL;
}

/* --- a pattern -------------------------------------------------------------------- */

struct pattern {
	char *given, *folded; /* owned */
	bool is_anchored;
	size_t count;
	struct {
		const char *at; /* in `folded` */
		size_t len;
		bool is_any; /* the name is "**" */
	} names[PROTECT_NAMES_MAX];
};

static void read_pattern(const char *text, struct pattern *ret)
{
	const char *at = ret->folded = mem_new(strlen(text) + 1);
	size_t len;

	ret->given = text_copy(text);
	fold_text(text, ret->folded);
	ret->is_anchored = *text == '/';
	for (const char *name;
	     ret->count < PROTECT_NAMES_MAX && (name = next_name(&at, &len));) {
		ret->names[ret->count].at = name;
		ret->names[ret->count].len = len;
		ret->names[ret->count++].is_any = len == 2 && !memcmp(name, ANY_NAMES, 2);
	}
}

/* Sets of positions in a pattern: bit N means that its first N names have matched.
 * After a position before a "**", adds the position behind it, since a "**" may match
 * no name at all. */
static uint64_t pass_any(const struct pattern *p, uint64_t met)
{
	for (size_t i = 0; i < p->count; i++)
		if (met >> i & 1 && p->names[i].is_any)
			met |= 2ull << i;
	return met;
}

/* Advances the set of positions by one more name of the path.  *ret_here: the positions
 * that this name itself has reached, without those where a "**" only continues. */
static uint64_t step(const struct pattern *p, uint64_t met, const char *name, size_t len,
		     uint64_t *ret_here)
{
	uint64_t here = 0, on = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (!(met >> i & 1))
			continue;
		if (p->names[i].is_any)
			on |= 1ull << i;
		else if (wildcard_matches(p->names[i].at, p->names[i].len, name, len))
			here |= 2ull << i;
	}
	*ret_here = pass_any(p, here);
	return *ret_here | pass_any(p, on);
}

static enum protected find(const struct pattern *p, const char *path)
{
	const uint64_t start = pass_any(p, 1);
	uint64_t met = start, here = 0;
	const char *name;
	size_t len;

	while ((name = next_name(&path, &len))) {
		met = step(p, met, name, len, &here);
		if (met >> p->count & 1)
			return PROTECTED_YES;
		if (!p->is_anchored)
			met |= start;
	}
	if (here & ~start)
		return PROTECTED_ABOVE;
	return met & ~start ? PROTECTED_AMONG : PROTECTED_NOT;
}

/* --- all -------------------------------------------------------------------------- */

struct protect {
	struct pattern *patterns; /* owned */
	size_t count;
};

struct protect *protect_new(const struct list *patterns)
{
	struct protect *p = mem_zeroed(1, sizeof(*p));

	p->count = patterns->count;
	p->patterns = mem_zeroed(p->count, sizeof(*p->patterns));
	for (size_t i = 0; i < p->count; i++)
		read_pattern(patterns->items[i], &p->patterns[i]);
	return p;
}

void protect_free(struct protect *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++) {
		free(p->patterns[i].given);
		free(p->patterns[i].folded);
	}
	free(p->patterns);
	free(p);
}

enum protected protect_find(const struct protect *p, const char *path, const char **ret)
{
	AUTO_FREE char *folded = mem_new(strlen(path) + 1);
	enum protected most = PROTECTED_NOT;

	fold_text(path, folded);
	for (size_t i = 0; i < p->count && most < PROTECTED_YES; i++) {
		enum protected is = find(&p->patterns[i], folded);
		if (is > most && ret)
			*ret = p->patterns[i].given;
		most = is > most ? is : most;
	}
	return most;
}

static int wrong(const char *pattern, const char *why, struct err *e)
{
	return err_set(e, ERR_USAGE, "'%.200s' %s", pattern, why);
}

int protect_check(const char *pattern, struct err *e)
{
	char text[PROTECT_BYTES_MAX + 1];
	size_t count = 0, named = 0, len;

	if (strlen(pattern) > PROTECT_BYTES_MAX)
		return err_set(e, ERR_USAGE, "a pattern has %d bytes at most",
			       PROTECT_BYTES_MAX);
	fold_text(pattern, text);
	for (const char *at = text + strspn(text, "/"); *at;
	     at += len + strspn(at + len, "/")) {
		len = strcspn(at, "/");
		if (len <= 2 && !strncmp(at, "..", len))
			return wrong(pattern, "has '.' or '..' in it", e);
		bool is_any = len == 2 && !strncmp(at, ANY_NAMES, len);
		if (!is_any && len > 1 && memmem(at, len, ANY_NAMES, 2))
			return wrong(pattern,
				     "has '**' beside other characters of a name", e);
		named += !is_any && !(len == 1 && *at == '*');
		count++;
	}
	if (!named)
		return wrong(pattern, "names nothing", e);
	if (count > PROTECT_NAMES_MAX)
		return err_set(e, ERR_USAGE, "a pattern has %d names at most",
			       PROTECT_NAMES_MAX);
	return 0;
}

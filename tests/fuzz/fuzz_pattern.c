/* Arbitrary patterns over arbitrary texts: nothing is read beyond the text, a
 * found line is a line of the text, and the same lines are found in the whole
 * text as in each line alone.  Patterns that libc's regcomp(3) interprets in
 * the same way find the same lines there.  The input is a byte of options, the
 * pattern, a byte 0, and the text. */
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/search/nfa_match.h"
#include "executor/search/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_MAX 512

static void must(bool is_so)
{
	if (!is_so)
		abort();
}

/* glibc's repetition counts use unbounded memory, and its locale here is that
 * of bytes.  The two agree on the remaining patterns. */
static bool is_common(const char *pattern)
{
	for (const char *c = pattern; *c; c++)
		if ((uint8_t)*c >= 0x80 || strchr("\\{[", *c) ||
		    (c > pattern && strchr("*+?", *c) && strchr("*+?", c[-1])))
			return false;
	return strlen(pattern) < 24 && !strstr(pattern, "(?");
}

static void compare(const char *pattern, bool ignores_case, const char *line,
		    bool is_found)
{
	regex_t r;

	if (regcomp(&r, pattern,
		    REG_EXTENDED | REG_NOSUB | (ignores_case ? REG_ICASE : 0)))
		return;
	must((regexec(&r, line, 0, NULL, 0) == 0) == is_found);
	regfree(&r);
}

static bool is_plain(const uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (at[i] == 0 || at[i] >= 0x80 || at[i] == '\r')
			return false;
	return true;
}

/* Checks one line, without its newline: `is_found` tells whether it was found
 * in the whole text. */
static void check_line(struct nfa_match *m, struct line line, bool is_found)
{
	size_t len = (size_t)(line.end - line.start);
	AUTO_FREE uint8_t *alone = mem_copy(line.start, len);
	struct line found;

	if (len > 0)
		must(nfa_match_find(m, alone, alone + len, &found) == is_found);
	if (len > 0 && is_found)
		must(found.start == alone && found.end == alone + len);
}

static void check_text(struct nfa_match *m, const uint8_t *text, size_t len,
		       const char *pattern, bool ignores_case)
{
	const uint8_t *at = text, *end = text + len;
	struct line next = { NULL, NULL };
	bool is_more = nfa_match_find(m, at, end, &next);

	while (at < end) {
		const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
		struct line line = { at, newline ? newline : end };
		bool is_found = is_more && next.start == at;
		must(!is_found || next.end == line.end);
		check_line(m, line, is_found);
		size_t line_len = (size_t)(line.end - at);
		if (is_common(pattern) && is_plain(at, line_len)) {
			AUTO_FREE char *copy = strndup((const char *)at, line_len);
			compare(pattern, ignores_case, copy, is_found);
		}
		at = newline ? newline + 1 : end;
		if (is_found)
			is_more = nfa_match_find(m, at, end, &next);
		must(!is_more || next.start >= at);
	}
	must(!is_more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pattern *p = NULL;
	struct prepared made;
	struct err e = { 0 };

	if (size < 2)
		return 0;
	bool ignores_case = data[0] & 1;
	AUTO_FREE char *pattern = strndup((const char *)data + 1, size - 1);
	size_t begin = 1 + strlen(pattern), len = size > begin + 1 ? size - begin - 1 : 0;
	AUTO_FREE uint8_t *text = mem_copy(len ? data + begin + 1 : data,
					   len < TEXT_MAX ? len : TEXT_MAX);

	if (pattern_new(&p, pattern, ignores_case, &e) < 0)
		return 0;
	AUTO_FREE char *rust = pattern_in_rust(p);
	int rc = prepared_init(&made, p, &e);
	pattern_free(p);
	if (rc < 0)
		return 0;
	/* The cost of a byte grows with the program. */
	size_t most = made.nfa.count > 4096 ? 64 : TEXT_MAX;
	struct nfa_match *m = nfa_match_new(&made);
	check_text(m, text, len < most ? len : most, pattern, ignores_case);
	nfa_match_free(m);
	prepared_done(&made);
	return 0;
}

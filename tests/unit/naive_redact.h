/* Masks as base/redact.h does, but byte by byte: for the test and the fuzzer of
 * that module. */
#pragma once
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/redact.h"
#include "base/utf8.h"

#define NAIVE_BLANKS " \t\r\n\v\f"

struct naive {
	const char *const *values;
	size_t count;
	const char *text;
	size_t len, *flushes, flush_count; /* places of flushes, rising */
	bool *hidden;
};

/* Marks the bytes of a secret as hidden, except those that were already flushed when
 * its last byte came. */
static void naive_hide(struct naive *n, size_t from, size_t to)
{
	for (size_t i = 0; i < n->flush_count; i++)
		if (n->flushes[i] > from && n->flushes[i] < to)
			from = n->flushes[i];
	memset(n->hidden + from, true, to - from);
}

static void naive_part(struct naive *n, const char *at, size_t len)
{
	while (len > 0 && strchr(NAIVE_BLANKS, at[len - 1]))
		len--;
	while (len > 0 && strchr(NAIVE_BLANKS, *at))
		at++, len--;
	for (size_t i = 0; len >= REDACT_MIN && i + len <= n->len; i++)
		if (!memcmp(n->text + i, at, len))
			naive_hide(n, i, i + len);
}

static void naive_value(struct naive *n, const char *at)
{
	const char *stop;

	naive_part(n, at, strlen(at));
	for (; (stop = strchr(at, '\n')); at = stop + 1)
		naive_part(n, at, (size_t)(stop - at));
	naive_part(n, at, strlen(at));
}

static size_t naive_len(const char *at)
{
	size_t len = strlen(at), blanks = strspn(at, NAIVE_BLANKS);

	while (len > blanks && strchr(NAIVE_BLANKS, at[len - 1]))
		len--;
	return len - blanks;
}

/* Copies the text with U+FFFD in place of bytes that are no UTF-8: one for each such
 * byte, or one for each incomplete character. */
static void naive_shown(struct naive *n, const char *at, bool by_byte)
{
	AUTO_FREE char *told = mem_zeroed(3, strlen(at) + 1);
	char *end = told;

	while (*at) {
		int len = utf8_char((const uint8_t *)at, strlen(at));
		int used = len > 0 ? len : by_byte ? 1 : len < 0 ? -len : (int)strlen(at);
		end = mempcpy(end, len > 0 ? at : UTF8_REPLACEMENT,
			      len > 0 ? (size_t)len : 3);
		at += used;
	}
	naive_value(n, told);
}

/* Returns the masked text, allocated. */
static char *naive_redact(struct naive *n, size_t *ret_len)
{
	char *out = mem_zeroed(1, n->len * sizeof(REDACT_TEXT) + 1);
	size_t len = 0;

	n->hidden = mem_zeroed(n->len + 1, sizeof(bool));
	for (size_t v = 0; v < n->count; v++) {
		naive_value(n, n->values[v]);
		if (naive_len(n->values[v]) < REDACT_MIN)
			continue;
		naive_shown(n, n->values[v], false);
		naive_shown(n, n->values[v], true);
	}
	for (size_t i = 0; i < n->len; i++)
		if (!n->hidden[i])
			out[len++] = n->text[i];
		else if (i == 0 || !n->hidden[i - 1])
			len = (size_t)(stpcpy(out + len, REDACT_TEXT) - out);
	free(n->hidden);
	*ret_len = len;
	return out;
}

/* draft -- a text that is put together piece by piece, such as a request.
 *
 * Errors are remembered and reported at the end, so that the calls can be written in
 * the order of the text.  Unlike base/buffer.h it does not abort without memory,
 * since the library runs inside another program. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct draft {
	char *bytes; /* owned; a NUL is behind them only after draft_end() */
	size_t len, room;
	bool is_short; /* memory ran out */
	bool is_bad;   /* a text to be quoted was no UTF-8 */
};

void draft_done(struct draft *d);

void draft_add(struct draft *d, const void *bytes, size_t len);
void draft_put(struct draft *d, const char *text);
/* Appends a formatted text of at most 200 bytes. */
void draft_putf(struct draft *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Appends the text as a string of JSON. */
void draft_quote(struct draft *d, const char *text);
/* Appends the bytes as base64, without quotes. */
void draft_base64(struct draft *d, const void *bytes, size_t len);

/* Puts a NUL behind the text.  False: a piece is missing or was invalid. */
bool draft_end(struct draft *d);

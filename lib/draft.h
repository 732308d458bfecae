/* draft -- a text that is put together, such as a request.
 *
 * What goes wrong on the way is remembered and asked for at the end, so that a text is
 * written as it reads.  Unlike base/buffer.h it does not abort where memory is out: this
 * is somebody else's program. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct draft {
	char *bytes; /* owned; no NUL behind them but by draft_end() */
	size_t len, room;
	bool is_short; /* memory was out */
	bool is_bad;   /* what was to be quoted is no UTF-8 */
};

void draft_done(struct draft *d);

void draft_add(struct draft *d, const void *bytes, size_t len);
void draft_put(struct draft *d, const char *text);
/* At most 200 bytes. */
void draft_putf(struct draft *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* As a string of JSON. */
void draft_quote(struct draft *d, const char *text);
/* Bytes as base64, without quotes. */
void draft_base64(struct draft *d, const void *bytes, size_t len);

/* Puts a NUL behind it.  False: it is not what it was meant to be. */
bool draft_end(struct draft *d);

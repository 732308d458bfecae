#include "base/term_escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"

/* Gives the form of the character at `at`, of which `len` bytes are there, and
 * returns how many bytes the character takes in the input.  If `out` is empty, the
 * character is printed unchanged. */
static size_t form(const uint8_t *at, size_t len, char out[5])
{
	uint8_t c = at[0];

	out[0] = '\0';
	if (c < 0x20)
		(void)snprintf(out, 5, "^%c", c + '@');
	else if (c == 0x7f)
		(void)snprintf(out, 5, "^?");
	else if (c == 0xc2 && len > 1 && at[1] >= 0x80 && at[1] <= 0x9f) {
		/* U+0080 to U+009F: terminals take these for ESC and a letter. */
		(void)snprintf(out, 5, "M-^%c", at[1] - 0x80 + '@');
		return 2;
	}
	return 1;
}

static bool is_layout(const uint8_t *at, size_t len)
{
	return *at == '\n' || *at == '\t' || (*at == '\r' && len > 1 && at[1] == '\n');
}

void term_escape_append(struct buffer *to, const void *data, size_t len)
{
	const uint8_t *at = data, *end = at + len;

	while (at < end) {
		char out[5];
		size_t used = form(at, (size_t)(end - at), out);
		if (!out[0] || is_layout(at, (size_t)(end - at)))
			(void)buffer_append(to, at, used);
		else
			(void)buffer_append(to, out, strlen(out));
		at += used;
	}
}

/* Returns whether the character changes the direction of text or ends a line, so that
 * a name could look like another one; no language needs such characters in a name. */
static bool moves_others(const uint8_t *at, size_t len)
{
	if (len < 3 || at[0] != 0xe2)
		return false;
	if (at[1] == 0x80) /* E2 80 xx: U+200E, U+200F; U+2028 to U+202E */
		return at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae);
	return at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9; /* U+2066 to U+2069 */
}

char *term_escape_line(const char *text)
{
	size_t len = strlen(text);
	char *line = mem_zeroed(1, 4 * len + 1), *to = line;
	for (size_t i = 0; i < len;) {
		const uint8_t *at = (const uint8_t *)text + i;
		char out[5];
		if (moves_others(at, len - i)) {
			to += sprintf(to, "<U+20%02X>",
				      (at[1] & 3) << 6 | (at[2] & 0x3f));
			i += 3;
			continue;
		}
		size_t used = form(at, len - i, out);
		to += sprintf(to, "%.*s", out[0] ? 4 : (int)used,
			      out[0] ? out : text + i);
		i += used;
	}
	return line;
}

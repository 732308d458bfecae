#include "base/visible.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"

/* The form of the character at `at`, of which `len` bytes are there; how many
 * bytes it takes in the input.  An empty `out` means: as it is. */
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

void visible_append(struct buffer *to, const void *data, size_t len)
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

char *visible_line(const char *text)
{
	size_t len = strlen(text);
	char *line = mem_zeroed(1, 4 * len + 1), *to = line;
	for (size_t i = 0; i < len;) {
		char out[5];
		size_t used = form((const uint8_t *)text + i, len - i, out);
		to += sprintf(to, "%.*s", out[0] ? 4 : (int)used, out[0] ? out : text + i);
		i += used;
	}
	return line;
}

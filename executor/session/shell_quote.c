#include "executor/session/shell_quote.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/utf8.h"

/* Returns true for a control character of ASCII, or one of U+0080 to U+009F, which some
 * terminals obey, too. */
static bool is_control(const char *at)
{
	unsigned char c = (unsigned char)*at, next = c ? (unsigned char)at[1] : 0;

	return c < ' ' || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0);
}

/* Returns true if the path can be shown as it is.  A path that begins with $' must be
 * escaped, or bash would read it as escapes. */
static bool is_plain(const char *path, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (is_control(path + i))
			return false;
	return strncmp(path, "$'", 2) != 0 &&
	       utf8_is_valid((const uint8_t *)path, len, false);
}

static char *put_escaped(char *to, unsigned char c)
{
	static const char letters[] = { ['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r',
					['\''] = '\'', ['\\'] = '\\' };
	char letter = c < sizeof(letters) ? letters[c] : '\0';

	return to + (letter ? sprintf(to, "\\%c", letter) : sprintf(to, "\\%03o", c));
}

char *shell_quote_shown(const char *path)
{
	size_t left = strlen(path);

	if (is_plain(path, left))
		return text_copy(path);
	char *shown = mem_new(4 * left + 4), *to = shown + sprintf(shown, "$'");
	while (left > 0) {
		size_t len = utf8_length(path, left);
		if (len == 0 || is_control(path) || strchr("'\\", *path))
			to = put_escaped(to, (unsigned char)*path), len = 1;
		else
			to = mempcpy(to, path, len);
		path += len;
		left -= len;
	}
	(void)sprintf(to, "'");
	return shown;
}

#include "base/term_keys.h"

#include <string.h>
#include <strings.h>

#include "base/own.h"

struct key {
	const char *name, *bytes;
};

static const struct key keys[] = {
	{ "Enter", "\r" },	{ "ENTER", "\r" },	{ "Tab", "\t" },
	{ "TAB", "\t" },	{ "BTab", "\x1b[Z" },	{ "Space", " " },
	{ "BSpace", "\x7f" },	{ "BS", "\x7f" },	{ "Escape", "\x1b" },
	{ "ESC", "\x1b" },	{ "Up", "\x1b[A" },	{ "UP", "\x1b[A" },
	{ "Down", "\x1b[B" },	{ "DOWN", "\x1b[B" },	{ "Right", "\x1b[C" },
	{ "RIGHT", "\x1b[C" },	{ "Left", "\x1b[D" },	{ "LEFT", "\x1b[D" },
	{ "Home", "\x1b[1~" },	{ "HOME", "\x1b[1~" },	{ "End", "\x1b[4~" },
	{ "END", "\x1b[4~" },	{ "PgUp", "\x1b[5~" },	{ "PGUP", "\x1b[5~" },
	{ "PageUp", "\x1b[5~" }, { "PPage", "\x1b[5~" }, { "PgDn", "\x1b[6~" },
	{ "PGDN", "\x1b[6~" },	{ "PageDown", "\x1b[6~" }, { "NPage", "\x1b[6~" },
	{ "DC", "\x1b[3~" },	{ "Delete", "\x1b[3~" }, { "IC", "\x1b[2~" },
	{ "Insert", "\x1b[2~" }, { "F1", "\x1bOP" },	{ "F2", "\x1bOQ" },
	{ "F3", "\x1bOR" },	{ "F4", "\x1bOS" },	{ "F5", "\x1b[15~" },
	{ "F6", "\x1b[17~" },	{ "F7", "\x1b[18~" },	{ "F8", "\x1b[19~" },
	{ "F9", "\x1b[20~" },	{ "F10", "\x1b[21~" },	{ "F11", "\x1b[23~" },
	{ "F12", "\x1b[24~" },
};

static bool begins(struct bytes name, const char *with)
{
	size_t len = strlen(with);

	return name.len > len && !strncasecmp((const char *)name.data, with, len);
}

char key_control(struct bytes name)
{
	bool is_long = begins(name, "CTRL+") || begins(name, "CTRL-");
	size_t at = is_long ? 5 : begins(name, "C-") ? 2 : 0;

	return at > 0 && name.len == at + 1 ? (char)name.data[at] : '\0';
}

/* Gets the control code of a character.  Letters, some signs, and the key Delete
 * have one; returns 0 for the others. */
static size_t control(char c, char ret[KEY_MAX])
{
	if (c >= 'a' && c <= 'z')
		c = (char)(c - 'a' + 'A');
	if (c != '?' && (c < '@' || c > '_'))
		return 0;
	ret[0] = (char)(c ^ '@');
	return 1;
}

static bool is_named(struct bytes name, const char *text)
{
	return strlen(text) == name.len && memcmp(text, name.data, name.len) == 0;
}

size_t key_find(struct bytes name, char ret[KEY_MAX])
{
	char c = key_control(name);

	if (c)
		return control(c, ret);
	if (is_named(name, "C-Space"))
		return control('@', ret);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (!is_named(name, keys[i].name))
			continue;
		size_t len = strlen(keys[i].bytes);
		memcpy(ret, keys[i].bytes, len);
		return len;
	}
	return 0;
}

void key_for_application(char *bytes, size_t len)
{
	if (len == 3 && bytes[1] == '[' && bytes[2] >= 'A' && bytes[2] <= 'D')
		bytes[1] = 'O';
}

bool key_is_signal(const char *bytes, size_t len)
{
	return len == 1 && (*bytes == 'C' - '@' || *bytes == '\\' - '@' ||
			    *bytes == 'Z' - '@');
}

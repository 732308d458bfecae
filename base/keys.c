#include "base/keys.h"

#include <string.h>

#include "base/own.h"

struct key {
	const char *name, *bytes;
};

static const struct key keys[] = {
	{ "Enter", "\r" },	 { "Tab", "\t" },	  { "BTab", "\x1b[Z" },
	{ "Space", " " },	 { "BSpace", "\x7f" },	  { "Escape", "\x1b" },
	{ "Up", "\x1b[A" },	 { "Down", "\x1b[B" },	  { "Right", "\x1b[C" },
	{ "Left", "\x1b[D" },	 { "Home", "\x1b[1~" },	  { "End", "\x1b[4~" },
	{ "PgUp", "\x1b[5~" },	 { "PgDn", "\x1b[6~" },	  { "PageUp", "\x1b[5~" },
	{ "PageDown", "\x1b[6~" }, { "DC", "\x1b[3~" },	  { "IC", "\x1b[2~" },
	{ "F1", "\x1bOP" },	 { "F2", "\x1bOQ" },	  { "F3", "\x1bOR" },
	{ "F4", "\x1bOS" },	 { "F5", "\x1b[15~" },	  { "F6", "\x1b[17~" },
	{ "F7", "\x1b[18~" },	 { "F8", "\x1b[19~" },	  { "F9", "\x1b[20~" },
	{ "F10", "\x1b[21~" },	 { "F11", "\x1b[23~" },	  { "F12", "\x1b[24~" },
};

/* C-x in either case of the letter, and the others that have a control code. */
static size_t control(struct bytes name, char ret[KEY_MAX])
{
	char c = (char)name.data[2];

	if (c >= 'a' && c <= 'z')
		c = (char)(c - 'a' + 'A');
	if (c < '@' || c > '_')
		return 0;
	ret[0] = (char)(c - '@');
	return 1;
}

size_t key_find(struct bytes name, char ret[KEY_MAX])
{
	if (name.len == 3 && (name.data[0] == 'C' || name.data[0] == 'c') &&
	    name.data[1] == '-')
		return control(name, ret);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		size_t len = strlen(keys[i].name);
		if (len != name.len || memcmp(keys[i].name, name.data, len) != 0)
			continue;
		len = strlen(keys[i].bytes);
		memcpy(ret, keys[i].bytes, len);
		return len;
	}
	return 0;
}

bool key_is_signal(const char *bytes, size_t len)
{
	return len == 1 && (*bytes == 'C' - '@' || *bytes == '\\' - '@' ||
			    *bytes == 'Z' - '@');
}

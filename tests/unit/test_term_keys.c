/* term_keys: the name of each key gives its bytes, and similar texts are no names. */
#include "base/term_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"

static const struct {
	const char *name, *bytes;
} known[] = {
	{ "C-a", "\x01" },	{ "C-c", "\x03" },	{ "C-C", "\x03" },
	{ "c-c", "\x03" },	{ "C-d", "\x04" },	{ "C-z", "\x1a" },
	{ "C-[", "\x1b" },	{ "C-\\", "\x1c" },	{ "C-]", "\x1d" },
	{ "C-^", "\x1e" },	{ "C-_", "\x1f" },	{ "C-?", "\x7f" },
	{ "CTRL+c", "\x03" },	{ "CTRL+C", "\x03" },	{ "Ctrl-z", "\x1a" },
	{ "ctrl-l", "\x0c" },	{ "Enter", "\r" },	{ "ENTER", "\r" },
	{ "Tab", "\t" },	{ "TAB", "\t" },	{ "BTab", "\x1b[Z" },
	{ "Space", " " },	{ "BSpace", "\x7f" },	{ "BS", "\x7f" },
	{ "Escape", "\x1b" },	{ "ESC", "\x1b" },	{ "Up", "\x1b[A" },
	{ "UP", "\x1b[A" },	{ "Down", "\x1b[B" },	{ "DOWN", "\x1b[B" },
	{ "Right", "\x1b[C" },	{ "RIGHT", "\x1b[C" },	{ "Left", "\x1b[D" },
	{ "LEFT", "\x1b[D" },	{ "Home", "\x1b[1~" },	{ "HOME", "\x1b[1~" },
	{ "End", "\x1b[4~" },	{ "END", "\x1b[4~" },	{ "PgUp", "\x1b[5~" },
	{ "PGUP", "\x1b[5~" },	{ "PageUp", "\x1b[5~" }, { "PPage", "\x1b[5~" },
	{ "PgDn", "\x1b[6~" },	{ "PGDN", "\x1b[6~" },	{ "PageDown", "\x1b[6~" },
	{ "NPage", "\x1b[6~" },	{ "DC", "\x1b[3~" },	{ "Delete", "\x1b[3~" },
	{ "IC", "\x1b[2~" },	{ "Insert", "\x1b[2~" }, { "F1", "\x1bOP" },
	{ "F4", "\x1bOS" },	{ "F5", "\x1b[15~" },	{ "F12", "\x1b[24~" },
};

static const struct {
	const char *name, *bytes;
} application[] = {
	{ "Up", "\x1bOA" },    { "Down", "\x1bOB" },   { "Right", "\x1bOC" },
	{ "Left", "\x1bOD" },  { "BTab", "\x1b[Z" },   { "Home", "\x1b[1~" },
	{ "PgUp", "\x1b[5~" }, { "F1", "\x1bOP" },     { "C-c", "\x03" },
};

/* Texts that a user may want to type. */
static const char *const unknown[] = {
	"",    "c",	"C",	 "C-",	  "C-cc",    "C c", "C-c ", "-c",     "up",
	"tab", "enter", "esc",	 "home",  "delete",  "Upp", "F0",   "F13",    "f1",
	"C-1", "CTRL",	"CTRL+", "CTRLc", "CTRL+cc", "M-x", "y",    "exit()", "C-\x80",
};

static struct bytes bytes_of(const char *text)
{
	return (struct bytes){ (const uint8_t *)text, strlen(text) };
}

static void arrows_are_others_for_an_application(void **state)
{
	char bytes[KEY_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(application); i++) {
		size_t len = key_find(bytes_of(application[i].name), bytes);

		key_for_application(bytes, len);
		assert_int_equal(len, strlen(application[i].bytes));
		assert_memory_equal(bytes, application[i].bytes, len);
	}
}

static void each_name_has_its_bytes(void **state)
{
	char bytes[KEY_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		size_t len = key_find(bytes_of(known[i].name), bytes);
		if (len != strlen(known[i].bytes) ||
		    memcmp(bytes, known[i].bytes, len) != 0)
			fail_msg("%s has other bytes", known[i].name);
	}
	/* The key whose byte is 0. */
	assert_int_equal(key_find(bytes_of("C-@"), bytes), 1);
	assert_int_equal(bytes[0], 0);
	assert_int_equal(key_find(bytes_of("C-Space"), bytes), 1);
	assert_int_equal(bytes[0], 0);
}

static void what_is_nearly_a_name_is_none(void **state)
{
	char bytes[KEY_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
		if (key_find(bytes_of(unknown[i]), bytes) > 0)
			fail_msg("'%s' is a key", unknown[i]);
}

static void what_is_held_with_control_is_told(void **state)
{
	(void)state;
	assert_int_equal(key_control(bytes_of("C-x")), 'x');
	assert_int_equal(key_control(bytes_of("C-1")), '1');
	assert_int_equal(key_control(bytes_of("CTRL+X")), 'X');
	assert_int_equal(key_control(bytes_of("C-")), 0);
	assert_int_equal(key_control(bytes_of("C-xy")), 0);
	assert_int_equal(key_control(bytes_of("Tab")), 0);
	assert_int_equal(key_control(bytes_of("")), 0);
}

static void three_keys_are_signals(void **state)
{
	static const char *const signals[] = { "C-c", "C-z", "C-\\" };
	char bytes[KEY_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		size_t len = key_find(bytes_of(known[i].name), bytes);
		bool is_signal = false;
		for (size_t k = 0; k < ARRAY_LEN(signals); k++) {
			char other[KEY_MAX];
			is_signal |= key_find(bytes_of(signals[k]), other) == len &&
				     memcmp(bytes, other, len) == 0;
		}
		assert_int_equal(key_is_signal(bytes, len), is_signal);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_has_its_bytes),
		cmocka_unit_test(arrows_are_others_for_an_application),
		cmocka_unit_test(what_is_nearly_a_name_is_none),
		cmocka_unit_test(what_is_held_with_control_is_told),
		cmocka_unit_test(three_keys_are_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* stderr_denials: finds the paths that programs were refused, in the forms in which
 * programs report that, and in no other text. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "actions/stderr_denials.h"
#include "base/own.h"

/* Compares the denials found in the text with a list "sys path|sys path". */
static void claim(const char *text, size_t len, const char *expected)
{
	struct stderr_denials found[STDERR_DENIALS_MAX];
	char told[STDERR_DENIALS_MAX * 64] = "";
	size_t count = stderr_denials_find(text, len, "/workspace", found), at = 0;

	for (size_t i = 0; i < count; i++)
		at += (size_t)snprintf(told + at, sizeof(told) - at, "%s%d %s",
				       i ? "|" : "", found[i].sys, found[i].path);
	assert_string_equal(told, expected);
	stderr_denials_done(found, count);
}

static void claim_text(const char *text, const char *expected)
{
	claim(text, strlen(text), expected);
}

_Static_assert(EROFS == 30 && EACCES == 13 && EPERM == 1, "as below");

static void test_forms_that_programs_use(void **state)
{
	static const struct {
		const char *text, *expected;
	} forms[] = {
		{ "touch: cannot touch '/usr/x': Read-only file system\n", "30 /usr/x" },
		{ "touch: cannot touch \u2018/usr/x y\u2019: Read-only file system",
		  "30 /usr/x y" },
		{ "rm: cannot remove `/usr/x': Permission denied", "13 /usr/x" },
		{ "bash: line 1: /usr/x: Permission denied\n", "13 /usr/x" },
		{ "sh: 1: cannot create /usr/x: Read-only file system\n", "30 /usr/x" },
		{ "PermissionError: [Errno 13] Permission denied: '/etc/shadow'\n",
		  "13 /etc/shadow" },
		{ "Error: EROFS: read-only file system, open '/usr/x'\n", "30 /usr/x" },
		{ "open /data/x: permission denied", "13 /data/x" },
		{ "chown: changing ownership of '/w': Operation not permitted\r\n",
		  "1 /w" },
		{ "mv: cannot move '/a' to '/usr/b': Permission denied\n",
		  "13 /a|13 /usr/b" },
		{ "can't open '/data/x': Permission denied", "13 /data/x" },
		{ "find: (/root): Permission denied", "13 /root" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		claim_text(forms[i].text, forms[i].expected);
}

static void test_relative_ones_begin_at_the_working_folder(void **state)
{
	struct stderr_denials found[STDERR_DENIALS_MAX];

	(void)state;
	claim_text("touch: cannot touch 'x': Read-only file system", "30 /workspace/x");
	claim_text("bash: ./a/b: Permission denied", "13 /workspace/a/b");
	claim_text("bash: x: Permission denied", "13 /workspace/x");
	claim_text("bash: Permission denied", "");
	assert_int_equal(stderr_denials_find("rm: x: Permission denied", 24, NULL, found),
			 0);
}

static void test_the_last_line_comes_first_and_each_once(void **state)
{
	(void)state;
	claim_text(
		"a: /1: Permission denied\nb: /2: Permission denied\na: /1: Permission denied\n",
		"13 /1|13 /2");
	claim_text("a: /1: Permission denied\na: /1: Read-only file system\n",
		   "30 /1|13 /1");
}

static void test_other_lines_are_no_denials(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"\n\n\n",
		"/usr/x",
		"Permission denied",
		"permission was denied: '/x'",
		"'/x': permission\ndenied",
		"'/x': No such file or directory",
		"x ' Permission denied",
		"'' Permission denied",
		"'/a\x1b[2J' Permission denied",
		"'/a\x7f' Permission denied",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		claim_text(texts[i], "");
}

static void test_no_output_is_no_address(void **state)
{
	(void)state;
	claim(NULL, 0, "");
}

static void test_bytes_of_any_kind_and_length(void **state)
{
	static char text[3 * STDERR_DENIALS_TEXT_MAX];
	static const char line[] = "\n'/z': Permission denied";
	const size_t end = sizeof(text) - (sizeof(line) - 1);

	(void)state;
	memset(text, '\'', sizeof(text));
	memcpy(text + end, line, sizeof(line) - 1);
	claim(text, sizeof(text), "13 /z");
	memset(text, 0, sizeof(text));
	memcpy(text + end, line, sizeof(line) - 1);
	claim(text, sizeof(text), "13 /z");
	/* Only the last STDERR_DENIALS_TEXT_MAX bytes are read, and no line that
	 * begins before them. */
	memset(text, 'x', sizeof(text));
	memcpy(text, line + 1, sizeof(line) - 2);
	claim(text, sizeof(text), "");
	memset(text, '\n', sizeof(text));
	memcpy(text + sizeof(text) - STDERR_DENIALS_TEXT_MAX - 1, line + 1,
	       sizeof(line) - 2);
	claim(text, sizeof(text), "");
	memset(text, '\n', sizeof(text));
	memcpy(text + sizeof(text) - STDERR_DENIALS_TEXT_MAX, line + 1, sizeof(line) - 2);
	claim(text, sizeof(text), "13 /z");
}

static void test_no_more_than_there_is_room_for(void **state)
{
	char text[2 * STDERR_DENIALS_MAX * 32];
	struct stderr_denials found[STDERR_DENIALS_MAX];
	size_t at = 0;

	(void)state;
	for (int i = 0; i < 2 * STDERR_DENIALS_MAX; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "/%d: Permission denied\n", i);
	assert_int_equal(stderr_denials_find(text, at, NULL, found), STDERR_DENIALS_MAX);
	stderr_denials_done(found, STDERR_DENIALS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms_that_programs_use),
		cmocka_unit_test(test_relative_ones_begin_at_the_working_folder),
		cmocka_unit_test(test_the_last_line_comes_first_and_each_once),
		cmocka_unit_test(test_other_lines_are_no_denials),
		cmocka_unit_test(test_no_output_is_no_address),
		cmocka_unit_test(test_bytes_of_any_kind_and_length),
		cmocka_unit_test(test_no_more_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* shell_inner: tells by its arguments whether a bash waits at a prompt.
 * tests/run/session_rows.py tests how such a shell is driven. */
#include "executor/session/shell_inner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/own.h"

/* The arguments of a process, each followed by a newline instead of its 0 byte. */
static const struct {
	const char *arguments;
	bool is_at_prompt;
} rows[] = {
	{ "bash\n", true },
	{ "-bash\n", true },
	{ "/bin/bash\n-l\n", true },
	{ "bash\n--login\n--noprofile\n-i\n", true },
	{ "bash\n--rcfile\n/etc/x\n", true },
	{ "bash\n--init-file\n/etc/x\n-i\n", true },
	{ "bash\n-O\nextglob\n+O\nautocd\n", true },
	{ "bash\n-o\nvi\n", true },
	{ "bash\n-lo\nvi\n", true },
	{ "bash\n-s\na\nb\n", true },
	{ "bash\n-\n", true },
	{ "bash\n--\n", true },
	{ "sh\n", true }, /* the path of the program tells whether this is bash */
	{ "bash\nscript\n", false },
	{ "bash\n-l\nscript\n", false },
	{ "bash\n-o\nvi\nscript\n", false },
	{ "bash\n-\nscript\n", false },
	{ "bash\n--\nscript\n", false },
	{ "bash\n-c\nread x\n", false },
	{ "bash\n-ic\nread x\n", false },
	{ "bash\n-r\n", false },
	{ "bash\n--restricted\n", false },
	{ "bash\n-n\n", false },
	{ "bash\n--version\n", false },
	{ "/bin/bash\n--noediting\n--rcfile\n/proc/self/fd/63\n-i\n", false },
	{ "bash", false }, /* there were more bytes */
	{ "bash\n-o", false },
	{ "", false },
};

static void test_only_a_bash_without_script_or_text_is_at_a_prompt(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[128];
		size_t len = 0;

		for (const char *at = rows[i].arguments; *at; at++)
			text[len++] = *at == '\n' ? '\0' : *at;
		if (inner_is_at_prompt(text, len) != rows[i].is_at_prompt)
			fail_msg("%s", rows[i].arguments);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_a_bash_without_script_or_text_is_at_a_prompt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

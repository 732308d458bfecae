/* remote_notes: prints the messages of a copying process inside a sandbox, which may
 * contain anything. */
#include "cli/remote_notes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/io.h"
#include "tests/unit/scene.h"

/* Passes this text to remote_notes, and returns what it prints. */
static char *hear(const char *text, size_t len, bool has_failed, char **ret_last)
{
	struct remote_notes h;
	struct err e;
	char *told = NULL;
	size_t size = 0;
	FILE *real = stderr, *mine = open_memstream(&told, &size);

	assert_non_null(mine);
	remote_notes_init(&h);
	int in = remote_notes_open(&h, "box", &e);
	assert_true(in >= 0);
	stderr = mine;
	for (size_t at = 0, n; at < len; at += n) {
		n = len - at < 5000 ? len - at : 5000;
		assert_int_equal(io_write_all(in, text + at, n), 0);
		remote_notes_listen(&h);
		remote_notes_listen(&h);
	}
	(void)close(in);
	remote_notes_end(&h, has_failed);
	*ret_last = remote_notes_last(&h);
	remote_notes_done(&h);
	remote_notes_done(&h);
	stderr = real;
	assert_int_equal(fclose(mine), 0);
	return told;
}

static void check(const char *text, bool has_failed, const char *told, const char *last)
{
	AUTO_FREE char *got_last = NULL;
	AUTO_FREE char *got = hear(text, strlen(text), has_failed, &got_last);

	assert_string_equal(got, told);
	if (last)
		assert_string_equal(got_last, last);
	else
		assert_null(got_last);
}

#define NOTE "hutch: note: sandbox 'box': "

static void test_each_line_is_a_note_but_the_last_of_a_failure(void **state)
{
	(void)state;
	check("", false, "", NULL);
	check("", true, "", NULL);
	check("a\nb\n", false, NOTE "a\n" NOTE "b\n", NULL);
	check("a\nb\n", true, NOTE "a\n", "b");
	check("a\nhalf", true, "", "a"); /* an incomplete last line is dropped */
	check("\n", true, "", NULL);
}

static void test_nothing_of_it_is_obeyed_by_a_terminal(void **state)
{
	(void)state;
	check("\033[2Ja\rb\n", false, NOTE "^[[2Ja^Mb\n", NULL);
}

static void test_many_are_counted_and_long_ones_cut(void **state)
{
	static char text[100000];
	AUTO_FREE char *last = NULL;
	size_t len = 0;

	(void)state;
	for (int i = 0; i < 50; i++)
		len += (size_t)sprintf(text + len, "%d\n", i);
	AUTO_FREE char *told = hear(text, len, false, &last);
	assert_non_null(strstr(told, NOTE "9\n" NOTE "40 more\n"));
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\n';
	own_free(&told);
	told = hear(text, sizeof(text), false, &last);
	assert_int_equal(strlen(told), strlen(NOTE) + REMOTE_NOTES_LINE_MAX + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_line_is_a_note_but_the_last_of_a_failure),
		cmocka_unit_test(test_nothing_of_it_is_obeyed_by_a_terminal),
		cmocka_unit_test(test_many_are_counted_and_long_ones_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

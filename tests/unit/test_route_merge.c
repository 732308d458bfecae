/* merge: lists of several pods become one, and an answer of another form is left out. */
#include "gateway/route/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_write.h"
#include "base/own.h"

static void lists_become_one(void **state)
{
	static const struct {
		enum merge_form form;
		const char *parts[3];
		const char *whole;
		unsigned added;
	} rows[] = {
		{ MERGE_ARRAY, { "[1,2]", "[]", "[3]\n" }, "[1,2,3]", 3 },
		{ MERGE_ARRAY, { "[]", "[]", "[]" }, "[]", 3 },
		{ MERGE_RUNTIMES,
		  { "{\"runtimes\":[{\"a\":1}]}", "{\"runtimes\":[]}",
		    "{\"runtimes\":[{}]}" },
		  "{\"runtimes\":[{\"a\":1},{}]}",
		  3 },
		{ MERGE_SANDBOXES,
		  { "{\"sandboxes\":[1]}", "{\"runtimes\":[2]}", "{\"sandboxes\":[3]}" },
		  "{\"sandboxes\":[1,3]}",
		  2 },
		{ MERGE_ARRAY, { "[1", "1]", "[1,]" }, "[]", 0 },
		{ MERGE_ARRAY, { "", "[", "]" }, "[]", 0 },
		{ MERGE_ARRAY,
		  { "{\"detail\":\"x\"}", "[1],[2]", "[\"\xff\"]" },
		  "[]",
		  0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buffer to;
		unsigned added = 0;

		json_write_begin(&to);
		merge_begin(rows[i].form, &to);
		for (size_t k = 0; k < 3; k++)
			added += merge_add(rows[i].form, rows[i].parts[k],
					   strlen(rows[i].parts[k]), &to);
		merge_end(rows[i].form, &to);
		AUTO_FREE char *text = json_write_end(&to);
		assert_string_equal(text, rows[i].whole);
		assert_int_equal(added, rows[i].added);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_become_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

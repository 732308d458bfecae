/* box_id: ids of sandboxes, with and without the name of a pod. */
#include "gateway/box_id.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

#define HEX "0123456789abcdef"

static void ids_are_told_from_other_words(void **state)
{
	static const struct {
		const char *pod, *id;
		bool is;
	} rows[] = {
		{ NULL, "r" HEX, true },
		{ NULL, "hutch-0-r" HEX, false },
		{ "hutch-0", "hutch-0-r" HEX, true },
		{ "hutch-0", "hutch-1-r" HEX, false },
		{ "hutch-0", "hutch-0r" HEX, false },
		{ "hutch-0", "r" HEX, false },
		{ "hutch", "hutch-0-r" HEX, false },
		{ NULL, "r" HEX "0", false },
		{ NULL, "r0123456789abcdeF", false },
		{ NULL, "x" HEX, false },
		{ NULL, "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(box_id_is(rows[i].pod, rows[i].id), rows[i].is);
}

static void an_id_names_its_pod(void **state)
{
	static const struct {
		const char *id;
		size_t len;
	} rows[] = {
		{ "hutch-0-r" HEX, 7 },
		{ "a-r" HEX, 1 },
		{ "r" HEX, 0 },
		{ "-r" HEX, 0 },
		{ "--r" HEX, 0 },
		{ "A-r" HEX, 0 },
		{ "a.b-r" HEX, 0 },
		{ "a/../b-r" HEX, 0 },
		{ "0123456789012345678901234567890123456789-r" HEX, 40 },
		{ "01234567890123456789012345678901234567890-r" HEX, 0 },
		{ "a-r" HEX "-", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(box_id_pod(rows[i].id, strlen(rows[i].id)), rows[i].len);
}

static void what_is_made_is_an_id_of_that_pod(void **state)
{
	static const char most[] = "0123456789012345678901234567890123456789";
	static const char *const pods[] = { NULL, "a", "hutch-12", most };
	char id[BOX_ID_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
		box_id_make(pods[i], HEX, id);
		assert_true(box_id_is(pods[i], id));
		assert_int_equal(box_id_pod(id, strlen(id)),
				 pods[i] ? strlen(pods[i]) : 0);
		assert_true(registry_is_name(id));
	}
}

static void names_of_pods_are_checked(void **state)
{
	static const char *const wrong[] = {
		"",    "-a",  "a-",  "A",
		"a.b", "a b", "a/b", "01234567890123456789012345678901234567890"
	};
	struct err e;

	(void)state;
	assert_int_equal(box_id_check_pod("hutch-0", &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(box_id_check_pod(wrong[i], &e), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_told_from_other_words),
		cmocka_unit_test(an_id_names_its_pod),
		cmocka_unit_test(what_is_made_is_an_id_of_that_pod),
		cmocka_unit_test(names_of_pods_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

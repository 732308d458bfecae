#include "store/image_nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "store/refs.h"
#include "tests/unit/in_store.h"

static const char *const names[] = { "debian:12",	"debian:13",
				     "tiny:1",		"alpine",
				     "x.io/me/tool:2",	REFERENCE_BUILDS "/step:typo",
				     "localhost:5000/a" };

static const struct {
	const char *typed, *said;
} cases[] = {
	{ "debain", "; is it debian:12?" },
	{ "debain:13", "; is it debian:13?" },
	{ "debian:14", "; is it debian:12?" },
	{ "tiny", "; is it tiny:1?" },
	{ "tyni:1", "; is it tiny:1?" },
	{ "docker.io/library/tiny:2", "; is it tiny:1?" },
	{ "alpnie", "; is it alpine?" },
	{ "alpine", "" },
	{ "x.io/me/tol:2", "; is it x.io/me/tool:2?" },
	{ "localhost:5000/b", "; is it localhost:5000/a?" },
	{ REFERENCE_BUILDS "/step:typ", "" },
	{ "postgres:16", "" },
	{ "No Reference", "" },
	{ "", "" },
};

static void test_the_nearest_image_is_suggested(void **state)
{
	const struct digest image = { HEX_A };
	struct store s;

	(void)state;
	in_store_open(&s);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct reference r;
		assert_int_equal(reference_parse(names[i], &r, NULL), 0);
		assert_int_equal(refs_put(&s, &r, &image, NULL), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e;
		(void)err_set(&e, ERR_NOT_FOUND, "no");
		assert_int_equal(image_nearest_in(&s, cases[i].typed, &e), -1);
		assert_string_equal(e.text + strlen("no"), cases[i].said);
	}
	store_done(&s);
}

int main(void)
{
	scene_leave_root();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_nearest_image_is_suggested,
						in_store_setup, scene_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

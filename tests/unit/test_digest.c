#include "store/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/scene.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_a_digest_is_read_and_written(void **state)
{
	struct digest d = { 0 }, other = { 0 };
	char text[DIGEST_TEXT];

	(void)state;
	assert_int_equal(digest_parse("sha256:" HEX, &d, NULL), 0);
	assert_string_equal(d.hex, HEX);
	digest_print(&d, text);
	assert_string_equal(text, "sha256:" HEX);
	assert_true(digest_equal(&d, &d));
	assert_false(digest_equal(&d, &other));
}

static void test_nothing_else_is_one(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "is no digest" },
		{ "sha256:", "is no digest" },
		{ HEX, "is no digest" },
		{ "sha256:" HEX "0", "is no digest" },
		{ "sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
		  "is no digest" },
		{ "sha256:../3456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0",
		  "is no digest" },
		{ "SHA256:" HEX, "algorithm" },
		{ "sha512:" HEX HEX, "algorithm" },
		{ "md5:0123", "algorithm" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct digest d = { "untouched" };
		struct err e = { 0 };
		assert_int_equal(digest_parse(bad[i].text, &d, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_non_null(strstr(e.text, bad[i].says));
		assert_string_equal(d.hex, "untouched");
	}
}

static void test_files_of_the_store_are_lower_case(void **state)
{
	(void)state;
	assert_true(digest_is_hex(HEX));
	assert_false(digest_is_hex(""));
	assert_false(digest_is_hex("0123"));
	assert_false(digest_is_hex(HEX "0"));
	assert_false(digest_is_hex(
		"g123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_digest_is_read_and_written),
		cmocka_unit_test(test_nothing_else_is_one),
		cmocka_unit_test(test_files_of_the_store_are_lower_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

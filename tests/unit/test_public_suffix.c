/* public_suffix: names are found in a list of publicsuffix.org, and in its public part
 * alone. */
#include "policy/egress/public_suffix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"

static const char list[] = "// ===BEGIN ICANN DOMAINS===\n"
			   "// co.de : a comment\n"
			   "\n"
			   "com\n"
			   "*.ck\n"
			   "!www.ck\n"
			   "uk\n"
			   "co.uk\n"
			   "\n"
			   "// ===END ICANN DOMAINS===\n"
			   "// ===BEGIN PRIVATE DOMAINS===\n"
			   "github.io\n"
			   "// ===END PRIVATE DOMAINS===\n";

static void test_names_are_found(void **state)
{
	static const struct {
		const char *name;
		bool is_found;
	} rows[] = {
		{ "com", true },	{ "co.uk", true },	{ "a.ck", true },
		{ "www.ck", false },	{ "a.b.ck", false },	{ "o.uk", false },
		{ "example.com", false }, { "x.co.uk", false }, { "co.de", false },
		{ "github.io", false }, { "ck", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(public_suffix_find(list, strlen(list), rows[i].name),
				 rows[i].is_found);
	assert_false(public_suffix_find("", 0, "com"));
	assert_false(public_suffix_find("\nco.uk", 6, "co.uk"));
}

static void test_the_hosts_list_is_asked_if_there_is_one(void **state)
{
	(void)state;
	assert_false(public_suffix_has("example.org"));
	if (access(PUBLIC_SUFFIX_LIST, R_OK) == 0)
		assert_true(public_suffix_has("co.uk"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_found),
		cmocka_unit_test(test_the_hosts_list_is_asked_if_there_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

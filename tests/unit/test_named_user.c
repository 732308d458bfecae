/* named_user: NAME=UID[:GID] is read, and nothing else. */
#include "policy/named_user.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

#define LONGEST "a2345678901234567890123456789012"

static const struct {
	const char *text, *name;
	uint32_t uid, gid;
} good[] = {
	{ "openhands=1000", "openhands", 1000, 1000 },
	{ "openhands=1000:0", "openhands", 1000, 0 },
	{ "_a-b_9=0", "_a-b_9", 0, 0 },
	{ "root=0", "root", 0, 0 },
	{ LONGEST "=2147483647:2147483647", LONGEST, 2147483647, 2147483647 },
};

static const char *const bad[] = {
	"=",	 "a=",		"=1",	   "a",	      "",
	"a=1:",	 "a=:1",	"a=1:2:3", "a=1=2",   "A=1",
	"1a=1",	 "-a=1",	"a b=1",   "a:b=1",   "a\nb=1",
	"a=-1",	 "a= 1",	"a=1\n",   "a=0x1",   "a=2147483648",
	"a.b=1", LONGEST "b=1", "a=1:-1",  "a=1:x:y", "\xc3\xa4=1",
};

static void test_a_name_and_its_ids_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct named_user u = { .name = "" };

		assert_true(named_user_is(good[i].text));
		assert_int_equal(named_user_read(good[i].text, &u, NULL), 0);
		assert_string_equal(u.name, good[i].name);
		assert_int_equal(u.uid, good[i].uid);
		assert_int_equal(u.gid, good[i].gid);
	}
}

static void test_what_no_line_of_passwd_can_hold_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct named_user u = { .name = "kept" };
		struct err e = { 0 };

		if (named_user_read(bad[i], &u, &e) == 0)
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_string_equal(u.name, "kept");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name_and_its_ids_are_read),
		cmocka_unit_test(test_what_no_line_of_passwd_can_hold_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

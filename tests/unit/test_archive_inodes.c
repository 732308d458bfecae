/* inodes: an inode that was added is found by device and number, among many
 * others. */
#include "archive/inodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct stat file(dev_t dev, ino_t ino)
{
	return (struct stat){ .st_dev = dev, .st_ino = ino };
}

static void test_an_empty_set_has_nothing(void **state)
{
	const struct stat st = file(1, 1), none = file(0, 0);
	struct inodes s = { 0 };

	(void)state;
	assert_false(inodes_has(&s, &st) || inodes_has(&s, &none));
	assert_null(inodes_get(&s, &st));
	inodes_add(&s, &none, "x");
	assert_false(inodes_has(&s, &none));
	inodes_done(&s);
}

/* An inode is found only by the right device and number.  If it is added twice, the
 * first value stays. */
static void test_an_added_inode_is_found(void **state)
{
	const struct stat a = file(1, 7), b = file(2, 7), c = file(1, 8);
	struct inodes s = { 0 };

	(void)state;
	inodes_add(&s, &a, "a");
	inodes_add(&s, &a, "again");
	inodes_add(&s, &c, NULL);
	assert_string_equal(inodes_get(&s, &a), "a");
	assert_false(inodes_has(&s, &b));
	assert_true(inodes_has(&s, &c));
	assert_null(inodes_get(&s, &c));
	assert_int_equal(s.count, 2);
	inodes_done(&s);
	assert_false(inodes_has(&s, &a));
}

static void test_many_are_there(void **state)
{
	struct inodes s = { 0 };
	char text[32];

	(void)state;
	for (unsigned i = 1; i <= 100000; i++) {
		const struct stat st = file(i % 3, i * 4096);
		(void)snprintf(text, sizeof(text), "file %u", i);
		inodes_add(&s, &st, text);
	}
	assert_int_equal(s.count, 100000);
	for (unsigned i = 1; i <= 100000; i++) {
		const struct stat st = file(i % 3, i * 4096);
		const struct stat other = file(i % 3 + 1, i * 4096);
		(void)snprintf(text, sizeof(text), "file %u", i);
		assert_string_equal(inodes_get(&s, &st), text);
		assert_false(inodes_has(&s, &other));
	}
	inodes_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_set_has_nothing),
		cmocka_unit_test(test_an_added_inode_is_found),
		cmocka_unit_test(test_many_are_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* undo: keeps edits that can be undone, within a bound on the memory of all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/own.h"
#include "executor/edit/undo.h"

#define MIB (1u << 20)

static void add(struct undo *h, const char *path, const char *old)
{
	undo_add(h, path, (struct bytes){ (const uint8_t *)old, strlen(old) }, NULL);
}

/* Undoes the last edit, whose old text must be this one. */
static void undo(struct undo *h, const char *path, const char *old)
{
	struct bytes got;

	assert_true(undo_last(h, path, &got));
	assert_int_equal(got.len, strlen(old));
	assert_memory_equal(got.data, old, got.len);
	undo_drop_last(h, path);
}

static void none(const struct undo *h, const char *path)
{
	struct bytes got;

	assert_false(undo_last(h, path, &got));
}

static void empty(struct undo *h)
{
	assert_int_equal(h->count, 0);
	assert_int_equal(h->bytes, 0);
	assert_null(h->files);
}

static void test_steps_come_back_the_last_one_first(void **state)
{
	struct undo h = { 0 };

	(void)state;
	none(&h, "/a");
	undo_drop_last(&h, "/a");
	undo_forget(&h, "/a");
	add(&h, "/a", "one");
	add(&h, "/b", "other");
	add(&h, "/a", "");
	add(&h, "/a", "three");
	undo(&h, "/a", "three");
	undo(&h, "/a", "");
	undo(&h, "/b", "other");
	none(&h, "/b");
	undo(&h, "/a", "one");
	none(&h, "/a");
	empty(&h);
}

static void test_a_file_that_is_new_has_no_history(void **state)
{
	struct undo h = { 0 };

	(void)state;
	add(&h, "/a", "one");
	add(&h, "/a", "two");
	add(&h, "/b", "stays");
	undo_forget(&h, "/a");
	none(&h, "/a");
	undo(&h, "/b", "stays");
	empty(&h);
}

static void test_a_hundred_steps_of_a_file_are_kept(void **state)
{
	struct undo h = { 0 };
	char text[32];

	(void)state;
	for (int i = 0; i < UNDO_STEPS + 7; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		add(&h, "/a", text);
	}
	for (int i = UNDO_STEPS + 6; i >= 7; i--) {
		(void)snprintf(text, sizeof(text), "%d", i);
		undo(&h, "/a", text);
	}
	none(&h, "/a");
	empty(&h);
}

static size_t count_steps(struct undo *h, const char *path)
{
	struct bytes got;
	size_t count = 0;

	for (; undo_last(h, path, &got); count++)
		undo_drop_last(h, path);
	return count;
}

static void test_16_mib_of_a_file_are_kept(void **state)
{
	AUTO_FREE uint8_t *much = mem_zeroed(UNDO_FILE_BYTES + 1, 1);
	struct undo h = { 0 };

	(void)state;
	for (int i = 0; i < 20; i++)
		undo_add(&h, "/a", (struct bytes){ much, 3 * MIB }, NULL);
	assert_int_equal(h.bytes, 15 * MIB);
	assert_int_equal(count_steps(&h, "/a"), 5);
	undo_add(&h, "/a", (struct bytes){ much, 1 }, NULL);
	undo_add(&h, "/a", (struct bytes){ much, UNDO_FILE_BYTES }, NULL);
	assert_int_equal(count_steps(&h, "/a"), 1);
	/* A text that is too large to keep also removes the older ones. */
	add(&h, "/a", "older");
	undo_add(&h, "/a", (struct bytes){ much, UNDO_FILE_BYTES + 1 }, NULL);
	none(&h, "/a");
	empty(&h);
}

static void test_all_files_together_are_bounded(void **state)
{
	AUTO_FREE uint8_t *much = mem_zeroed(10, MIB);
	struct undo h = { 0 };
	char path[32];

	(void)state;
	for (int i = 0; i < 10; i++) {
		(void)snprintf(path, sizeof(path), "/%d", i);
		undo_add(&h, path, (struct bytes){ much, 10 * MIB }, NULL);
		assert_true(h.bytes <= UNDO_BYTES);
	}
	none(&h, "/3");
	assert_int_equal(count_steps(&h, "/4"), 1);
	undo_done(&h);
	empty(&h);
	for (int i = 0; i < UNDO_FILES + 3; i++) {
		(void)snprintf(path, sizeof(path), "/%d", i);
		add(&h, path, "x");
	}
	assert_int_equal(h.count, UNDO_FILES);
	none(&h, "/2");
	undo(&h, "/3", "x");
	undo_done(&h);
	empty(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_come_back_the_last_one_first),
		cmocka_unit_test(test_a_file_that_is_new_has_no_history),
		cmocka_unit_test(test_a_hundred_steps_of_a_file_are_kept),
		cmocka_unit_test(test_16_mib_of_a_file_are_kept),
		cmocka_unit_test(test_all_files_together_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

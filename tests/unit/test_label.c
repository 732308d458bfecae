/* label: reads the argument of --label, and prints labels as JSON. */
#include "policy/label.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

static void test_labels_are_printed(void **state)
{
	static const struct {
		const char *words[4], *json;
	} rows[] = {
		{ { NULL }, "{}" },
		{ { "a=b" }, "{\"a\":\"b\"}" },
		{ { "a" }, "{\"a\":\"\"}" },
		{ { "a=", "b=c=d" }, "{\"a\":\"\",\"b\":\"c=d\"}" },
		{ { "a=1", "b=2", "a=3" }, "{\"a\":\"3\",\"b\":\"2\"}" },
		{ { "a", "a=1" }, "{\"a\":\"1\"}" },
		{ { "com.example/x-y_z=\xc3\xa4 b" },
		  "{\"com.example/x-y_z\":\"\xc3\xa4 b\"}" },
		{ { "a\"b\\=\"\\\n\t" },
		  "{\"a\\\"b\\\\\":\"\\\"\\\\\\u000a\\u0009\"}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct list labels = { 0 };
		struct err e;
		for (size_t k = 0; k < 4 && rows[i].words[k]; k++)
			if (label_add(&labels, rows[i].words[k], &e) < 0)
				fail_msg("%s: %s", rows[i].words[k], e.text);
		AUTO_FREE char *text = label_print(&labels);
		assert_string_equal(text, rows[i].json);
		list_done(&labels);
	}
}

static void test_other_words_are_refused(void **state)
{
	static const struct {
		const char *word, *says;
	} rows[] = {
		{ "", "the key is missing" },
		{ "=b", "the key is missing" },
		{ "a b=c", "a blank" },
		{ " a=c", "a blank" },
		{ "a\n=c", "a blank" },
		{ "a\t", "a blank" },
		{ "a\xe3\x80\x80=c", "a blank" },
		{ "a=\xff", "UTF-8" },
		{ "a=\xc3", "UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct list labels = { 0 };
		struct err e;
		if (label_add(&labels, rows[i].word, &e) == 0)
			fail_msg("'%s' was accepted", rows[i].word);
		if (!strstr(e.text, rows[i].says))
			fail_msg("'%s': %s", rows[i].word, e.text);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_int_equal(labels.count, 0);
	}
}

/* Adds a label with a key and a value of these lengths. */
static int add_long(struct list *labels, size_t key, size_t value, struct err *e)
{
	AUTO_FREE char *word = calloc(key + value + 2, 1);

	assert_non_null(word);
	memset(word, 'k', key);
	word[key] = '=';
	memset(word + key + 1, 'v', value);
	return label_add(labels, word, e);
}

static void test_labels_are_bounded(void **state)
{
	struct list labels = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(add_long(&labels, LABEL_KEY_MAX + 1, 0, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_int_equal(add_long(&labels, LABEL_KEY_MAX, 0, &e), 0);
	assert_int_equal(add_long(&labels, 1, LABELS_BYTES_MAX / 2, &e), 0);
	assert_int_equal(add_long(&labels, 2, LABELS_BYTES_MAX / 2, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	list_done(&labels);
	for (size_t i = 0; i < LABELS_MAX; i++) {
		AUTO_FREE char *word = text_format("k%zu", i);
		assert_int_equal(label_add(&labels, word, &e), 0);
	}
	assert_int_equal(label_add(&labels, "k0=again", &e), 0);
	assert_int_equal(label_add(&labels, "more", &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	list_done(&labels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels_are_printed),
		cmocka_unit_test(test_other_words_are_refused),
		cmocka_unit_test(test_labels_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

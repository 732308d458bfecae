/* audit_json: an entry's members are one line of JSON; secrets are masked before a
 * long text is cut, and the cut text comes with its digest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/redact.h"
#include "policy/policy.h"
#include "sandbox/launch/audit.h"
#include "sandbox/launch/audit_json.h"
#include "store/folders.h"
#include "store/sha256.h"

static void claim(struct audit_json *n, const char *expected)
{
	AUTO_FREE char *text = audit_json_end(n);

	assert_string_equal(text, expected);
}

static void test_members_stand_one_behind_the_other(void **state)
{
	char *const words[] = { (char[]){ "a" }, (char[]){ "b c" } };
	struct list l = { 0 };
	struct audit_json n;

	(void)state;
	audit_json_begin(&n, NULL, 4096);
	claim(&n, "");
	audit_json_begin(&n, NULL, 4096);
	audit_json_text(&n, "text", "x\n\"\x1b\x7f\xff");
	audit_json_text(&n, "none", NULL);
	audit_json_number(&n, "n", UINT64_MAX);
	audit_json_yes(&n, "y", true);
	audit_json_words(&n, "w", words, 2);
	audit_json_list(&n, "l", &l);
	audit_json_bytes(&n, "b", NULL);
	claim(&n, "\"text\":\"x\\u000a\\\"\\u001b\\u007f\\u00ff\",\"none\":null,"
		  "\"n\":18446744073709551615,\"y\":true,\"w\":[\"a\",\"b c\"],\"l\":[]");
}

static void test_secrets_are_hidden_also_where_a_text_is_cut(void **state)
{
	AUTO_FREE char *text = malloc(AUDIT_JSON_TEXT_MAX + 100);
	struct redact m = { 0 };
	struct audit_json n;

	(void)state;
	assert_int_equal(redact_add(&m, "geheimnis", NULL, NULL), 0);
	for (size_t at = AUDIT_JSON_TEXT_MAX - 12; at <= AUDIT_JSON_TEXT_MAX + 2; at++) {
		memset(text, 'x', AUDIT_JSON_TEXT_MAX + 99);
		text[AUDIT_JSON_TEXT_MAX + 99] = '\0';
		memcpy(text + at, "geheimnis", 9);
		audit_json_begin(&n, &m, 65536);
		audit_json_text(&n, "t", text);
		AUTO_FREE char *got = audit_json_end(&n);
		assert_null(strstr(got, "xg"));
		assert_non_null(strstr(got, "\"t_sha256\":\""));
	}
	redact_done(&m);
}

static void test_a_text_that_is_cut_ends_with_a_whole_character(void **state)
{
	AUTO_FREE char *text = malloc(AUDIT_JSON_TEXT_MAX + 100);
	struct digest d;
	struct audit_json n;

	(void)state;
	memset(text, 'x', AUDIT_JSON_TEXT_MAX - 1);
	strcpy(text + AUDIT_JSON_TEXT_MAX - 1, "\xc3\xa4");
	sha256_bytes(text, strlen(text), &d);
	audit_json_begin(&n, NULL, 65536);
	audit_json_text(&n, "t", text);
	AUTO_FREE char *got = audit_json_end(&n);
	AUTO_FREE char *tail = text_format("xx\",\"t_bytes\":%d,\"t_sha256\":\"%s\"",
					   AUDIT_JSON_TEXT_MAX + 1, d.hex);
	assert_string_equal(got + strlen(got) - strlen(tail), tail);
}

/* All words of a command together have one bound on their length. */
static void test_words_are_cut_together(void **state)
{
	static char *words[3000];
	char word[] = "word";
	struct audit_json n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = word;
	audit_json_begin(&n, NULL, 65536);
	audit_json_words(&n, "w", words, ARRAY_LEN(words));
	assert_false(n.text.is_cut);
	AUTO_FREE char *got = audit_json_end(&n);
	assert_true(strlen(got) < 2 * AUDIT_JSON_TEXT_MAX);
	assert_non_null(strstr(got, "],\"w_bytes\":15000,\"w_sha256\":\""));
}

static void test_more_than_there_is_room_for_is_known(void **state)
{
	struct audit_json n;

	(void)state;
	audit_json_begin(&n, NULL, 20);
	audit_json_text(&n, "key", "more than twenty bytes");
	audit_json_number(&n, "n", 1);
	assert_true(n.text.is_cut);
	free(audit_json_end(&n));
}

static void test_a_policy_says_no_value_of_a_variable(void **state)
{
	struct policy p;

	(void)state;
	policy_init(&p);
	list_add(&p.env_set, "A=value");
	list_add(&p.rules, "{\"command\":\"x\",\n\t\"decision\":\"allow\"}");
	AUTO_FREE char *text = audit_policy(&p, NULL);
	assert_null(strstr(text, "value"));
	assert_null(strchr(text, '\n'));
	assert_non_null(strstr(text, "\"env\":[\"A\"]"));
	assert_non_null(
		strstr(text, "\"rules\":[{\"command\":\"x\",  \"decision\":\"allow\"}]"));
	policy_done(&p);
}

static void test_where_a_log_is_must_look_like_a_place(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(audit_check("on", &e), 0);
	assert_int_equal(audit_check("off", &e), 0);
	assert_int_equal(audit_check("./x", &e), 0);
	assert_int_equal(audit_check("true", &e), -1);
	assert_int_equal(audit_check("", &e), -1);
	assert_null(folder_audit(NULL));
	assert_null(folder_audit("off"));
	AUTO_FREE char *path = folder_audit("/a/b");
	assert_string_equal(path, "/a/b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_stand_one_behind_the_other),
		cmocka_unit_test(test_secrets_are_hidden_also_where_a_text_is_cut),
		cmocka_unit_test(test_a_text_that_is_cut_ends_with_a_whole_character),
		cmocka_unit_test(test_words_are_cut_together),
		cmocka_unit_test(test_more_than_there_is_room_for_is_known),
		cmocka_unit_test(test_a_policy_says_no_value_of_a_variable),
		cmocka_unit_test(test_where_a_log_is_must_look_like_a_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

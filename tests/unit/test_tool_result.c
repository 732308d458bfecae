/* tool_result: writes texts and files as the protocol has them, within bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/own.h"
#include "mcp/tool_result.h"
#include "policy/json/json.h"

static void test_a_result_is_json_with_its_members(void **state)
{
	struct tool_result r;

	(void)state;
	tool_result_init(&r);
	tool_result_text(&r, "a\xff\"", 3);
	tool_result_member(&r, "content", "b\n", 2);
	AUTO_FREE char *text = tool_result_end(&r);
	assert_string_equal(text,
			    "\"content\":[{\"type\":\"text\",\"text\":\"a\xef\xbf\xbd\\\"\"}],"
			    "\"structuredContent\":{\"content\":\"b\\n\"},\"isError\":false");
	AUTO_FREE char *failure = tool_result_failure("no");
	assert_string_equal(failure, "\"content\":[{\"type\":\"text\",\"text\":\"no\"}],"
				     "\"isError\":true");
}

/* A long text of characters of two bytes is cut between characters. */
static void test_a_long_text_is_cut_between_characters(void **state)
{
	const size_t len = 2 * (size_t)TOOL_RESULT_TEXT_MAX + 3;
	AUTO_FREE char *text = malloc(len);
	struct tool_result r;
	struct json_at root, list, item = { 0 };

	(void)state;
	assert_non_null(text);
	text[0] = 'x';
	for (size_t i = 1; i < len; i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	tool_result_init(&r);
	tool_result_text(&r, text, len);
	AUTO_FREE char *members = tool_result_end(&r);
	AUTO_FREE char *whole = text_format("{%s}", members);
	AUTO_JSON struct json *doc = json_parse(whole, strlen(whole), NULL);
	assert_non_null(doc);
	json_root(doc, "result", &root);
	assert_true(json_member(&root, "content", &list) && json_step(&list, &item));
	const char *got = json_member_string(&item, "text", "");
	assert_null(strstr(got, "\xef\xbf\xbd"));
	assert_non_null(strstr(got, " bytes are left out ...]"));
	assert_in_range(strlen(got), TOOL_RESULT_TEXT_MAX - 4, TOOL_RESULT_TEXT_MAX + 64);
}

static const struct {
	const char *url, *path, *json; /* json: NULL, the URL is refused */
} files[] = {
	{ "data:image/png;base64,Zm8=", "a",
	  "{\"type\":\"image\",\"data\":\"Zm8=\",\"mimeType\":\"image/png\"}" },
	{ "data:application/pdf;base64,Zm8=", "/a b",
	  "{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///a%20b\",\"mimeType\":"
	  "\"application/pdf\",\"blob\":\"Zm8=\"}}" },
	{ "data:video/mp4;base64,", "x/y",
	  "{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///x/y\",\"mimeType\":"
	  "\"video/mp4\",\"blob\":\"\"}}" },
	{ "text", "a", NULL },
	{ "data:image/png;base64,Zm8", "a", NULL },
	{ "data:image/png;base64,Zm8=\n", "a", NULL },
	{ "data:image/\"png;base64,Zm8=", "a", NULL },
	{ "data:;base64,Zm8=", "a", NULL },
	{ "data:image/png,Zm8=", "a", NULL },
};

static void test_files_are_images_or_resources(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct tool_result r;

		tool_result_init(&r);
		const bool is_one = tool_result_data_url(&r, files[i].url, files[i].path);
		assert_int_equal(is_one, files[i].json != NULL);
		AUTO_FREE char *got = tool_result_end(&r);
		AUTO_FREE char *wanted = text_format(
			"\"content\":[%s],\"structuredContent\":{},\"isError\":false",
			files[i].json ? files[i].json : "");
		assert_string_equal(got, wanted);
	}
}

static void test_a_file_has_a_bound(void **state)
{
	const size_t len = TOOL_RESULT_FILE_MAX + 4;
	AUTO_FREE char *data = malloc(len + 1);
	struct tool_result r;

	(void)state;
	assert_non_null(data);
	memset(data, 'A', len);
	data[len] = '\0';
	AUTO_FREE char *url = text_format("data:image/png;base64,%s", data);
	tool_result_init(&r);
	assert_true(tool_result_data_url(&r, url, "a"));
	AUTO_FREE char *got = tool_result_end(&r);
	assert_non_null(strstr(got, "A file of more than 6 MiB is not shown."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_result_is_json_with_its_members),
		cmocka_unit_test(test_a_long_text_is_cut_between_characters),
		cmocka_unit_test(test_files_are_images_or_resources),
		cmocka_unit_test(test_a_file_has_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

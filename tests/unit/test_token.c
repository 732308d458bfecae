#include "rootfs-tools/registry/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "rootfs-tools/registry/credentials.h"

static const struct {
	const char *answer, *token; /* NULL: refused */
} answers[] = {
	{ "{\"token\":\"abc.def-_\"}", "abc.def-_" },
	{ "{\"access_token\":\"x\",\"expires_in\":60,\"issued_at\":\"2020-01-01T00:00:00Z\"}",
	  "x" },
	{ "{\"token\":\"x\",\"access_token\":\"y\"}", "x" },
	{ "{}", NULL },
	{ "", NULL },
	{ "{\"token\":7}", NULL },
	{ "{\"token\":\"\"}", NULL },
	{ "{\"token\":\"secret\\r\\nX-Evil: 1\"}", NULL },
	{ "{\"token\":\"secret secret\"}", NULL },
	{ "{\"token\":\"secr\xc3\xa9t\"}", NULL },
};

static void test_a_token_is_one_word_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		AUTO_FREE char *token = NULL;
		struct err e = { 0 };
		int rc = token_read(answers[i].answer, strlen(answers[i].answer), &token,
				    &e);
		assert_int_equal(rc, answers[i].token ? 0 : -1);
		assert_string_equal(token ? token : "",
				    answers[i].token ? answers[i].token : "");
		assert_null(strstr(e.text, "secr"));
	}
}

static void test_a_token_that_is_too_long_is_refused(void **state)
{
	AUTO_FREE char *token = NULL;
	char *answer = calloc(1, TOKEN_MAX + 32);
	struct err e;

	(void)state;
	assert_non_null(answer);
	strcpy(answer, "{\"token\":\"");
	memset(answer + 10, 'x', TOKEN_MAX);
	strcpy(answer + 10 + TOKEN_MAX, "\"}");
	assert_int_equal(token_read(answer, strlen(answer), &token, &e), 0);
	own_free(&token);
	strcpy(answer + 10 + TOKEN_MAX, "x\"}");
	assert_int_equal(token_read(answer, strlen(answer), &token, &e), -1);
	free(answer);
}

static void test_basic_is_user_and_password_in_base64(void **state)
{
	char user[] = "Aladdin", password[] = "open sesame"; /* RFC 7617, section 2 */
	const struct credentials login = { .user = user, .password = password };
	AUTO_FREE char *value = token_basic(&login);

	(void)state;
	assert_string_equal(value, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_token_is_one_word_or_refused),
		cmocka_unit_test(test_a_token_that_is_too_long_is_refused),
		cmocka_unit_test(test_basic_is_user_and_password_in_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

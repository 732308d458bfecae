#include "rootfs-tools/registry/challenge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

static const struct {
	const char *header;
	enum challenge_scheme scheme;
	const char *realm, *service, *scope;
	const char *says; /* part of the error message, for a header that is refused */
} headers[] = {
	{ "Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\","
	  "scope=\"repository:library/python:pull\"",
	  CHALLENGE_BEARER, "https://auth.docker.io/token", "registry.docker.io",
	  "repository:library/python:pull", NULL },
	{ "Basic realm=\"Registry Realm\"", CHALLENGE_BASIC, "Registry Realm", "", "",
	  NULL },
	{ "basic", CHALLENGE_BASIC, "", "", "", NULL },
	{ "BEARER REALM = x , Service=y", CHALLENGE_BEARER, "x", "y", "", NULL },
	{ "", CHALLENGE_NONE, "", "", "", NULL },
	{ " ,, ", CHALLENGE_NONE, "", "", "", NULL },
	{ "Negotiate", CHALLENGE_NONE, "", "", "", NULL },
	{ "Negotiate YWJj==", CHALLENGE_NONE, "", "", "", NULL },
	{ "Digest realm=\"a\", nonce=\"b\"", CHALLENGE_NONE, "", "", "", NULL },
	{ "Basic realm=\"a\", Bearer realm=\"b\"", CHALLENGE_BEARER, "b", "", "", NULL },
	{ "Bearer realm=\"b\", Basic realm=\"a\"", CHALLENGE_BEARER, "b", "", "", NULL },
	{ "Bearer realm=\"b\", Digest realm=\"c\", realm=\"d\"", CHALLENGE_BEARER, "b",
	  "", "", NULL },
	{ "Bearer realm=\"a \\\"b\\\" \\\\ c\",error=\"invalid_token\"", CHALLENGE_BEARER,
	  "a \"b\" \\ c", "", "", NULL },
	{ "Bearer realm=\"a", CHALLENGE_NONE, "", "", "", "does not end" },
	{ "Bearer realm=\"a\\", CHALLENGE_NONE, "", "", "", "does not end" },
	{ "Bearer realm=\"a\nb\"", CHALLENGE_NONE, "", "", "", "control character" },
	{ "Bearer realm=\"a\",realm=\"b\"", CHALLENGE_NONE, "", "", "", "twice" },
	{ "=x", CHALLENGE_NONE, "", "", "", "is not valid" },
	{ "Bearer realm=\"a\" \"b\"", CHALLENGE_NONE, "", "", "",
	  "is not valid" },
	{ "Bearer \x01", CHALLENGE_NONE, "", "", "", "is not valid" },
};

static void test_headers_are_read_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
		struct challenge c = { 0 };
		struct err e = { 0 };
		int rc = challenge_read(headers[i].header, &c, &e);
		assert_int_equal(rc, headers[i].says ? -1 : 0);
		if (headers[i].says) {
			assert_int_equal(e.kind, ERR_PROTOCOL);
			assert_non_null(strstr(e.text, headers[i].says));
			assert_null(strchr(e.text, '\n'));
		}
		assert_int_equal(c.scheme, headers[i].scheme);
		assert_string_equal(c.realm, headers[i].realm);
		assert_string_equal(c.service, headers[i].service);
		assert_string_equal(c.scope, headers[i].scope);
	}
}

static void test_a_value_that_does_not_fit_is_refused_and_not_cut(void **state)
{
	char header[2048] = "Bearer realm=\"";
	const size_t start = strlen(header);
	struct challenge c;
	struct err e;

	(void)state;
	memset(header + start, 'r', sizeof(c.realm) - 1);
	strcpy(header + start + sizeof(c.realm) - 1, "\"");
	assert_int_equal(challenge_read(header, &c, &e), 0);
	assert_int_equal(strlen(c.realm), sizeof(c.realm) - 1);
	strcpy(header + start + sizeof(c.realm) - 1, "r\"");
	assert_int_equal(challenge_read(header, &c, &e), -1);
	assert_non_null(strstr(e.text, "too long"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers_are_read_or_refused),
		cmocka_unit_test(test_a_value_that_does_not_fit_is_refused_and_not_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

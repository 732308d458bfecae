#include "rootfs-tools/registry/mirrors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "rootfs-tools/registry/http.h"

static int read_text(const char *text, struct mirrors *m, struct err *e)
{
	mirrors_init(m);
	return mirrors_read(text, strlen(text), m, e);
}

static void test_mirrors_keep_their_order(void **state)
{
	struct mirrors m;
	struct err e;

	(void)state;
	assert_int_equal(
		read_text("{\"mirrors\":{\"docker.io\":[\"https://a/x/\",\"https://b\"],"
			  "\"quay.io\":[]},\"insecure\":[\"c:5000\"],\"patience\":7}",
			  &m, &e),
		0);
	assert_int_equal(m.of.count, 2);
	assert_string_equal(m.of.items[0], "docker.io");
	assert_string_equal(m.urls.items[0], "https://a/x");
	assert_string_equal(m.urls.items[1], "https://b");
	assert_int_equal(m.insecure.count, 1);
	assert_string_equal(m.insecure.items[0], "c:5000");
	assert_int_equal(m.patience_s, 7);
	mirrors_done(&m);
}

static void test_a_mirror_that_is_written_without_tls_is_meant_so(void **state)
{
	struct mirrors m;
	struct err e;

	(void)state;
	assert_int_equal(
		read_text("{\"mirrors\":{\"docker.io\":[\"http://cache.lan:5000/hub\"]}}",
			  &m, &e),
		0);
	assert_int_equal(m.insecure.count, 1);
	assert_string_equal(m.insecure.items[0], "cache.lan:5000");
	assert_int_equal(m.patience_s, MIRRORS_PATIENCE);
	mirrors_done(&m);
}

static const struct {
	const char *text, *says;
} refused[] = {
	{ "", "line 1" },
	{ "[]", "object was expected" },
	{ "{\"mirror\":{}}", "unknown key 'mirror'" },
	{ "{\"mirrors\":[]}", "registries.mirrors" },
	{ "{\"mirrors\":{\"docker.io\":\"https://a\"}}", "registries.mirrors.docker.io" },
	{ "{\"mirrors\":{\"docker.io\":[\"ftp://a\"]}}", "neither https nor http" },
	{ "{\"mirrors\":{\"docker.io\":[\"https://me:secret@a\"]}}",
	  "no user or password" },
	{ "{\"mirrors\":{\"docker.io\":[\"cache\"]}}",
	  "registries.mirrors.docker.io[0]" },
	{ "{\"insecure\":[1]}", "registries.insecure[0]" },
	{ "{\"patience\":0}", "1 to 3600 seconds" },
	{ "{\"patience\":3601}", "1 to 3600 seconds" },
};

static void test_a_mistake_is_said_with_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct mirrors m;
		struct err e = { 0 };
		assert_int_equal(read_text(refused[i].text, &m, &e), -1);
		assert_non_null(strstr(e.text, refused[i].says));
		assert_null(strstr(e.text, "secret"));
		mirrors_done(&m);
	}
}

/* Setup: libcurl, which reads the URLs, has to be initialised. */
static int begin(void **state)
{
	struct err e;

	(void)state;
	return http_begin(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mirrors_keep_their_order),
		cmocka_unit_test(test_a_mirror_that_is_written_without_tls_is_meant_so),
		cmocka_unit_test(test_a_mistake_is_said_with_its_place),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}

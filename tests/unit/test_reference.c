#include "store/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/scene.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define A10 "aaaaaaaaaa"
#define A50 A10 A10 A10 A10 A10

static const struct {
	const char *text, *whole, *brief;
} good[] = {
	{ "python", "docker.io/library/python:latest", "python" },
	{ "python:3.12", "docker.io/library/python:3.12", "python:3.12" },
	{ "docker.io/python", "docker.io/library/python:latest", "python" },
	{ "index.docker.io/me/tool", "docker.io/me/tool:latest", "me/tool" },
	{ "me/tool", "docker.io/me/tool:latest", "me/tool" },
	{ "a/b/c:1", "docker.io/a/b/c:1", "a/b/c:1" },
	{ "localhost/a", "localhost/a:latest", "localhost/a" },
	{ "localhost:5000/a/b:1", "localhost:5000/a/b:1", "localhost:5000/a/b:1" },
	{ "Host/a", "Host/a:latest", "Host/a" },
	{ "ghcr.io/o/n@sha256:" HEX, "ghcr.io/o/n@sha256:" HEX,
	  "ghcr.io/o/n@sha256:" HEX },
	{ "python:3.12@sha256:" HEX, "docker.io/library/python@sha256:" HEX,
	  "python@sha256:" HEX },
	{ "[::1]:5000/a:1", "[::1]:5000/a:1", "[::1]:5000/a:1" },
	{ "x/a__b.c---d/e_f:V_1.0-x", "docker.io/x/a__b.c---d/e_f:V_1.0-x",
	  "x/a__b.c---d/e_f:V_1.0-x" },
	{ "localhost:5000", "docker.io/library/localhost:5000", "localhost:5000" },
	{ "docker.io/localhost/a", "docker.io/localhost/a:latest",
	  "docker.io/localhost/a" },
	{ "docker.io/a.b/c", "docker.io/a.b/c:latest", "docker.io/a.b/c" },
	{ "library/" HEX, "docker.io/library/" HEX ":latest", "library/" HEX },
	{ "scratch:latest", "docker.io/library/scratch:latest", "scratch" },
};

static void test_usual_references_are_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct reference r, again;
		char text[REFERENCE_MAX];
		struct err e;
		if (reference_parse(good[i].text, &r, &e) < 0)
			fail_msg("%s: %s", good[i].text, e.text);
		reference_print(&r, text);
		assert_string_equal(text, good[i].whole);
		assert_int_equal(reference_parse(text, &again, &e), 0);
		assert_memory_equal(&r, &again, sizeof(r));
		reference_print_short(&r, text);
		assert_string_equal(text, good[i].brief);
		assert_int_equal(reference_parse(text, &again, &e), 0);
		assert_memory_equal(&r, &again, sizeof(r));
	}
}

static void test_the_parts_are_told(void **state)
{
	struct reference r;

	(void)state;
	assert_int_equal(reference_parse("localhost:5000/a/b:1", &r, NULL), 0);
	assert_string_equal(r.registry, "localhost:5000");
	assert_string_equal(r.repository, "a/b");
	assert_string_equal(r.tag, "1");
	assert_string_equal(r.pin.hex, "");
	assert_int_equal(reference_parse("x:1@sha256:" HEX, &r, NULL), 0);
	assert_string_equal(r.tag, "");
	assert_string_equal(r.pin.hex, HEX);
}

static void test_an_invalid_reference_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		":",
		"@",
		"/",
		"a/",
		"/a",
		"a//b",
		"Python",
		"a/B",
		"a:",
		"a:.x",
		"a:-x",
		"a:x/y/",
		"a@",
		"a@sha256:",
		"a@sha512:" HEX,
		"a@sha256:" HEX "0",
		HEX,
		"a..b",
		"a.",
		".a",
		"a-",
		"-a",
		"a___b",
		"a._b",
		"../a",
		"a/../b",
		"a b",
		"a\n",
		"a\033[2J",
		"a%2Fb",
		"host.:5000/a",
		"host:0/a",
		"host:65536/a",
		"host:/a",
		"host:5x/a",
		"-host.x/a",
		"ho_st.x/a",
		"[::1/a",
		"[]:1/a",
		"[x]/a",
		"a:\xc3\xa9",
		"a@b@sha256:" HEX,
		"localhost/",
		"http://x/a",
		"a?b",
		"a#b",
		"a:b:c",
		A50 A50 A50 A50 A50 A10,
		A50 A50 A50 A50 A10 A10 A10 "aaaaaaaa",
		"a:" A50 A50 A10 A10 "aaaaaaaaa",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct reference r = { .tag = "untouched" };
		struct err e = { 0 };
		if (reference_parse(bad[i], &r, &e) == 0)
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_true(e.text[0]);
		assert_string_equal(r.tag, "untouched");
	}
}

/* As a file name, in which a slash takes three bytes, a reference has 255 bytes
 * at most. */
static void test_the_longest_has_room(void **state)
{
	const char *fits = "docker.io/a/" A50 A50 A50 A50 A10 A10 A10 ":x";
	struct reference r;

	(void)state;
	assert_int_equal(reference_parse(fits, &r, NULL), 0);
	assert_int_equal(strlen(r.repository), 232);
	for (size_t more = 1; more <= 255; more++) {
		AUTO_FREE char *text = text_format("docker.io/a/%0*d:x", (int)more, 0);
		size_t whole = strlen(text) + 4;
		assert_int_equal(reference_parse(text, &r, NULL) == 0, whole <= 255);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual_references_are_understood),
		cmocka_unit_test(test_the_parts_are_told),
		cmocka_unit_test(test_an_invalid_reference_is_refused),
		cmocka_unit_test(test_the_longest_has_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "policy/volume.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <limits.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/policy.h"

static const struct {
	const char *path, *clean, *says;
} paths[] = {
	{ "/", "/", NULL },
	{ "//", "/", NULL },
	{ "/.", "/", NULL },
	{ "/./", "/", NULL },
	{ "/a", "/a", NULL },
	{ "/a/", "/a", NULL },
	{ "//a///b//", "/a/b", NULL },
	{ "/a/./b/.", "/a/b", NULL },
	{ "/...", "/...", NULL },
	{ "/..a/b..", "/..a/b..", NULL },
	{ "/a b\n", "/a b\n", NULL },
	{ "", NULL, "not an absolute path" },
	{ "a", NULL, "not an absolute path" },
	{ "./a", NULL, "not an absolute path" },
	{ "/..", NULL, "contains '..'" },
	{ "/a/../b", NULL, "contains '..'" },
	{ "/a/..", NULL, "contains '..'" },
};

static void test_paths_are_made_canonical(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		AUTO_FREE char *clean = NULL;
		struct err e = { 0 };
		int result = volume_normalize(paths[i].path, &clean, &e);
		if (paths[i].says) {
			assert_int_equal(result, -1);
			assert_null(clean);
			assert_non_null(strstr(e.text, paths[i].says));
			continue;
		}
		assert_int_equal(result, 0);
		assert_string_equal(clean, paths[i].clean);
	}
}

static void test_a_path_is_at_most_path_max(void **state)
{
	char path[PATH_MAX + 1];
	AUTO_FREE char *clean = NULL;
	struct err e;

	(void)state;
	memset(path, 'a', PATH_MAX);
	path[0] = '/';
	path[PATH_MAX] = '\0';
	assert_int_equal(volume_normalize(path, &clean, &e), -1);
	assert_non_null(strstr(e.text, "too long"));
	path[PATH_MAX - 1] = '\0';
	assert_int_equal(volume_normalize(path, &clean, &e), 0);
	assert_string_equal(clean, path);
}

typedef int parser(struct policy *p, const char *word, struct err *e);

static const struct {
	parser *parse;
	const char *word;
	enum volume_kind kind;
	const char *source, *target;
	bool is_writable;
	uint64_t size;
	const char *from, *says;
	bool is_cow;
} words[] = {
	{ volume_parse_bind, "/a:/b", VOLUME_BIND, "/a", "/b", true, 0,
	  "-v /a:/b", NULL, false },
	{ volume_parse_bind, "/a:/b:ro", VOLUME_BIND, "/a", "/b", false, 0,
	  "-v /a:/b:ro", NULL, false },
	{ volume_parse_bind, "/a:/b:rw", VOLUME_BIND, "/a", "/b", true, 0,
	  "-v /a:/b:rw", NULL, false },
	{ volume_parse_bind, "/a:/b:cow", VOLUME_BIND, "/a", "/b", true, 0,
	  "-v /a:/b:cow", NULL, true },
	{ volume_parse_bind, "rel/x:/b//c/", VOLUME_BIND, "rel/x", "/b/c", true, 0,
	  "-v rel/x:/b//c/", NULL, false },
	{ volume_parse_bind, "/with:colon:/b", VOLUME_BIND, "/with:colon", "/b", true, 0,
	  "-v /with:colon:/b", NULL, false },
	{ volume_parse_bind, "/a:/b:RO", .says = "unknown mode 'RO'" },
	{ volume_parse_bind, "/a:/b:", .says = "unknown mode ''" },
	{ volume_parse_bind, "/a", .says = "SOURCE:TARGET" },
	{ volume_parse_bind, "", .says = "SOURCE:TARGET" },
	{ volume_parse_bind, "a:b", .says = "'b' is neither a path inside, which" },
	{ volume_parse_bind, "/a:b/c", .says = "not an absolute path" },
	{ volume_parse_bind, ":/b", .says = "SOURCE:TARGET" },
	{ volume_parse_bind, "/a:ro", .says = "SOURCE:TARGET" },
	{ volume_parse_bind, "/a:/b/../c", .says = "contains '..'" },
	{ volume_parse_workspace, "/w", VOLUME_WORKSPACE, "/w", "/workspace", true, 0,
	  "--workspace /w", NULL, false },
	{ volume_parse_workspace, ".:ro", VOLUME_WORKSPACE, ".", "/workspace", false, 0,
	  "--workspace .:ro", NULL, false },
	{ volume_parse_workspace, ".:cow", VOLUME_WORKSPACE, ".", "/workspace", true, 0,
	  "--workspace .:cow", NULL, true },
	{ volume_parse_workspace, "/a:/b", VOLUME_WORKSPACE, "/a:/b",
	  "/workspace", true, 0,
	  "--workspace /a:/b", NULL, false },
	{ volume_parse_workspace, "", .says = "DIR[:ro|:rw|:cow]" },
	{ volume_parse_workspace, ":ro", .says = "DIR[:ro|:rw|:cow]" },
	{ volume_parse_toolchain, "/opt//t/", VOLUME_TOOLCHAIN, "/opt//t/",
	  "/opt/t", false, 0,
	  "--toolchain /opt//t/", NULL, false },
	{ volume_parse_toolchain, "opt", .says = "not an absolute path" },
	{ volume_parse_tmpfs, "/t", VOLUME_TMPFS, NULL, "/t", true, 0,
	  "--tmpfs /t", NULL, false },
	{ volume_parse_tmpfs, "/t:size=2m", VOLUME_TMPFS, NULL, "/t", true, 2u << 20,
	  "--tmpfs /t:size=2m", NULL, false },
	{ volume_parse_tmpfs, "/t:size=0", .says = "no bound" },
	{ volume_parse_tmpfs, "/t:size=", .says = "'' is not a size" },
	{ volume_parse_tmpfs, "/t:mode=1", .says = "size=BYTES" },
	{ volume_parse_tmpfs, "/t:size=1,mode=0777", .says = "no other options" },
	{ volume_parse_tmpfs, "/t:size=1x", .says = "not a size" },
	{ volume_parse_tmpfs, "t", .says = "not an absolute path" },
	{ volume_parse_tmpfs, "", .says = "not an absolute path" },
};

static void check_word(size_t i, const struct volume *v)
{
	assert_int_equal(v->kind, words[i].kind);
	assert_string_equal(v->target, words[i].target);
	assert_string_equal(v->from, words[i].from);
	assert_int_equal(v->is_writable, words[i].is_writable);
	assert_int_equal(v->is_cow, words[i].is_cow);
	assert_int_equal(v->size, words[i].size);
	if (words[i].source)
		assert_string_equal(v->source, words[i].source);
	else
		assert_null(v->source);
}

static void test_words_become_volumes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct policy p;
		struct err e = { 0 };
		policy_init(&p);
		int result = words[i].parse(&p, words[i].word, &e);
		assert_int_equal(result, words[i].says ? -1 : 0);
		assert_int_equal(p.volume_count, words[i].says ? 0 : 1);
		if (!words[i].says)
			check_word(i, &p.volumes[0]);
		else if (!strstr(e.text, words[i].says) || !strstr(e.text, "(from -"))
			fail_msg("'%s' says: %s", words[i].word, e.text);
		policy_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_are_made_canonical),
		cmocka_unit_test(test_a_path_is_at_most_path_max),
		cmocka_unit_test(test_words_become_volumes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "sandbox/plan/protect_missing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/list.h"
#include "sandbox/plan/plan.h"

struct sample {
	const char *path;
	enum making what;
	bool is_refused;
};

static void check(const char *const *patterns, const char *const *folders,
		  const struct sample *samples, size_t count)
{
	struct list protects = { 0 };
	struct plan p;

	plan_init(&p);
	for (; *patterns; patterns++)
		list_add(&protects, *patterns);
	for (; *folders; folders++)
		list_add(&p.guarded, *folders);
	p.protects = &protects;
	struct protect_missing *m = protect_missing_new(&p);
	for (size_t i = 0; i < count; i++)
		if (protect_missing_refuses(m, samples[i].path, samples[i].what) !=
		    samples[i].is_refused)
			fail_msg("%s, %d", samples[i].path, samples[i].what);
	protect_missing_free(m);
	plan_done(&p);
	list_done(&protects);
}

#define CHECK(patterns, folders, samples) \
	check(patterns, folders, samples, sizeof(samples) / sizeof(*(samples)))

static void test_a_protected_path_is_not_made_and_its_parents_are_empty(void **state)
{
	static const char *const patterns[] = { ".git/hooks", "/only", "a/**/z", NULL };
	static const char *const folders[] = { "/home/me/w", NULL };
	static const struct sample samples[] = {
		{ "/home/me/w/.git/hooks", MAKING_FOLDER, true },
		{ "/home/me/w/.git/hooks/x", MAKING_FILE, true },
		{ "/home/me/w/sub/.git/HOOKS", MAKING_FILE, true },
		{ "/home/me/w/.git", MAKING_FOLDER, false },
		{ "/home/me/w/.git", MAKING_FILE, true },
		{ "/home/me/w/.git", MAKING_TREE, true },
		{ "/home/me/w/.git/index", MAKING_TREE, false },
		{ "/home/me/w/only", MAKING_FILE, true },
		{ "/home/me/w/sub/only", MAKING_FILE, false },
		{ "/home/me/w/a/b", MAKING_FOLDER, false },
		{ "/home/me/w/a/b", MAKING_FILE, false },
		{ "/home/me/w/a/b", MAKING_TREE, true },
		{ "/home/me/w/a/b/z", MAKING_FILE, true },
		{ "/home/me/w", MAKING_TREE, false },
		{ "/home/me/wide/.git/hooks", MAKING_FILE, false },
		{ "/home/me/.git/hooks", MAKING_FILE, false },
		{ "/tmp/.git/hooks", MAKING_FILE, false },
	};

	(void)state;
	CHECK(patterns, folders, samples);
}

static void test_each_folder_has_its_say(void **state)
{
	static const char *const patterns[] = { "/name", "/sub/name", NULL };
	static const char *const folders[] = { "/w", "/w/sub", NULL };
	static const struct sample samples[] = {
		{ "/w/name", MAKING_FILE, true },
		{ "/w/sub/name", MAKING_FILE, true },
		{ "/w/sub/sub/name", MAKING_FILE, true },
		{ "/w/other/name", MAKING_FILE, false },
	};
	static const char *const root[] = { "/", NULL };
	static const struct sample of_root[] = {
		{ "/name", MAKING_FILE, true },
		{ "/sub/name", MAKING_FILE, true },
		{ "/x/name", MAKING_FILE, false },
	};

	(void)state;
	CHECK(patterns, folders, samples);
	CHECK(patterns, root, of_root);
}

static void test_below_is_by_whole_names(void **state)
{
	(void)state;
	assert_string_equal(protect_missing_below("/a/b", "/a"), "/b");
	assert_string_equal(protect_missing_below("/a", "/a"), "");
	assert_string_equal(protect_missing_below("/a/b", "/"), "/a/b");
	assert_null(protect_missing_below("/ab", "/a"));
	assert_null(protect_missing_below("/a", "/a/b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_protected_path_is_not_made_and_its_parents_are_empty),
		cmocka_unit_test(test_each_folder_has_its_say),
		cmocka_unit_test(test_below_is_by_whole_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

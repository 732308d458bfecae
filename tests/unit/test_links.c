#include "store/links.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "tests/unit/scene.h"

/* Symbolic links in a folder that also has the folders a and a/b. */
static const struct {
	const char *name, *to;
} links[] = {
	{ "one", "a/b" },         { "two", "one/../b" }, { "none", "a/none/x" },
	{ "odd", "none/.././/" }, { "loop", "loop" },    { "a/up", "../../.." },
};

static const struct {
	const char *path, *wanted;
} resolved[] = {
	{ "a/b", "a/b" },
	{ "one/c/d", "a/b/c/d" },
	{ "two//./c/", "a/b/c" },
	{ "a/b/x/../y/./z/..", "a/b/y" },
	{ "x/../../x", "../x" },
	{ "x/../../../../../../../../../../../etc/./passwd", "/etc/passwd" },
	{ "x/../../../../../../../../../../../..", "/" },
	{ "loop/x", "loop/x" },
};

static const struct {
	const char *path, *places, *end;
} followed[] = {
	{ "a/b/c", "", "a/b/c" },
	{ "one/c", "one", "a/b/c" },
	{ "two", "two one", "a/b" },
	{ "none/y", "none", "a/none/x/y" },
	{ "odd/y", "odd none", "a/none/y" },
};

/* Returns `path` in the scene, with each ".." resolved. */
static char *wanted_path(const char *scene, const char *path)
{
	if (path[0] == '/')
		return text_copy(path);
	if (!strncmp(path, "../", 3))
		return text_format("%.*s/%s", (int)(strrchr(scene, '/') - scene), scene,
				   path + 3);
	return text_format("%s/%s", scene, path);
}

static char *make(void **state)
{
	char *scene = realpath(*state, NULL);

	scene_dir(state, "a");
	scene_dir(state, "a/b");
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		scene_link(state, links[i].name, links[i].to);
	return scene;
}

static void test_a_missing_path_is_resolved_as_text(void **state)
{
	AUTO_FREE char *scene = make(state);

	for (size_t i = 0; i < ARRAY_LEN(resolved); i++) {
		AUTO_FREE char *path = text_format("%s/%s", scene, resolved[i].path);
		AUTO_FREE char *wanted = wanted_path(scene, resolved[i].wanted);
		AUTO_FREE char *got = links_follow(path, NULL);
		assert_string_equal(got, wanted);
	}
}

static void test_each_link_on_the_way_is_named_by_its_place(void **state)
{
	AUTO_FREE char *scene = make(state);

	for (size_t i = 0; i < ARRAY_LEN(followed); i++) {
		struct list places = { 0 };
		AUTO_FREE char *path = text_format("%s/%s", scene, followed[i].path);
		AUTO_FREE char *wanted = wanted_path(scene, followed[i].end);
		AUTO_FREE char *got = links_follow(path, &places);
		assert_string_equal(got, wanted);
		for (size_t k = 0; k < places.count; k++)
			memmove(places.items[k], places.items[k] + strlen(scene) + 1,
				strlen(places.items[k]) - strlen(scene));
		AUTO_FREE char *names = list_join(&places, 0, " ");
		assert_string_equal(names, followed[i].places);
		list_done(&places);
	}
}

static void test_a_loop_ends(void **state)
{
	struct list places = { 0 };
	AUTO_FREE char *scene = make(state);
	AUTO_FREE char *path = text_format("%s/loop/x", scene);
	AUTO_FREE char *end = links_follow(path, &places);

	assert_string_equal(end, path);
	assert_in_range(places.count, 1, 40);
	list_done(&places);
}

#define PLAYED(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED(test_a_missing_path_is_resolved_as_text),
		PLAYED(test_each_link_on_the_way_is_named_by_its_place),
		PLAYED(test_a_loop_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

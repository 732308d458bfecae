/* volumes: plans the user's mounts, in which hutch's own folders must not be
 * visible. */
#include "sandbox/plan/volumes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/kernel.h"
#include "policy/policy.h"
#include "policy/volume.h"
#include "sandbox/plan/plan.h"
#include "tests/unit/scene.h"
#include "tests/unit/world.h"

static void bind(struct world *w, void **state, const char *source, const char *rest)
{
	AUTO_FREE char *path = scene_path(state, source);
	AUTO_FREE char *word = text_format("%s:%s", path, rest);

	assert_int_equal(volume_parse_bind(&w->policy, word, &w->e), 0);
}

static int home_setup(void **state)
{
	static const char *const variables[] = { "XDG_RUNTIME_DIR", "XDG_DATA_HOME",
						 "XDG_CACHE_HOME", "XDG_CONFIG_HOME" };

	if (scene_setup(state) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		(void)unsetenv(variables[i]);
	scene_dir(state, "home");
	scene_dir(state, "data");
	AUTO_FREE char *home = scene_path(state, "home");
	return setenv("HOME", home, 1);
}

static void test_parents_come_before_what_lies_below_them(void **state)
{
	static const char *const wanted[] = { "/a", "/a-b", "/a/b", "/a/b/c", "/z" };
	struct world w;

	world_begin(&w);
	bind(&w, state, "data", "/z");
	bind(&w, state, "data", "/a/b/c");
	bind(&w, state, "data", "/a-b");
	assert_int_equal(volume_parse_tmpfs(&w.policy, "/a/b:size=4k", &w.e), 0);
	bind(&w, state, "data", "/a:ro");
	assert_int_equal(volumes_plan(&w.plan, &w.policy, &w.e), 0);
	assert_int_equal(w.plan.count, ARRAY_LEN(wanted));
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		assert_string_equal(w.plan.steps[i].target, wanted[i]);
	assert_string_equal(world_find(&w, STEP_TMPFS, "/a/b")->data,
			    "size=4096,mode=1777");
	world_done(&w);
}

static void test_a_bind_is_pinned_to_what_was_seen(void **state)
{
	AUTO_FREE char *path = scene_path(state, "data"),
		       *file = scene_path(state, "file");
	struct stat st;
	struct world w;

	scene_file(state, "file", "x");
	scene_link(state, "link", "data");
	world_begin(&w);
	bind(&w, state, "link", "/d");
	bind(&w, state, "file", "/f:ro");
	assert_int_equal(volumes_plan(&w.plan, &w.policy, &w.e), 0);
	const struct step *s = world_find(&w, STEP_BIND, "/d");
	assert_string_equal(s->source, path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(s->dev, st.st_dev);
	assert_int_equal(s->ino, st.st_ino);
	assert_true(s->is_dir);
	assert_int_equal(s->attr, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	s = world_find(&w, STEP_BIND, "/f");
	assert_string_equal(s->source, file);
	assert_false(s->is_dir);
	assert_int_equal(s->attr,
			 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY);
	world_done(&w);
}

static void test_a_link_in_a_resolved_path_is_not_followed(void **state)
{
	AUTO_FREE char *path = scene_path(state, "data");
	struct world w;
	struct stat st;

	scene_dir(state, "data/below");
	scene_link(state, "link", "data");
	world_begin(&w);
	w.policy.is_resolved = true;
	AUTO_FREE char *real = volumes_resolve(&w.policy, path, &st);
	assert_non_null(real);
	bind(&w, state, "link/below", "/d");
	assert_int_equal(volumes_plan(&w.plan, &w.policy, &w.e), -1);
	assert_int_equal(w.e.kind, ERR_REFUSED);
	assert_non_null(strstr(w.e.text, "it was replaced while"));
	AUTO_FREE char *root = volumes_resolve(&w.policy, "/", &st);
	assert_string_equal(root, "/");
	world_done(&w);
}

static void test_a_volume_that_cannot_be_mounted_is_named(void **state)
{
	AUTO_FREE char *file = scene_path(state, "file"),
		       *none = scene_path(state, "none");
	struct world w;

	scene_file(state, "file", "x");
	world_begin(&w);
	bind(&w, state, "none", "/x");
	assert_int_equal(volumes_plan(&w.plan, &w.policy, &w.e), -1);
	assert_int_equal(w.e.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(w.e.text, none));
	assert_non_null(strstr(w.e.text, "(from -v "));
	world_done(&w);
	world_begin(&w);
	assert_int_equal(volume_parse_workspace(&w.policy, file, &w.e), 0);
	assert_int_equal(volumes_plan(&w.plan, &w.policy, &w.e), -1);
	assert_non_null(strstr(w.e.text, "is not a folder"));
	world_done(&w);
}

/* A bound home would show hutch's own folders.  Each is made if it is missing, and
 * masked; the folders above it are pinned, so that they cannot be moved. */
static void test_own_folders_are_masked_and_pinned(void **state)
{
	static const char *const masks[] = { "/h/.local/share/hutch", "/h/.cache/hutch",
					     "/h/.config/hutch" };
	static const char *const pins[] = { "/h/.local", "/h/.local/share", "/h/.cache",
					    "/h/.config" };
	AUTO_FREE char *cache = scene_path(state, "home/.cache/hutch");
	struct world w;

	world_begin(&w);
	bind(&w, state, "home", "/h");
	assert_int_equal(volumes_plan(&w.plan, &w.policy, &w.e), 0);
	for (size_t i = 0; i < ARRAY_LEN(masks); i++)
		assert_non_null(world_find(&w, STEP_MASK, masks[i]));
	for (size_t i = 0; i < ARRAY_LEN(pins); i++) {
		const struct step *pin = world_find(&w, STEP_BIND, pins[i]);
		assert_non_null(pin);
		assert_true(pin < world_find(&w, STEP_MASK, masks[i < 2 ? 0 : i - 1]));
	}
	assert_string_equal(w.plan.steps[0].target, "/h");
	assert_int_equal(access(cache, F_OK), 0);
	world_done(&w);
}

static void test_own_folders_are_masked_where_a_variable_names_them(void **state)
{
	AUTO_FREE char *runtime = scene_path(state, "data/deep");
	struct world w;

	scene_dir(state, "data/deep");
	assert_int_equal(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
	world_begin(&w);
	bind(&w, state, "data", "/d");
	assert_int_equal(volumes_plan(&w.plan, &w.policy, &w.e), 0);
	assert_non_null(world_find(&w, STEP_BIND, "/d/deep"));
	assert_non_null(world_find(&w, STEP_MASK, "/d/deep/hutch"));
	world_done(&w);
}

static const char *const own[] = { "home/.cache/hutch", "home/.cache/hutch/seccomp",
				   "link", "home/.local/../.cache/hutch" };

static void test_own_folders_are_never_mounted(void **state)
{
	scene_dir(state, "home/.cache");
	scene_dir(state, "home/.cache/hutch");
	scene_dir(state, "home/.cache/hutch/seccomp");
	scene_dir(state, "home/.cache/hutchinson");
	scene_dir(state, "home/.local");
	scene_link(state, "link", "home/.cache/hutch");
	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		struct world w;
		world_begin(&w);
		bind(&w, state, own[i], "/x:ro");
		assert_int_equal(volumes_plan(&w.plan, &w.policy, &w.e), -1);
		assert_int_equal(w.e.kind, ERR_REFUSED);
		assert_non_null(strstr(w.e.text, "hutch's own"));
		world_done(&w);
	}
	struct world w;
	world_begin(&w);
	bind(&w, state, "home/.cache/hutchinson", "/x");
	assert_int_equal(volumes_plan(&w.plan, &w.policy, &w.e), 0);
	assert_int_equal(w.plan.count, 1);
	world_done(&w);
}

/* A symbolic link on the path of one of hutch's folders: the folder that it leads to
 * is masked. */
static void test_a_link_to_own_folders_is_looked_through(void **state)
{
	struct world w;

	scene_dir(state, "data/cache");
	scene_link(state, "home/.cache", "../data/cache");
	world_begin(&w);
	bind(&w, state, "data", "/d");
	assert_int_equal(volumes_plan(&w.plan, &w.policy, &w.e), 0);
	assert_non_null(world_find(&w, STEP_MASK, "/d/cache/hutch"));
	world_done(&w);
}

static void test_no_volumes_no_steps(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w);
	assert_int_equal(volumes_plan(&w.plan, &w.policy, &w.e), 0);
	assert_int_equal(w.plan.count, 0);
	world_done(&w);
}

/* Volumes, and what the note about them begins and ends with; NULL: there is none. */
static const struct {
	const char *source, *rest, *says;
} shown[] = {
	{ "data", "/d", NULL },
	{ "home/below", "/h", NULL },
	{ "home", "/h", "safer, or :ro, :cow\n" },
	{ "home/../link", "/h:ro", "safer\n" },
	{ "home", "/h:cow", "safer\n" },
	{ "", "/all:ro", "safer\n" },
	{ "nowhere", "/n", NULL },
};

/* Returns, allocated, the note about the volumes, by their plan if it can be made. */
static char *tell(struct world *w, bool has_plan)
{
	char said[4096] = "";
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	AUTO_CLOSE int from = ends[0];
	volumes_tell_home(&w->policy, has_plan ? &w->plan : NULL, ends[1]);
	(void)close(ends[1]);
	assert_true(read(from, said, sizeof(said) - 1) >= 0);
	return text_copy(said);
}

static void check_told(void **state, size_t i, bool has_plan)
{
	struct world w;

	world_begin(&w);
	bind(&w, state, shown[i].source, shown[i].rest);
	if (has_plan)
		(void)volumes_plan(&w.plan, &w.policy, &w.e); /* "nowhere" fails */
	AUTO_FREE char *said = tell(&w, has_plan);
	assert_int_equal(*said != '\0', shown[i].says != NULL);
	if (shown[i].says) {
		assert_non_null(strstr(said, "hutch: note: -v /"));
		assert_string_equal(strstr(said, "safer"), shown[i].says);
	}
	world_done(&w);
}

static void test_a_volume_that_shows_the_whole_home_is_told(void **state)
{
	AUTO_FREE char *home = scene_path(state, "home");
	AUTO_FREE char *link = scene_path(state, "link");

	scene_dir(state, "home/below");
	assert_int_equal(symlink(home, link), 0);
	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		check_told(state, i, false);
		check_told(state, i, true);
	}
}

static void test_the_whole_home_is_told_once(void **state)
{
	for (int has_plan = 0; has_plan < 2; has_plan++) {
		struct world w;
		world_begin(&w);
		bind(&w, state, "home", "/b");
		bind(&w, state, "home", "/a");
		assert_int_equal(volume_parse_bind(&w.policy, "/:/host:ro", &w.e), 0);
		if (has_plan)
			assert_int_equal(volumes_plan(&w.plan, &w.policy, &w.e), 0);
		AUTO_FREE char *said = tell(&w, has_plan);
		assert_true(*said != '\0');
		assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
		assert_non_null(strstr(said, "home:/b shows"));
		world_done(&w);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, home_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_parents_come_before_what_lies_below_them),
		TEST(test_a_bind_is_pinned_to_what_was_seen),
		TEST(test_a_link_in_a_resolved_path_is_not_followed),
		TEST(test_a_volume_that_cannot_be_mounted_is_named),
		TEST(test_own_folders_are_masked_and_pinned),
		TEST(test_own_folders_are_masked_where_a_variable_names_them),
		TEST(test_own_folders_are_never_mounted),
		TEST(test_a_link_to_own_folders_is_looked_through),
		TEST(test_no_volumes_no_steps),
		TEST(test_a_volume_that_shows_the_whole_home_is_told),
		TEST(test_the_whole_home_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/spot.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "base/kernel.h"
#include "base/resolve.h"
#include "tests/unit/refuse.h"
#include "tests/unit/scene.h"

static int read_link(void *context, int dir, const char *name, char *to)
{
	int *count = context;

	(*count)++;
	return spot_read_link(dir, name, to);
}

/* Makes in `top`: file, real/deep, link -> real, out -> /, loop -> loop, and far ->
 * link/deep/none. */
static int make_scene(const char *top)
{
	int folder = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(folder >= 0);
	assert_int_equal(
		mkdirat(folder, "real", 0755) | mkdirat(folder, "real/deep", 0755), 0);
	assert_int_equal(symlinkat("real", folder, "link") |
				 symlinkat("/", folder, "out") |
				 symlinkat("loop", folder, "loop") |
				 symlinkat("link/deep/none", folder, "far"),
			 0);
	AUTO_CLOSE int file =
		openat(folder, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_true(file >= 0);
	return folder;
}

static void test_a_path_ends_in_a_folder_and_a_name(void **state)
{
	static const struct {
		const char *path, *name;
		int error, links;
	} samples[] = {
		{ "none", "none", 0, 0 },
		{ "real/none", "none", 0, 0 },
		{ "real/none/", "none/", 0, 0 },
		{ "link", "link", 0, 0 },
		{ "link/deep", "deep", 0, 1 },
		{ "link//./deep/../x", "x", 0, 1 },
		{ "out/proc", "proc", 0, 1 },
		{ ".", "", 0, 0 },
		{ "real/..", "", 0, 0 },
		{ "link/.", "", 0, 1 },
		{ "link/", "link/", 0, 0 },
		{ "/", "", 0, 0 },
		{ "...", "...", 0, 0 },
		{ "", "", -ENOENT, 0 },
		{ "file/x", "", -ENOTDIR, 0 },
		{ "link/none/x", "", -ENOENT, 1 },
		{ "loop/x", "", -ELOOP, 40 },
	};
	AUTO_CLOSE int folder = make_scene(*state);

	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		int links = 0;
		struct spot_search w = { .read_link = read_link, .context = &links };
		struct spot s = { .dir = -1 };
		int error = spot_find(&w, folder, samples[i].path, &s);
		if (error != samples[i].error || strcmp(s.name, samples[i].name) ||
		    links != samples[i].links)
			fail_msg("'%s': %d, '%s', %d links", samples[i].path, error,
				 s.name, links);
		spot_done(&s);
	}
}

static void test_names_and_paths_are_bounded(void **state)
{
	char path[PATH_MAX + 2];
	int links = 0;
	struct spot_search w = { .read_link = read_link, .context = &links };
	struct spot s = { .dir = -1 };

	(void)state;
	memset(path, 'x', sizeof(path));
	path[NAME_MAX] = '\0';
	assert_int_equal(spot_find(&w, AT_FDCWD, path, &s), 0);
	assert_int_equal(strlen(s.name), NAME_MAX);
	spot_done(&s);
	path[NAME_MAX] = '/';
	path[NAME_MAX + 1] = '\0';
	assert_int_equal(spot_find(&w, AT_FDCWD, path, &s), 0);
	spot_done(&s);
	path[NAME_MAX] = 'x';
	assert_int_equal(spot_find(&w, AT_FDCWD, path, &s), -ENAMETOOLONG);
	memset(path, '/', sizeof(path));
	path[PATH_MAX] = '\0';
	assert_int_equal(spot_find(&w, AT_FDCWD, path, &s), -ENAMETOOLONG);
}

static void test_a_last_link_is_followed_when_it_is_asked(void **state)
{
	AUTO_CLOSE int folder = make_scene(*state);
	int links = 0;
	struct spot_search w = { .read_link = read_link, .context = &links };
	struct spot s = { .dir = -1 };

	assert_int_equal(spot_find(&w, folder, "far", &s), 0);
	assert_int_equal(spot_follow(&w, &s), 0);
	assert_string_equal(s.name, "none");
	assert_int_equal(links, 2);
	spot_done(&s);
}

/* --- where there is no openat2 -------------------------------------------------------- */

static const struct {
	const char *path;
	uint64_t flags, resolve;
} asked[] = {
	{ "file", O_RDONLY, RESOLVE_NO_MAGICLINKS },
	{ "link", O_RDONLY, RESOLVE_NO_MAGICLINKS },
	{ "link", O_PATH, RESOLVE_NO_MAGICLINKS },
	{ "link", O_PATH | O_NOFOLLOW, RESOLVE_NO_MAGICLINKS },
	{ "link", O_RDONLY | O_NOFOLLOW, RESOLVE_NO_MAGICLINKS },
	{ "link/deep", O_RDONLY, RESOLVE_NO_MAGICLINKS },
	{ "out/proc/self/fd/0", O_RDONLY, RESOLVE_NO_MAGICLINKS },
	{ "/proc/self/exe", O_RDONLY, RESOLVE_NO_MAGICLINKS },
	{ "/proc/self/cwd/x", O_PATH, RESOLVE_NO_MAGICLINKS },
	{ "/proc/self/status", O_RDONLY, RESOLVE_NO_MAGICLINKS },
	{ "/proc/mounts", O_RDONLY, RESOLVE_NO_MAGICLINKS },
	{ "loop", O_RDONLY, RESOLVE_NO_MAGICLINKS },
	{ "none", O_RDONLY, RESOLVE_NO_MAGICLINKS },
	{ ".", O_PATH | O_DIRECTORY, RESOLVE_NO_MAGICLINKS },
	{ "/", O_PATH | O_DIRECTORY, RESOLVE_NO_MAGICLINKS },
	{ "file", O_PATH | O_DIRECTORY, RESOLVE_NO_MAGICLINKS },
	{ "real/deep", O_RDONLY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS },
	{ "link/deep", O_RDONLY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS },
	{ "link", O_RDONLY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS },
	{ "real/../file", O_RDONLY, RESOLVE_NO_SYMLINKS },
	{ "..", O_RDONLY | O_DIRECTORY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS },
	{ "/tmp", O_RDONLY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS },
	{ "real/../../x", O_RDONLY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS },
};

struct outcome {
	int error;
	ino_t ino;
};

static struct outcome look(int folder, size_t i)
{
	const struct open_how how = { .flags = asked[i].flags | O_CLOEXEC,
				      .resolve = asked[i].resolve };
	AUTO_CLOSE int fd = resolve_open(folder, asked[i].path, &how);
	struct stat st = { 0 };

	return (struct outcome){ fd < 0 ? errno : fstat(fd, &st), st.st_ino };
}

static void test_by_hand_it_is_what_the_kernel_does(void **state)
{
	AUTO_CLOSE int folder = make_scene(*state);
	struct outcome kernel[ARRAY_LEN(asked)];

	for (size_t i = 0; i < ARRAY_LEN(asked); i++)
		kernel[i] = look(folder, i);
	pid_t pid = fork();
	if (pid == 0) {
		refuse_call(SYS_openat2, ENOSYS);
		for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
			const struct outcome own = look(folder, i);
			/* "self" is another process. */
			bool is_same =
				own.error == kernel[i].error &&
				(own.ino == kernel[i].ino || *asked[i].path == '/');
			if (!is_same)
				(void)dprintf(2, "%s: %d, and not %d\n", asked[i].path,
					      own.error, kernel[i].error);
			CHECK(is_same);
		}
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The folder of the path before is kept, but never taken for another one. */
static void test_a_look_follows_no_link(void **state)
{
	static const struct {
		const char *path;
		int error;
	} samples[] = {
		{ "/real/deep", 0 },	{ "/real/none", ENOENT }, { "/real", 0 },
		{ "/link", ELOOP },	{ "/link/deep", ELOOP },  { "/file", 0 },
		{ "/file/x", ENOTDIR }, { "/rea/x", ENOENT },	  { "/real/", 0 },
		{ "/out/proc", ELOOP }, { "/none/x", ENOENT },	  { "", 0 },
	};
	AUTO_FREE char *top = realpath((const char *)*state, NULL);
	AUTO_CLOSE int folder = make_scene(top);
	struct resolve_folder kept = RESOLVE_FOLDER_NONE;
	struct stat is, wanted;

	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		AUTO_FREE char *path = text_format("%s%s", top, samples[i].path);
		const int looked = resolve_look_real(&kept, path, &is);
		assert_int_equal(looked < 0 ? errno : 0, samples[i].error);
		if (samples[i].error)
			continue;
		assert_int_equal(lstat(path, &wanted), 0);
		assert_int_equal(is.st_ino, wanted.st_ino);
	}
	assert_int_equal(resolve_look_real(&kept, "/", &is), 0);
	assert_int_equal(lstat("/", &wanted), 0);
	assert_int_equal(is.st_ino, wanted.st_ino);
	assert_int_equal(resolve_look_real(&kept, "real", &is), -1);
	resolve_folder_done(&kept);
	assert_int_equal(kept.fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_path_ends_in_a_folder_and_a_name,
						scene_setup, scene_teardown),
		cmocka_unit_test(test_names_and_paths_are_bounded),
		cmocka_unit_test_setup_teardown(
			test_a_last_link_is_followed_when_it_is_asked, scene_setup,
			scene_teardown),
		cmocka_unit_test_setup_teardown(test_by_hand_it_is_what_the_kernel_does,
						scene_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(test_a_look_follows_no_link, scene_setup,
						scene_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* source_hash, runtime_tags: compute the same names as OpenHands' own code. */
#include "rootfs-tools/build/source_hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "rootfs-tools/build/runtime_tags.h"

static char place[] = "/tmp/hutch-test.XXXXXX";

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
}

/* Makes the project from which python's dirhash 0.5.0 and runtime_build.py's
 * functions computed the hashes below. */
static int make_project(void **state)
{
	static const char *const folders[] = { "openhands", "openhands/sub",
					       "openhands/__pycache__", "openhands/.hid",
					       "openhands/empty" };

	(void)state;
	if (!mkdtemp(place) || chdir(place) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		assert_int_equal(mkdir(folders[i], 0755), 0);
	put("openhands/a.py", "x=1\n");
	put("openhands/sub/b.py", "y\n");
	put("openhands/__pycache__/c.pyc", "z\n");
	put("openhands/d.pyc", "z\n");
	put("openhands/.hid/f", "q\n");
	put("openhands/.hidden", "h\n");
	put("pyproject.toml", "[tool.poetry]\nname = \"x\"\nversion = \"0.62.0\"\n");
	put("poetry.lock", "lock\n");
	return symlink("a.py", "openhands/link.py");
}

static int remove_project(void **state)
{
	AUTO_FREE char *command = text_format("rm -rf %s", place);

	(void)state;
	return system(command);
}

static void test_the_hash_of_a_folder_is_dirhashs(void **state)
{
	char hash[SOURCE_HASH_TEXT];
	struct err e = { 0 };

	(void)state;
	if (source_hash("openhands", hash, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(hash, "866da4df13fa07ecdce6cdb1f35745bb");
	put("openhands/__pycache__/c.pyc", "other\n");
	assert_int_equal(source_hash("openhands", hash, &e), 0);
	assert_string_equal(hash, "866da4df13fa07ecdce6cdb1f35745bb");
}

static void test_a_file_that_cannot_be_hashed_is_an_error(void **state)
{
	char hash[SOURCE_HASH_TEXT];
	struct err e = { 0 };

	(void)state;
	assert_int_equal(source_hash("none", hash, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_int_equal(source_hash("openhands/empty", hash, &e), -1);
	assert_non_null(strstr(e.text, "nothing in it"));
	assert_int_equal(symlink("..", "openhands/sub/up"), 0);
	assert_int_equal(source_hash("openhands", hash, &e), -1);
	assert_non_null(
		strstr(e.text, "openhands/sub/up leads to a folder that it is in"));
	assert_int_equal(unlink("openhands/sub/up"), 0);
}

static void check_tags(const struct runtime_wish *w, const char *source,
		       const char *versioned)
{
	struct runtime_tags t = { 0 };
	struct err e = { 0 };

	if (runtime_tags_make(w, &t, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(t.source, source);
	assert_string_equal(t.versioned, versioned);
	assert_int_equal(strncmp(t.source, t.lock, strlen(t.lock)), 0);
	assert_int_equal(t.source[strlen(t.lock)], '_');
	runtime_tags_done(&t);
}

static void test_tags_are_openhands(void **state)
{
	struct runtime_wish w = { .base = "bb:1",
				  .repository = "ghcr.io/openhands/runtime",
				  .project = "." };

	(void)state;
	check_tags(
		&w,
		"ghcr.io/openhands/runtime:oh_v0.62.0_y4lolnlj9s0bvshn_jasurs31owfwx1f3",
		"ghcr.io/openhands/runtime:oh_v0.62.0_bb_t_1");
	w.base = "nikolaik/python-nodejs:python3.12-nodejs22";
	w.version = "0.9.9";
	check_tags(
		&w,
		"ghcr.io/openhands/runtime:oh_v0.9.9_bvpoy0p8hju54ayj_jasurs31owfwx1f3",
		"ghcr.io/openhands/runtime:"
		"oh_v0.9.9_nikolaik_s_python-nodejs_t_python3.12-nodejs22");
	w.has_no_browser = true;
	w.base =
		"registry.example.org/Some/Very/Long/Name/That/Goes/On/And/On/For/More/Than/"
		"Ninety-Six/Characters/python-nodejs:Python3.12";
	check_tags(
		&w,
		"ghcr.io/openhands/runtime:oh_v0.9.9_m6yynkaduz7pwo2w_jasurs31owfwx1f3",
		"ghcr.io/openhands/runtime:"
		"oh_v0.9.9__goes_s_on_s_and_s_on_s_for_s_more_s_than_s_ninety-six_s_characters_s_python-nodejs_t_python3.12");
	w.base = "ghcr.io/openhands/runtime:mine";
	w.repository = "openhands/runtime";
	check_tags(
		&w,
		"ghcr.io/openhands/runtime:oh_v0.9.9_xs4idgxw4pdnwfvg_jasurs31owfwx1f3",
		"ghcr.io/openhands/runtime:oh_v0.9.9_ghcr.io_s_openhands_s_runtime_t_mine");
}

static void test_sixteen_digits_of_base_36(void **state)
{
	static const struct {
		const char *hex, *is;
	} samples[] = {
		{ "00000000000000000000000000000000", "" },
		{ "00000000000000000000000000000024", "01" },
		{ "00000000000000000000000000000023", "z" },
		{ "17d13cce11cb013865a13da509348202", "y4lolnlj9s0bvshn" },
		{ "ffffffffffffffffffffffffffffffff", "33psmzhlgqnyronp" },
	};
	char is[17];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		runtime_tags_shorten(samples[i].hex, is);
		assert_string_equal(is, samples[i].is);
	}
}

static void test_a_version_has_to_be_said(void **state)
{
	struct runtime_wish w = { .base = "b", .repository = "r", .project = "." };
	struct runtime_tags t = { 0 };
	struct err e = { 0 };

	(void)state;
	put("pyproject.toml", "[x]\nversion_file = \"a\"\n");
	assert_int_equal(runtime_tags_make(&w, &t, &e), -1);
	assert_non_null(strstr(e.text, "says no version"));
	assert_null(t.source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_hash_of_a_folder_is_dirhashs),
		cmocka_unit_test(test_a_file_that_cannot_be_hashed_is_an_error),
		cmocka_unit_test(test_tags_are_openhands),
		cmocka_unit_test(test_sixteen_digits_of_base_36),
		cmocka_unit_test(test_a_version_has_to_be_said),
	};

	return cmocka_run_group_tests(tests, make_project, remove_project);
}

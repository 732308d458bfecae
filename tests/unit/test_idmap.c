#include "sandbox/kernel/idmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/syscall.h>

#include "base/err.h"
#include "base/own.h"
#include "tests/unit/scene.h"

static const struct {
	const char *line;
	uint32_t start; /* first id of the range; 0: the line gives no range */
} lines[] = {
	{ "anna:100000:65536\n", 100000 },
	{ "anna:100000:65536", 100000 },
	{ "# comment\n\nben:1:2\nanna:200000:65536\n", 200000 },
	{ "anna:100000:10\nanna:300000:70000\n", 300000 },
	{ "anna:1:65536\n", 1 },
	{ "anna:4294901759:65536\n", 4294901759 },
	{ "", 0 },
	{ "annabel:100000:65536\n", 0 },
	{ "ann:100000:65536\n", 0 },
	{ " anna:100000:65536\n", 0 },
	{ "anna:100000:65535\n", 0 },
	{ "anna:100000\n", 0 },
	{ "anna:x:65536\n", 0 },
	{ "anna:0:65536\n", 0 },	      /* host id 0 */
	{ "anna:4294901761:65536\n", 0 },     /* beyond the last id */
	{ "anna:4294967295:65536\n", 0 },
	{ "anna:4294967296:65536\n", 0 },     /* 2^32, which would be 0 in 32 bits */
	{ "anna:4294967296:5000000000\n", 0 },
	{ "anna:4294967295:9999999999\n", 0 },
	{ "anna:-5:65536\n", 0 },
	{ "anna:18446744073709551615:65536\n", 0 },
	{ "65534:100000:65536\n", 100000 }, /* her number */
	{ "6553:100000:65536\n65534:200000:65536\nanna:300000:65536\n", 200000 },
	{ "655345:100000:65536\n", 0 },
};

static const struct subid_owner anna = { "anna", 65534 }, nameless = { NULL, 65534 };

static void test_which_lines_grant_ids(void **state)
{
	const struct idmap kept = { 1000, 1001, 1 };
	AUTO_FREE char *path = scene_path(state, "subuid");

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct idmap maps[IDMAP_MAX] = { 0 };
		struct err e = { 0 };
		scene_file(state, "subuid", lines[i].line);
		size_t count = idmap_ranges(maps, path, &anna, kept, &e);
		if (count != (lines[i].start ? 4 : 0) ||
		    maps[0].outside != lines[i].start)
			fail_msg("'%s': %zu maps, from %u", lines[i].line, count,
				 maps[0].outside);
		if (count == 0) {
			assert_int_equal(e.kind, ERR_NOT_FOUND);
			assert_non_null(strstr(e.remedy, "usermod --add-subuids"));
		}
	}
}

/* Each of the 65537 ids inside and outside occurs exactly once. */
static void check_cover(const struct idmap *maps, size_t count, uint32_t start)
{
	static unsigned char inside[65537], outside[65536];
	unsigned kept = 0;

	memset(inside, 0, sizeof(inside));
	memset(outside, 0, sizeof(outside));
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < maps[i].count; k++) {
			assert_true(maps[i].inside + k < 65537);
			assert_int_equal(inside[maps[i].inside + k]++, 0);
			uint32_t out = maps[i].outside + k;
			if (out == 1001)
				kept++;
			else
				assert_int_equal(outside[out - start]++, 0);
			assert_int_not_equal(out, 0);
		}
	assert_int_equal(kept, 1);
	assert_null(memchr(inside, 0, sizeof(inside)));
	assert_null(memchr(outside, 0, sizeof(outside)));
}

static void test_ranges_cover_every_id_once(void **state)
{
	static const uint32_t kepts[] = { 0, 1, 1000, 65534 };
	AUTO_FREE char *path = scene_path(state, "subuid");

	scene_file(state, "subuid", "anna:100000:65536\n");
	for (size_t i = 0; i < ARRAY_LEN(kepts); i++) {
		const struct idmap kept = { kepts[i], 1001, 1 };
		struct idmap maps[IDMAP_MAX];
		struct err e;
		size_t count = idmap_ranges(maps, path, &anna, kept, &e);
		check_cover(maps, count, 100000);
	}
}

static void test_a_file_that_is_not_there(void **state)
{
	const struct idmap kept = { 1000, 1001, 1 };
	struct idmap maps[IDMAP_MAX];
	struct err e;

	(void)state;
	assert_int_equal(idmap_ranges(maps, "/nonesuch", &anna, kept, &e), 0);
	assert_non_null(strstr(e.text, "--idmap ranges"));
	assert_non_null(strstr(e.text, "/nonesuch"));
}

static void play_own(void *arg)
{
	/* The process is in a namespace that scene_inside() made: setgroups(2) is
	 * denied, and the maps are written. */
	(void)arg;
	CHECK(getuid() == 1000 && getgid() == 1000);
	CHECK(setresuid(0, 0, 0) == -1);
	gid_t group = 1000;
	CHECK(syscall(SYS_setgroups, 1, &group) == -1 && errno == EPERM);
	const struct idmap again = { 0, 1, 1 };
	struct err e;
	CHECK(idmap_write_own("uid_map", &again, &e) == -1);
	CHECK(strstr(e.text, "uid_map"));
}

static void test_one_id_inside(void **state)
{
	struct idmap map;

	(void)state;
	assert_int_equal(idmap_single(&map, 1000, 5), 1);
	assert_int_equal(map.inside, 1000);
	assert_int_equal(map.outside, 5);
	assert_int_equal(map.count, 1);
	scene_inside(0, 1000, play_own, NULL);
}

static void test_a_helper_that_is_missing_or_refuses(void **state)
{
	const struct idmap map = { 0, 100000, 1 };
	struct err e;

	(void)state;
	assert_int_equal(idmap_write_helper("hutch-nonesuch", getpid(), &map, 1, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(e.remedy, "uidmap"));
	assert_int_equal(idmap_write_helper("false", getpid(), &map, 1, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(idmap_write_helper("true", getpid(), &map, 1, &e), 0);
}

static void test_the_range_that_is_advised_is_nobodys(void **state)
{
	const struct idmap kept = { 1000, 1001, 1 };
	AUTO_FREE char *path = scene_path(state, "subuid");
	struct idmap maps[IDMAP_MAX];
	struct err e = { 0 };

	scene_file(state, "subuid", "ben:900000000:65536\neve:4294967295:9\n");
	assert_int_equal(idmap_ranges(maps, path, &anna, kept, &e), 0);
	assert_string_equal(e.remedy,
			    "as root: usermod --add-subuids 900065536-900131071 "
			    "--add-subgids 900065536-900131071 anna");
	assert_int_equal(idmap_ranges(maps, path, &nameless, kept, &e), 0);
	assert_string_equal(e.remedy, "as root: echo 65534:900065536:65536 | tee -a "
				      "/etc/subuid /etc/subgid");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(idmap_ranges(maps, path, &anna, kept, &e), 0);
	assert_non_null(strstr(e.remedy, "usermod --add-subuids "));
}

/* The name of a copied tree contains the id maps for which it was made; other names
 * are refused. */
static void test_maps_are_told_in_a_word(void **state)
{
	static const char *const wrong[] = {
		"",
		"1",
		"1.2.3",
		"1.2.3.4.5",
		"1.2.3.4 ",
		" 1.2.3.4",
		"1.2.3.-4",
		"0.2.3.4",
		"1.0.3.4",
		"1.2.0.4",
		"1.2.3.0",
		"1.2.3.4294901760",
		"1.2.3.99999999999",
		"..",
		"1.2..4",
	};
	struct idmaps maps = { 0 }, again = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(idmaps_parse("1001.1002.100000.200000", &maps, &e), 0);
	assert_int_equal(maps.uid_count + maps.gid_count, 8);
	const struct idmap uids[] = { { 0, 100000, 1000 }, { 1000, 1001, 1 },
				      { 1001, 101000, 64535 }, { 65536, 165535, 1 } };
	assert_memory_equal(maps.uids, uids, sizeof(uids));
	assert_int_equal(maps.gids[1].outside, 1002);
	assert_int_equal(maps.gids[0].outside, 200000);
	AUTO_FREE char *word = idmaps_print(&maps);
	assert_string_equal(word, "1001.1002.100000.200000");
	assert_int_equal(idmaps_parse(word, &again, &e), 0);
	assert_memory_equal(&maps, &again, sizeof(maps));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (idmaps_parse(wrong[i], &again, &e) == 0)
			fail_msg("'%s'", wrong[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_which_lines_grant_ids),
		cmocka_unit_test(test_the_range_that_is_advised_is_nobodys),
		cmocka_unit_test(test_ranges_cover_every_id_once),
		cmocka_unit_test(test_a_file_that_is_not_there),
		cmocka_unit_test(test_one_id_inside),
		cmocka_unit_test(test_a_helper_that_is_missing_or_refuses),
		cmocka_unit_test(test_maps_are_told_in_a_word),
	};

	return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}

/* pools: finds a pool's keeper by name, connects to it, and removes what a killed
 * keeper leaves. */
#include "sandbox/state/pools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>

#include "base/list.h"
#include "tests/patience.h"
#include "tests/unit/register.h"

static void make(const char *name, struct pools_place *ret)
{
	struct err e = { 0 };

	if (pools_create(name, ret, &e) < 0)
		fail_msg("%s", e.text);
}

static void check_listed(const char *expected)
{
	struct list names;
	struct err e;

	assert_int_equal(pools_list(&names, &e), 0);
	AUTO_FREE char *all = list_join(&names, 0, ",");
	assert_string_equal(all ? all : "", expected);
	list_done(&names);
}

static void check_absent(const char *name)
{
	struct err e;

	assert_int_equal(pools_connect(name, POOLS_CONNECT_MS, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(e.text, name));
	assert_non_null(strstr(e.remedy, "hutch pool create"));
}

static void test_where_nobody_has_made_one_there_is_none(void **state)
{
	check_listed("");
	check_absent("p");
	assert_false(is_there(state, "hutch/.pools"));
}

static void test_a_pool_is_listed_and_reached_until_it_is_removed(void **state)
{
	struct pools_place b, a;
	struct stat st;
	struct err e;
	AUTO_FREE char *folder = scene_path(state, "hutch/.pools/a");
	AUTO_FREE char *path = scene_path(state, "hutch/.pools/a/pool.sock");

	make("b", &b);
	make("a", &a);
	check_listed("a,b");
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	AUTO_CLOSE int client = pools_connect("a", POOLS_CONNECT_MS, &e);
	AUTO_CLOSE int there = accept4(a.listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(client >= 0 && there >= 0);
	assert_true(pools_has("a"));
	pools_remove(&a);
	assert_false(pools_has("a"));
	assert_false(pools_has("../.pools/b"));
	check_listed("b");
	check_absent("a");
	pools_remove(&b);
	pools_remove(&b); /* removes nothing, as if the pool had never been made */
	check_listed("");
}

static void test_a_name_that_a_pool_has_is_refused_until_it_is_free(void **state)
{
	struct pools_place p, other;
	struct err e;

	(void)state;
	make("p", &p);
	assert_int_equal(pools_create("p", &other, &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	assert_non_null(strstr(e.remedy, "hutch pool rm p"));
	pools_remove(&p);
	make("p", &p);
	pools_remove(&p);
}

/* A keeper that was killed leaves its folder.  The next process that finds the
 * folder removes it. */
static void test_a_folder_without_a_lock_is_no_pool_and_is_removed(void **state)
{
	struct pools_place p;

	for (int by = 0; by < 3; by++) {
		if (fork() == 0) {
			make("p", &p);
			_exit(0);
		}
		wait_for_all();
		assert_true(is_there(state, "hutch/.pools/p/pool.sock"));
		if (by == 0) {
			check_listed("");
		} else if (by == 1) {
			check_absent("p");
		} else {
			make("p", &p);
			pools_remove(&p);
		}
		assert_false(is_there(state, "hutch/.pools/p"));
	}
}

/* As long as a dead pool's folder cannot be removed, its name is taken: hutch
 * reports that, and does not try for ever. */
static void test_a_dead_folder_that_stays_is_in_the_way_and_no_pool(void **state)
{
	struct pools_place p;
	struct err e;

	if (geteuid() == 0)
		skip(); /* root could remove the folder in spite of its mode */
	AUTO_FREE char *pools = scene_path(state, "hutch/.pools");
	make("p", &p);
	pools_done(&p); /* leaves the folder behind, as a killed keeper does */
	assert_int_equal(chmod(pools, 0500), 0);
	(void)alarm(PATIENCE_S);
	assert_int_equal(pools_create("p", &p, &e), -1);
	(void)alarm(0);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_non_null(strstr(e.text, ".pools/p in "));
	assert_non_null(strstr(e.text, "cannot be removed"));
	assert_non_null(strstr(e.remedy, "move it out of the way"));
	check_listed("");
	check_absent("p");
	assert_int_equal(chmod(pools, 0700), 0);
	make("p", &p);
	pools_remove(&p);
}

/* A keeper that ends is not found any more, although its folder and lock are still
 * there. */
static void test_a_keeper_that_is_ending_is_as_good_as_gone(void **state)
{
	struct pools_place p;

	(void)state;
	make("p", &p);
	own_close(&p.listener);
	check_absent("p");
	pools_remove(&p);
}

static void test_names_leave_room_for_those_of_sandboxes(void **state)
{
	static const struct {
		const char *name;
		int result;
	} cases[] = {
		{ "p", 0 },
		{ "a.b-c_D9", 0 },
		{ "", -1 },
		{ ".p", -1 },
		{ "a/b", -1 },
		{ "..", -1 },
		{ "123456789012345678901234567890123456789012345678901234", 0 },
		{ "1234567890123456789012345678901234567890123456789012345", -1 },
	};
	struct pools_place p;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(pools_check_name(cases[i].name, &e), cases[i].result);
		if (cases[i].result == 0)
			continue;
		assert_int_equal(e.kind, ERR_USAGE);
		assert_int_equal(pools_create(cases[i].name, &p, &e), -1);
		assert_int_equal(pools_connect(cases[i].name, POOLS_CONNECT_MS, &e), -1);
	}
}

/* No link leads out of the state folder, and a folder that other users may
 * enter is refused. */
static void test_a_folder_of_another_kind_is_refused(void **state)
{
	struct pools_place p;
	struct err e;
	AUTO_FREE char *pools = scene_path(state, "hutch/.pools");
	AUTO_FREE char *link = scene_path(state, "hutch/.pools/link");

	make("p", &p);
	assert_int_equal(symlink("p", link), 0);
	assert_int_equal(pools_connect("link", POOLS_CONNECT_MS, &e), -1);
	check_listed("p");
	pools_remove(&p);
	assert_int_equal(chmod(pools, 0777), 0);
	assert_int_equal(pools_connect("p", POOLS_CONNECT_MS, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(pools_create("p", &p, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, register_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_where_nobody_has_made_one_there_is_none),
		TEST(test_a_pool_is_listed_and_reached_until_it_is_removed),
		TEST(test_a_name_that_a_pool_has_is_refused_until_it_is_free),
		TEST(test_a_folder_without_a_lock_is_no_pool_and_is_removed),
		TEST(test_a_dead_folder_that_stays_is_in_the_way_and_no_pool),
		TEST(test_a_keeper_that_is_ending_is_as_good_as_gone),
		TEST(test_names_leave_room_for_those_of_sandboxes),
		TEST(test_a_folder_of_another_kind_is_refused),
	};

	return cmocka_run_group_tests_name("pools", tests, NULL, NULL);
}

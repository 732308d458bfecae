/* copy_dest: finds the destination of a copy, and removes the leftovers of a failed
 * one. */
#include "cli/copy_dest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/scene.h"

/* Runs `play` in a child, because as root the child changes its ids, which cannot be
 * undone. */
static void in_folder(void **state, void (*play)(void *))
{
	scene_child(play, *state);
}

static void put(int folder, const char *name, const char *content)
{
	AUTO_CLOSE int fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	CHECK(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content));
}

static size_t count(const char *path)
{
	DIR *dir = opendir(path);
	size_t n = 0;

	CHECK(dir);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n - 2;
}

/* --- fresh ------------------------------------------------------------------------ */

static void play_new_name(void *arg)
{
	struct copy_dest l;
	struct stat st;
	struct err e;

	CHECK(chdir(arg) == 0 && mkdir("to", 0755) == 0);
	copy_dest_init(&l);
	CHECK(copy_dest_open(&l, "to/x", "name", false, &e) == 0);
	CHECK(!l.wants_content && !strcmp(l.rename, "x") && count("to") == 1);
	CHECK(fstatat(l.folder, ".", &st, 0) == 0 && (st.st_mode & 07777) == 0700);
	put(l.folder, "x", "new");
	/* The name appears only when the copy is complete. */
	CHECK(access("to/x", F_OK) < 0);
	CHECK(copy_dest_settle(&l, &e) == 0 && access("to/x", F_OK) == 0);
	copy_dest_done(&l);
	CHECK(count("to") == 1);
}

static void test_a_new_name_appears_when_it_is_settled(void **state)
{
	in_folder(state, play_new_name);
}

static void play_below(void *arg)
{
	struct copy_dest l;
	struct err e;

	CHECK(chdir(arg) == 0 && mkdir("to", 0755) == 0);
	copy_dest_init(&l);
	CHECK(copy_dest_open(&l, "to", "name", false, &e) == 0 &&
	      !strcmp(l.rename, "name"));
	CHECK(mkdirat(l.folder, "name", 0555) == 0); /* unmovable while closed */
	CHECK(copy_dest_settle(&l, &e) == 0);
	copy_dest_done(&l);
	struct stat st;
	CHECK(stat("to/name", &st) == 0 && (st.st_mode & 07777) == 0555 &&
	      count("to") == 1);
}

static void test_into_a_folder_it_keeps_its_name(void **state)
{
	in_folder(state, play_below);
}

static void play_left(void *arg)
{
	struct copy_dest l;
	struct err e;

	CHECK(chdir(arg) == 0);
	copy_dest_init(&l);
	CHECK(copy_dest_open(&l, "x", "name", false, &e) == 0);
	CHECK(mkdirat(l.folder, "x", 0755) == 0 && mkdirat(l.folder, "x/y", 0500) == 0);
	copy_dest_done(&l);
	CHECK(count(".") == 0);
	copy_dest_done(&l); /* the second call must do nothing */
}

static void test_an_unfinished_copy_is_removed(void **state)
{
	in_folder(state, play_left);
}

static void play_content(void *arg)
{
	struct copy_dest l;
	struct err e;

	CHECK(chdir(arg) == 0);
	copy_dest_init(&l);
	CHECK(copy_dest_open(&l, "new", NULL, false, &e) == 0 && !l.rename &&
	      !l.wants_content);
	put(l.folder, "a", "a");
	CHECK(copy_dest_settle(&l, &e) == 0);
	copy_dest_done(&l);
	CHECK(access("new/a", F_OK) == 0 && count(".") == 1);
}

static void test_content_without_a_folder_makes_one(void **state)
{
	in_folder(state, play_content);
}

/* --- what is there already ---------------------------------------------------------- */

static void play_merge(void *arg)
{
	struct copy_dest l;
	struct err e;

	CHECK(chdir(arg) == 0 && mkdir("to", 0755) == 0 && mkdir("to/name", 0755) == 0);
	copy_dest_init(&l);
	CHECK(copy_dest_open(&l, "to", "name", false, &e) == 0 && l.wants_content &&
	      !l.rename);
	put(l.folder, "a", "a");
	CHECK(copy_dest_settle(&l, &e) == 0);
	copy_dest_done(&l);
	CHECK(access("to/name/a", F_OK) == 0 && count("to") == 1);
}

static void test_a_folder_that_is_there_gets_the_content(void **state)
{
	in_folder(state, play_merge);
}

/* A link to a folder does not count as a folder: the copy replaces it and does
 * not follow it. */
static void play_link(void *arg)
{
	struct copy_dest l;
	struct stat st;
	struct err e;

	CHECK(chdir(arg) == 0 && mkdir("to", 0755) == 0 && mkdir("other", 0755) == 0);
	CHECK(symlink("../other", "to/name") == 0);
	copy_dest_init(&l);
	CHECK(copy_dest_open(&l, "to", "name", false, &e) == 0 && !l.wants_content);
	put(l.folder, "name", "a");
	CHECK(copy_dest_settle(&l, &e) == 0);
	copy_dest_done(&l);
	CHECK(lstat("to/name", &st) == 0 && S_ISREG(st.st_mode) && count("other") == 0);
}

static void test_a_link_in_its_place_is_replaced(void **state)
{
	in_folder(state, play_link);
}

static void play_file(void *arg)
{
	struct copy_dest l;
	struct err e;

	CHECK(chdir(arg) == 0);
	put(AT_FDCWD, "x", "old");
	copy_dest_init(&l);
	CHECK(copy_dest_open(&l, "x", "name", false, &e) == 0);
	CHECK(mkdirat(l.folder, "x", 0755) == 0);
	CHECK(copy_dest_settle(&l, &e) < 0 && e.remedy[0]);
	copy_dest_done(&l);
	CHECK(access("x", F_OK) == 0 && count(".") == 1);
	CHECK(copy_dest_open(&l, "x/", "name", false, &e) < 0);
	copy_dest_done(&l);
	CHECK(copy_dest_open(&l, "nowhere/x", "name", false, &e) < 0 &&
	      e.kind == ERR_NOT_FOUND);
	copy_dest_done(&l);
	CHECK(copy_dest_open(&l, "y", "name", true, &e) < 0 && e.kind == ERR_NOT_FOUND);
	copy_dest_done(&l);
	CHECK(count(".") == 1);
}

static void test_a_folder_does_not_replace_a_file(void **state)
{
	in_folder(state, play_file);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_new_name_appears_when_it_is_settled),
		TEST(test_into_a_folder_it_keeps_its_name),
		TEST(test_an_unfinished_copy_is_removed),
		TEST(test_content_without_a_folder_makes_one),
		TEST(test_a_folder_that_is_there_gets_the_content),
		TEST(test_a_link_in_its_place_is_replaced),
		TEST(test_a_folder_does_not_replace_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* walk: walks trees that the test makes, and that it changes during the walk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/dir_stack.h"
#include "base/list.h"
#include "base/own.h"
#include "executor/files/walk.h"
#include "tests/patience.h"

struct told {
	struct walk w;
	struct list
		names; /* "d:path" of folders, "f:path" of others, "<path" when left */
	char folder[64];
	int at;		    /* of the folder */
	const char *past;   /* a folder that the walk is told to skip */
	const char *end;    /* a path at which the walk is told to stop */
	const char *change; /* a shell command that runs when the walk is at `at_name` */
	const char *at_name;
	unsigned calls;
};

static enum walk_step on_name(void *context, const struct walk_name *n)
{
	struct told *t = context;

	assert_string_equal(n->name, n->path + strlen(n->path) - strlen(n->name));
	size_t slashes = 0;
	for (const char *at = n->path; *at; at++)
		slashes += *at == '/';
	assert_int_equal(slashes, n->depth);
	list_addf(&t->names, "%c:%s",
		  n->type == DT_DIR   ? 'd'
		  : n->type == DT_LNK ? 'l'
				      : 'f',
		  n->path);
	if (t->change && !strcmp(n->path, t->at_name))
		assert_int_equal(system(t->change), 0);
	if (t->end && !strcmp(n->path, t->end))
		return WALK_END;
	return t->past && !strcmp(n->path, t->past) ? WALK_PAST : WALK_ON;
}

static enum walk_step on_left(void *context, const struct walk_name *n)
{
	struct told *t = context;

	list_addf(&t->names, "<:%s", n->path);
	return WALK_ON;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *told_text(struct told *t)
{
	char *all = text_copy("");

	if (t->names.count > 0)
		qsort(t->names.items, t->names.count, sizeof(char *), by_text);
	for (size_t i = 0; i < t->names.count; i++) {
		char *more = text_format("%s%s%s", all, i ? " " : "", t->names.items[i]);
		free(all);
		all = more;
	}
	return all;
}

static int setup(void **state)
{
	struct told *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	(void)strcpy(t->folder, "/tmp/hutch-walk-XXXXXX");
	assert_non_null(mkdtemp(t->folder));
	assert_int_equal(chdir(t->folder), 0);
	t->w = (struct walk){ .on_name = on_name, .context = t };
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct told *t = *state;
	char *remove =
		text_format("chmod -R u+rwx '%s'; rm -rf '%s'", t->folder, t->folder);

	assert_int_equal(chdir("/"), 0);
	assert_int_equal(system(remove), 0);
	free(remove);
	list_done(&t->names);
	free(t);
	return 0;
}

static void make(const char *commands)
{
	assert_int_equal(system(commands), 0);
}

static bool run(struct told *t)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return walk_run(&t->w, fd);
}

static void expect(struct told *t, const char *text)
{
	AUTO_FREE char *got = told_text(t);

	assert_string_equal(got, text);
}

static void test_every_name_is_told_once_and_no_link_is_followed(void **state)
{
	struct told *t = *state;

	make("mkdir -p a/b/c .h/x e; touch f a/g a/b/c/d .h/x/y; ln -s a l; ln -s .. a/up; "
	     "ln -s none gone; mkfifo p");
	t->w.on_left = on_left;
	assert_true(run(t));
	expect(t,
	       "<:.h <:.h/x <:a <:a/b <:a/b/c <:e d:.h d:.h/x d:a d:a/b d:a/b/c d:e f:.h/x/y "
	       "f:a/b/c/d f:a/g f:f f:p l:a/up l:gone l:l");
	assert_true(t->w.names == 14 && t->w.closed == 0 && !t->w.is_cut);
}

/* The walk reports a folder, then the folder's content, and then that it leaves the
 * folder. */
static void test_a_folder_is_told_before_and_left_after_what_is_in_it(void **state)
{
	struct told *t = *state;

	make("mkdir -p a/b; touch a/b/c");
	t->w.on_left = on_left;
	assert_true(run(t));
	static const char *const order[] = { "d:a", "d:a/b", "f:a/b/c", "<:a/b", "<:a" };
	assert_int_equal(t->names.count, ARRAY_LEN(order));
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		assert_string_equal(t->names.items[i], order[i]);
}

static void test_a_walk_passes_a_folder_by_and_ends_where_it_is_told_to(void **state)
{
	struct told *t = *state;

	make("mkdir -p a/b c; touch a/b/x c/y");
	t->past = "a";
	assert_true(run(t));
	expect(t, "d:a d:c f:c/y");
	list_done(&t->names);
	t->past = NULL;
	t->end = "a/b";
	assert_false(run(t));
	assert_false(t->w.is_cut);
	AUTO_FREE char *got = told_text(t);
	assert_null(strstr(got, "a/b/x"));
}

static void test_a_thousand_folders_deep_is_no_matter(void **state)
{
	struct told *t = *state;
	int before = dup(0);

	make("p=$(printf 'd/%.0s' $(seq 1000)); mkdir -p $p; touch $p/bottom");
	assert_true(run(t));
	assert_int_equal(t->names.count, 1001);
	assert_int_equal(strlen(t->names.items[1000]), 2 + 2000 + strlen("bottom"));
	/* The same number as before: the walk has closed all its descriptors. */
	int after = dup(0);
	assert_int_equal(before + 1, after);
	(void)close(before);
	(void)close(after);
}

static void test_a_tree_without_end_is_told_as_cut(void **state)
{
	struct told *t = *state;

	make("p=$(printf 'd/%.0s' $(seq 1000)); for i in 1 2 3 4 5; do mkdir -p $p && cd -P $p; "
	     "done");
	assert_true(run(t));
	assert_int_equal(t->names.count, DIR_STACK_DEPTH_MAX + 1);
	assert_int_equal(t->w.closed, 1);
	assert_int_equal(t->w.sys, ENAMETOOLONG);
}

static void test_an_unreadable_folder_is_counted(void **state)
{
	struct told *t = *state;

	make("chmod 755 .; mkdir -p deaf/x shut/y open; chmod 311 deaf; chmod 0 shut");
	t->w.on_left = on_left;
	if (getuid() == 0)
		assert_int_equal(seteuid(65534), 0); /* root reads everything */
	bool is_whole = run(t);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	assert_true(is_whole);
	assert_true(t->w.closed == 2 && t->w.sys == EACCES);
}

static void test_a_file_that_vanishes_meanwhile_is_passed_by(void **state)
{
	struct told *t = *state;

	make("mkdir -p a/b/c; touch a/b/c/x");
	t->change = "rm -r a; ln -s / a";
	t->at_name = "a";
	assert_true(run(t));
	expect(t, "d:a");
	assert_int_equal(t->w.closed, 0);
}

/* The tree is so deep that the walk returns by "..", while folders in it are moved. */
static void test_a_tree_that_is_moved_about_leads_nowhere_else(void **state)
{
	struct told *t = *state;
	AUTO_FREE char *deep = calloc(1, 400);

	for (int i = 0; i < DIR_STACK_HELD + 10; i++)
		(void)strcat(deep, i ? "/d" : "d");
	make("p=$(printf 'd/%.0s' $(seq 100)); mkdir -p $p other; touch other/x");
	t->at_name = deep;
	t->change = "mv d/d/d/d/d other/d";
	assert_false(run(t));
	assert_true(t->w.is_cut);
}

static bool late(void *context)
{
	struct told *t = context;

	return ++t->calls == 3;
}

static void test_a_walk_asks_now_and_then_whether_it_is_late(void **state)
{
	struct told *t = *state;

	make("seq 2000 | xargs touch");
	t->w.is_late = late;
	assert_false(run(t));
	assert_true(t->w.is_cut);
	assert_true(t->w.names > 500 && t->w.names < 1000);
	assert_int_equal(t->w.names, t->names.count);
}

static void test_a_process_is_not_looked_into(void **state)
{
	struct told *t = *state;
	char *mine = text_format("f:%d/stat", (int)getpid());
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(walk_run(&t->w, fd));
	assert_true(t->w.closed > 0 && t->w.sys == EACCES);
	for (size_t i = 0; i < t->names.count; i++)
		assert_string_not_equal(t->names.items[i], mine);
	free(mine);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_every_name_is_told_once_and_no_link_is_followed),
		TEST(test_a_folder_is_told_before_and_left_after_what_is_in_it),
		TEST(test_a_walk_passes_a_folder_by_and_ends_where_it_is_told_to),
		TEST(test_a_thousand_folders_deep_is_no_matter),
		TEST(test_a_tree_without_end_is_told_as_cut),
		TEST(test_an_unreadable_folder_is_counted),
		TEST(test_a_file_that_vanishes_meanwhile_is_passed_by),
		TEST(test_a_tree_that_is_moved_about_leads_nowhere_else),
		TEST(test_a_walk_asks_now_and_then_whether_it_is_late),
		TEST(test_a_process_is_not_looked_into),
	};

	(void)alarm(PATIENCE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

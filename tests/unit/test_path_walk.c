/* path_walk: follows names and a bounded number of links, in a file tree that is a
 * table.  The real trees are tested in test_spot, test_merged, test_links and
 * test_why. */
#include "base/path_walk.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

#define FOLDER	 "(folder)"
#define FILE_	 "(file)"
#define WHITEOUT "(whiteout)"

/* The files of two layers, the lower one first.  `is`: one of the words above, or a
 * link's text. */
static const struct {
	const char *path, *is;
} entries[] = {
	{ "/a", FOLDER },	 { "/a/b", FOLDER },
	{ "/a/b/c", FOLDER },	 { "/a/f", FILE_ },
	{ "/low", FOLDER },	 { "/low/x", FOLDER },
	{ "/gone", FOLDER },	 { "/gone/x", FOLDER },
	{ "/rel", "a/b" },	 { "/abs", "/a/b" },
	{ "/a/up", "../.." },	 { "/a/over", "../../../../low" },
	{ "/root", "/" },	 { "/slash", "a/b/" },
	{ "/file", "a/f" },	 { "/file_slash", "a/f/" },
	{ "/dangling", "a/no" }, { "/loop", "loop" },
	{ "/one", "two" },	 { "/two", "/one" },
	{ "/grow", "grow/x" },	 { "/to_gone", "gone/x" },
	{ "/to_low", "low" },	 { "/gone", WHITEOUT },
	{ "/magic", "magic:" },	 { "/a/far", "/low" },
};

struct tree {
	char at[PATH_MAX];
	bool follows; /* even a last link */
	int reads;    /* of links */
};

static const char *find(const char *path)
{
	for (size_t i = ARRAY_LEN(entries); i-- > 0;)
		if (!strcmp(entries[i].path, path))
			return strcmp(entries[i].is, WHITEOUT) ? entries[i].is : NULL;
	return NULL;
}

static int go_root(void *context)
{
	struct tree *t = context;

	t->at[0] = '\0';
	return 0;
}

static int enter(void *context, const char *name, bool is_last)
{
	struct tree *t = context;
	AUTO_FREE char *next = text_format("%s/%s", t->at, name);
	const char *is = find(next);
	char *slash = strrchr(t->at, '/');

	if (*t->at && strcmp(find(t->at), FOLDER))
		return -ENOTDIR;
	if (!strcmp(name, "..") && slash)
		*slash = '\0';
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return PATH_WALK_ON;
	if (!is)
		return -ENOENT;
	if (strcmp(is, FOLDER) && strcmp(is, FILE_) && (t->follows || !is_last))
		return PATH_WALK_LINK;
	(void)snprintf(t->at, sizeof(t->at), "%s", next);
	return PATH_WALK_ON;
}

static int read_link(void *context, const char *name, char *to)
{
	struct tree *t = context;
	AUTO_FREE char *path = text_format("%s/%s", t->at, name);
	const char *text = find(path);

	t->reads++;
	(void)snprintf(to, PATH_MAX, "%s", text);
	if (strcmp(text, "magic:") != 0)
		return 0;
	(void)snprintf(t->at, sizeof(t->at), "/low");
	return PATH_WALK_LINK;
}

static const struct path_tree table = { enter, read_link, go_root };

static void test_a_path_leads_to_a_place(void **state)
{
	static const struct {
		const char *path;
		bool follows;
		int result;
		const char *at; /* path where the walk ends, also after an error */
		int links;
	} samples[] = {
		{ "", true, 0, "", 0 },
		{ "/", true, 0, "", 0 },
		{ "///", true, 0, "", 0 },
		{ "a/b/c", true, 0, "/a/b/c", 0 },
		{ "//a/.//b/../b/", true, 0, "/a/b", 0 },
		{ "a/no", true, -ENOENT, "/a", 0 },
		{ "no/b", true, -ENOENT, "", 0 },
		{ "a/f", true, 0, "/a/f", 0 },
		{ "a/f/b", true, -ENOTDIR, "/a/f", 0 },
		/* A path that ends in "/" must lead to a folder. */
		{ "a/f/", true, -ENOTDIR, "/a/f", 0 },
		{ "a/f/.", true, -ENOTDIR, "/a/f", 0 },
		{ "file/", true, -ENOTDIR, "/a/f", 1 },
		{ "file_slash", true, -ENOTDIR, "/a/f", 1 },
		{ "slash", true, 0, "/a/b", 1 },
		{ "slash/c", true, 0, "/a/b/c", 1 },
		/* A link as the last part of the path, which is followed or not. */
		{ "rel", true, 0, "/a/b", 1 },
		{ "rel", false, 0, "/rel", 0 },
		{ "rel/", false, 0, "/a/b", 1 },
		{ "rel/c", false, 0, "/a/b/c", 1 },
		{ "loop", false, 0, "/loop", 0 },
		{ "dangling", false, 0, "/dangling", 0 },
		{ "dangling", true, -ENOENT, "/a", 1 },
		/* An absolute link leads to the root of the tree, and ".." does not
		 * leave the root. */
		{ "abs/c", true, 0, "/a/b/c", 1 },
		{ "a/far/x", true, 0, "/low/x", 1 },
		{ "a/../abs/..", true, 0, "/a", 1 },
		{ "..", true, 0, "", 0 },
		{ "../../a", true, 0, "/a", 0 },
		{ "a/up", true, 0, "", 1 },
		{ "a/up/a", true, 0, "/a", 1 },
		{ "a/over/x", true, 0, "/low/x", 1 },
		{ "root", true, 0, "", 1 },
		{ "root/../root/a", true, 0, "/a", 2 },
		/* Layers. */
		{ "to_low/x", true, 0, "/low/x", 1 },
		{ "to_gone", true, -ENOENT, "", 1 },
		/* A magic link, as in /proc: its target is not reached by its text. */
		{ "magic/x", true, 0, "/low/x", 1 },
		/* Loops. */
		{ "loop", true, -ELOOP, "", PATH_WALK_LINKS_MAX },
		{ "loop/x", false, -ELOOP, "", PATH_WALK_LINKS_MAX },
		{ "one", true, -ELOOP, "", PATH_WALK_LINKS_MAX },
		{ "grow", true, -ELOOP, "", PATH_WALK_LINKS_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct tree t = { .follows = samples[i].follows };
		struct path_walk w = { .tree = &table, .context = &t };
		const int result = path_walk(&w, samples[i].path);
		if (result != samples[i].result || strcmp(t.at, samples[i].at) ||
		    t.reads != samples[i].links)
			fail_msg("'%s': %d at '%s', %d links", samples[i].path, result,
				 t.at, t.reads);
	}
}

static void test_forty_links_are_followed_and_no_more(void **state)
{
	char path[PATH_WALK_LINKS_MAX * 8 + 16] = "";

	(void)state;
	for (int i = 0; i < PATH_WALK_LINKS_MAX; i++)
		(void)strcat(path, "root/");
	for (int has_more = 0; has_more < 2; has_more++) {
		struct tree t = { .follows = true };
		struct path_walk w = { .tree = &table, .context = &t };
		(void)strcat(path, has_more ? "rel" : "");
		assert_int_equal(path_walk(&w, path), has_more ? -ELOOP : 0);
		assert_int_equal(t.reads, PATH_WALK_LINKS_MAX);
	}
}

static void test_links_of_earlier_walks_count(void **state)
{
	struct tree t = { .follows = true };
	struct path_walk w = { .tree = &table,
			       .context = &t,
			       .links = PATH_WALK_LINKS_MAX - 1 };

	(void)state;
	assert_int_equal(path_walk(&w, "root"), 0);
	assert_int_equal(path_walk(&w, "root"), -ELOOP);
}

static void test_links_lengthen_a_path_up_to_its_bound(void **state)
{
	/* The link rel leads to a/b, so the path becomes a/b/./c, which has 7 bytes. */
	static const char path[] = "rel/./c";

	(void)state;
	for (size_t max = 6; max <= 7; max++) {
		struct tree t = { .follows = true };
		struct path_walk w = { .tree = &table, .context = &t, .rest_max = max };
		assert_int_equal(path_walk(&w, path),
				 max < strlen("a/b/./c") ? -ENAMETOOLONG : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_path_leads_to_a_place),
		cmocka_unit_test(test_forty_links_are_followed_and_no_more),
		cmocka_unit_test(test_links_of_earlier_walks_count),
		cmocka_unit_test(test_links_lengthen_a_path_up_to_its_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* delegate: finds out whether a cgroup is delegated.  Ordinary folders play cgroups,
 * as far as names, files and attributes go. */
#include "sandbox/cgroup/delegate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "sandbox/cgroup/scope.h"
#include "tests/unit/scene.h"

static const struct {
	const char *path; /* below the root */
	const char *marked; /* the folder that has the attribute user.delegate, or NULL */
	bool is_ours;
	const char *mark; /* NULL: "1" */
} places[] = {
	{ "", NULL, true, NULL },
	{ "a", NULL, true, NULL },
	{ "a/b", NULL, true, NULL },
	{ "u.service", NULL, false, NULL },
	{ "u.service", "u.service", true, NULL },
	{ "u.service/leaf", NULL, false, NULL },
	{ "u.service/leaf", "u.service", true, NULL },
	/* A cgroup that was delegated to the user's systemd manager is not delegated
	 * to hutch. */
	{ "u.service/x.scope", "u.service", false, NULL },
	{ "u.service/x.scope/y", "u.service", false, NULL },
	{ "u.service/x.scope/y", "u.service/x.scope", true, NULL },
	{ "u.service/app.slice", "u.service", false, NULL },
	{ "not.a.unit", NULL, true, NULL },
	{ "u.service", "u.service", false, "0" },
	{ "u.service", "u.service", false, "10" },
};

static void make_folders(const char *root, const char *path)
{
	AUTO_FREE char *full = text_format("%s/%s/", root, path);

	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		(void)mkdir(full, 0755);
	}
}

static void test_the_unit_of_a_cgroup_is_found_by_its_mark(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "root%zu", i);
		scene_dir(state, name);
		AUTO_FREE char *root = scene_path(state, name);
		AUTO_FREE char *full =
			places[i].path[0] ? text_format("%s/%s", root, places[i].path)
					  : text_copy(root);
		make_folders(root, places[i].path);
		if (places[i].marked) {
			AUTO_FREE char *unit =
				text_format("%s/%s", root, places[i].marked);
			const char *mark = places[i].mark ? places[i].mark : "1";
			if (setxattr(unit, "user.delegate", mark, strlen(mark), 0) < 0)
				skip(); /* /tmp has no user.* attributes here */
		}
		if (delegate_is_marked(full, root) != places[i].is_ours)
			fail_msg("%s, marked: %s", places[i].path,
				 places[i].marked ? places[i].marked : "none");
	}
}

static const struct {
	const char *text;
	unsigned found;
} lists[] = {
	{ "", 0 },
	{ "\n", 0 },
	{ "cpuset cpu io memory hugetlb pids rdma misc\n",
	  CONTROLLER_MEMORY | CONTROLLER_PIDS | CONTROLLER_CPU },
	{ "memory pids\n", CONTROLLER_MEMORY | CONTROLLER_PIDS },
	{ "cpuset\n", 0 },
	{ "cpu", CONTROLLER_CPU },
};

static void test_lists_of_controllers(void **state)
{
	scene_dir(state, "c");
	AUTO_FREE char *path = scene_path(state, "c");
	AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(delegate_controllers(dir, "list"), 0); /* missing */
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		AUTO_CLOSE int fd = openat(
			dir, "list", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
		assert_int_equal(io_write_all(fd, lists[i].text, strlen(lists[i].text)),
				 0);
		assert_int_equal(delegate_controllers(dir, "list"), lists[i].found);
	}
}

static void test_words_for_subtree_control(void **state)
{
	char word[16];

	(void)state;
	delegate_word(word, '+', CONTROLLER_MEMORY);
	assert_string_equal(word, "+memory");
	delegate_word(word, '-', CONTROLLER_CPU);
	assert_string_equal(word, "-cpu");
}

static void test_a_folder_that_is_no_cgroup(void **state)
{
	struct policy p;
	struct delegate d;
	struct err e = { 0 };

	(void)state;
	policy_init(&p);
	delegate_init(&d);
	p.cgroup_parent = text_copy("/tmp");
	assert_int_equal(delegate_find(&d, &p, CONTROLLER_PIDS, 0, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.text, "/tmp is no folder of a cgroup"));
	assert_non_null(strstr(e.text, "--cgroup-parent"));
	assert_null(d.path);
	free(p.cgroup_parent);
	p.cgroup_parent = text_copy("/nonesuch");
	assert_int_equal(delegate_find(&d, &p, CONTROLLER_PIDS, 0, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	delegate_done(&d);
	policy_done(&p);
}

/* Cgroups as they may be found, below a root whose controllers are `root`, and how the
 * remedy begins where systemd does not run; NULL: none is known. */
static const struct {
	const char *root, *own;
	struct outlook o;
	const char *remedy;
} outlooks[] = {
	{ NULL, NULL, { 0 }, "" },
	{ "io", NULL, { 0 }, "boot with systemd.unified_cgroup_hierarchy=1" },
	{ "cpu memory pids", NULL, { 0 }, NULL },
	{ "cpu memory pids", "/a", { 0 }, "as root: cd " },
	{ "cpu memory pids", "/a", { .is_marked = true }, "as root: cd " },
	{ "cpu memory pids", "/a b", { .is_marked = true }, NULL },
	{ "cpu memory pids",
	  "/a/b",
	  { .is_marked = true, .is_ours = true, .missing = CONTROLLER_CPU, .others = 1 },
	  "as root: g=" },
	{ "cpu memory pids",
	  "/a",
	  { .is_marked = true, .is_ours = true, .others = 1 },
	  "g=" },
	{ "cpu memory pids", "/a", { .is_marked = true, .is_ours = true }, NULL },
};

static void test_remedies(void **state)
{
	AUTO_FREE char *root = scene_path(state, "root");
	const bool has_systemd = access("/run/systemd/system", F_OK) == 0;

	if (scope_has_bus())
		skip();
	scene_dir(state, "root");
	for (size_t i = 0; i < ARRAY_LEN(outlooks); i++) {
		const char *wanted = outlooks[i].remedy;
		AUTO_FREE char *file = text_format("%s/cgroup.controllers", root);
		AUTO_CLOSE int fd =
			open(file, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
		struct outlook o = outlooks[i].o;
		o.root = outlooks[i].root ? root : NULL;
		AUTO_FREE char *own = text_format(
			"%s%s", root, outlooks[i].own ? outlooks[i].own : "");
		o.own = outlooks[i].own ? own : NULL;
		if (o.root)
			assert_true(dprintf(fd, "%s\n", outlooks[i].root) > 0);
		AUTO_FREE char *remedy = delegate_remedy(&o, getpid());
		assert_int_equal(remedy != NULL, wanted != NULL);
		if (wanted && (!has_systemd || strncmp(wanted, "as root", 7) != 0))
			assert_memory_equal(remedy, wanted, strlen(wanted));
	}
}

/* The commands for root move the process that has called hutch: this one's parent. */
static void test_the_caller_is_moved(void **state)
{
	AUTO_FREE char *root = scene_path(state, "other");
	AUTO_FREE char *file = scene_path(state, "other/cgroup.controllers");
	AUTO_FREE char *end =
		text_format("; echo %d >$g/shell/cgroup.procs", (int)getppid());
	struct outlook o = { .root = root, .own = root };

	if (scope_has_bus() || access("/run/systemd/system", F_OK) == 0)
		skip();
	scene_dir(state, "other");
	AUTO_CLOSE int fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(dprintf(fd, "memory\n") > 0);
	AUTO_FREE char *remedy = delegate_remedy(&o, getpid());
	assert_non_null(strstr(remedy, end));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_unit_of_a_cgroup_is_found_by_its_mark),
		cmocka_unit_test(test_lists_of_controllers),
		cmocka_unit_test(test_words_for_subtree_control),
		cmocka_unit_test(test_a_folder_that_is_no_cgroup),
		cmocka_unit_test(test_remedies),
		cmocka_unit_test(test_the_caller_is_moved),
	};

	return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}

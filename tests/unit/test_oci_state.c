/* The folder of a container: its ids, its state file, and the process that it means. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/state.h"

static char *make_root(void)
{
	char path[] = "/tmp/oci_state.XXXXXX";

	assert_non_null(mkdtemp(path));
	return text_copy(path);
}

static void test_checks_ids(void **state)
{
	static const char *const good[] = { "a", "A_1+-.x", "0", "-" };
	static const char *const bad[] = { "",	  ".",	 "..",	".a",
					   "a/b", "a b", "a\n", "\xc3\xa9" };
	char long_id[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_int_equal(state_check_id(good[i], NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(state_check_id(bad[i], NULL), -1);
	memset(long_id, 'x', sizeof(long_id) - 1);
	long_id[sizeof(long_id) - 1] = '\0';
	assert_int_equal(state_check_id(long_id, NULL), -1);
}

static void test_keeps_and_finds_a_container(void **state)
{
	AUTO_FREE char *root = make_root();
	AUTO_STATE struct state s = { .folder = -1 }, again = { .folder = -1 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(state_create(root, "box", &s, &e), 0);
	assert_int_equal(state_status(&s), STATE_CREATING);
	s.pid = getpid();
	s.bundle = text_copy("/b \"quoted\"");
	s.version = text_copy("1.0.2");
	s.is_ready = true;
	assert_int_equal(state_save(&s, &e), 0);
	assert_int_equal(state_open(root, "box", &again, &e), 0);
	assert_string_equal(again.bundle, "/b \"quoted\"");
	assert_true(again.born == s.born && again.born != 0);
	assert_int_equal(state_status(&again), STATE_RUNNING);
	/* Another process with the same pid is not the container's. */
	again.born++;
	assert_int_equal(state_status(&again), STATE_STOPPED);
	assert_int_equal(state_create(root, "box", &again, &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	assert_int_equal(state_remove(&s, &e), 0);
	assert_int_equal(state_open(root, "box", &again, &e), -1);
	assert_string_equal(e.text, "container 'box' does not exist");
	assert_int_equal(rmdir(root), 0);
}

/* open(2) would wait for a FIFO's writer, and each verb with it. */
static void test_a_state_file_that_is_a_pipe_or_a_link_is_refused(void **state)
{
	AUTO_FREE char *root = make_root();
	AUTO_STATE struct state s = { .folder = -1 }, again = { .folder = -1 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(state_create(root, "box", &s, &e), 0);
	assert_int_equal(mkfifoat(s.folder, "state.json", 0600), 0);
	assert_int_equal(state_open(root, "box", &again, &e), -1);
	assert_non_null(strstr(e.text, "/box/state.json: it is not a regular file"));
	assert_int_equal(unlinkat(s.folder, "state.json", 0), 0);
	assert_int_equal(symlinkat("config.json", s.folder, "state.json"), 0);
	assert_int_equal(state_open(root, "box", &again, &e), -1);
	assert_int_equal(e.sys, ELOOP);
	assert_int_equal(state_remove(&s, &e), 0);
	assert_int_equal(rmdir(root), 0);
}

static void test_lists_the_ids_in_order(void **state)
{
	static const char *const ids[] = { "b", "a", "c" };
	AUTO_FREE char *root = make_root();
	struct list found = { 0 };
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		AUTO_STATE struct state s = { .folder = -1 };
		assert_int_equal(state_create(root, ids[i], &s, &e), 0);
	}
	assert_int_equal(state_ids(root, &found, &e), 0);
	AUTO_FREE char *text = list_join(&found, 0, " ");
	assert_string_equal(text, "a b c");
	list_done(&found);
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		AUTO_STATE struct state s = { .folder = -1 };
		assert_int_equal(state_open(root, ids[i], &s, &e), 0);
		assert_int_equal(state_remove(&s, &e), 0);
	}
	assert_int_equal(chmod(root, 0777), 0);
	assert_int_equal(state_ids(root, &found, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(rmdir(root), 0);
	assert_int_equal(state_ids(root, &found, &e), 0);
	assert_int_equal(found.count, 0);
}

static void test_a_zombie_has_no_birth(void **state)
{
	siginfo_t info;
	const pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(state_birth(pid) == 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(state_birth(getpid()) != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checks_ids),
		cmocka_unit_test(test_keeps_and_finds_a_container),
		cmocka_unit_test(test_a_state_file_that_is_a_pipe_or_a_link_is_refused),
		cmocka_unit_test(test_lists_the_ids_in_order),
		cmocka_unit_test(test_a_zombie_has_no_birth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

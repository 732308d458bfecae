/* saved_spec: the saved spec of a sandbox is stored completely or not at all, by one
 * process at a time, and is read strictly. */
#include "sandbox/state/saved_spec.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/io.h"
#include "policy/policy_file.h"
#include "tests/patience.h"
#include "tests/unit/scene.h"

static int data_setup(void **state)
{
	return scene_setup(state) < 0 ? -1 : setenv("XDG_DATA_HOME", *state, 1);
}

static void make(struct saved_spec *d, const char *name)
{
	struct policy_file said = { 0 };
	struct err e;

	saved_spec_init(d);
	(void)snprintf(d->name, sizeof(d->name), "%s", name);
	(void)snprintf(d->id, sizeof(d->id), "%s", "0123456789ab");
	d->image = text_copy("bb:1");
	d->places = text_copy("\"/y\" \"/here/x\"\n");
	assert_int_equal(policy_file_say(&said, "env", "A=\"b\" c", "/", &e), 0);
	assert_int_equal(policy_file_say(&said, "volume", "x:/y:ro", "/here", &e), 0);
	assert_int_equal(saved_spec_make(d, &said, &e), 0);
	policy_file_done(&said);
}

static void test_a_definition_is_found_by_name_and_id(void **state)
{
	static const char *const names[] = { "box", "0123456789ab" };
	struct saved_spec d, found;
	struct policy_file said = { 0 };
	struct err e;

	(void)state;
	make(&d, "box");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_int_equal(saved_spec_find(names[i], &found, &e), 0);
		assert_string_equal(found.name, "box");
		assert_string_equal(found.id, d.id);
		assert_string_equal(found.image, "bb:1");
		assert_null(found.digest);
		saved_spec_done(&found);
	}
	assert_int_equal(saved_spec_read(&d, &said, &e), 0);
	assert_string_equal(d.places, "\"/y\" \"/here/x\"\n");
	assert_int_equal(said.count, 2);
	assert_string_equal(said.items[0].value, "/here/x:/y:ro");
	assert_string_equal(said.items[1].value, "A=\"b\" c");
	policy_file_done(&said);
	saved_spec_done(&d);
	assert_int_equal(saved_spec_find("other", &found, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
}

static void test_one_at_a_time_has_it(void **state)
{
	struct saved_spec d, other;
	struct err e;

	(void)state;
	make(&d, "box");
	assert_int_equal(saved_spec_check_free("box", &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	assert_int_equal(saved_spec_check_free("bix", &e), 0);
	assert_int_equal(saved_spec_find("box", &other, &e), 0);
	assert_int_equal(saved_spec_take(&other, &e), -1);
	assert_int_equal(e.kind, ERR_BUSY);
	assert_int_equal(saved_spec_remove(&other, &e), -1);
	own_close(&d.folder);
	assert_int_equal(saved_spec_take(&other, &e), 0);
	saved_spec_done(&other);
	saved_spec_done(&d);
}

static void test_another_name_is_one_that_nobody_has(void **state)
{
	struct saved_spec one, two;
	struct err e;

	(void)state;
	make(&one, "one");
	make(&two, "two");
	assert_int_equal(saved_spec_rename(&one, "two", &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	assert_int_equal(saved_spec_rename(&one, "three", &e), 0);
	assert_int_equal(saved_spec_check_free("one", &e), 0);
	assert_int_equal(saved_spec_check_free("three", &e), -1);
	assert_int_equal(saved_spec_remove(&one, &e), 0);
	assert_int_equal(saved_spec_check_free("three", &e), 0);
	/* A process that had found the spec before its removal notices the removal. */
	struct saved_spec late;
	assert_int_equal(saved_spec_find("two", &late, &e), 0);
	assert_int_equal(saved_spec_remove(&two, &e), 0);
	own_close(&two.folder);
	assert_int_equal(saved_spec_take(&late, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	saved_spec_done(&late);
	saved_spec_done(&one);
	saved_spec_done(&two);
}

static _Noreturn void come_and_go(const char *path)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		(void)mkdir(path, 0700);
		(void)rmdir(path); /* fails while the renamed saved spec is there */
	}
}

static void test_one_that_goes_meanwhile_makes_nobody_believe_in_a_rename(void **state)
{
	AUTO_FREE char *before = scene_path(state, "hutch/kept/one");
	AUTO_FREE char *after = scene_path(state, "hutch/kept/two");
	struct saved_spec d;
	struct err e;

	make(&d, "one");
	pid_t other = fork();
	if (other == 0)
		come_and_go(after);
	for (int i = 0; i < 5000; i++) {
		if (saved_spec_rename(&d, "two", &e) < 0) {
			assert_int_equal(e.kind, ERR_EXISTS);
			continue;
		}
		assert_int_equal(access(before, F_OK), -1);
		assert_int_equal(saved_spec_rename(&d, "one", &e), 0);
	}
	assert_int_equal(kill(other, SIGKILL), 0);
	assert_int_equal(waitpid(other, NULL, 0), other);
	saved_spec_done(&d);
}

static void test_half_made_and_half_removed_definitions_are_swept(void **state)
{
	AUTO_FREE char *half = scene_path(state, "hutch/kept/.new-000000000000");
	AUTO_FREE char *gone = scene_path(state, "hutch/kept/.gone-000000000000");
	struct saved_spec_list all;
	struct saved_spec d;

	make(&d, "one");
	saved_spec_done(&d);
	assert_int_equal(mkdir(half, 0700) | mkdir(gone, 0700), 0);
	saved_spec_list(&all);
	assert_int_equal(all.count, 1);
	saved_spec_list_done(&all);
	make(&d, "two");
	saved_spec_done(&d);
	assert_int_equal(access(half, F_OK), -1);
	assert_int_equal(access(gone, F_OK), -1);
}

static void test_the_first_process_of_its_last_life_is_waited_for(void **state)
{
	struct saved_spec d;
	struct err e;
	int ends[2];
	char byte;

	(void)state;
	make(&d, "box");
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(ends[1]);
		_exit(read(ends[0], &byte, 1) != 1);
	}
	assert_int_equal(saved_spec_note(&d, pid, &e), 0);
	pid_t other = fork();
	if (other == 0) {
		(void)close(ends[1]);
		_exit(saved_spec_take(&d, NULL) == 0 ? 0 : 1);
	}
	(void)close(ends[0]);
	patience_wait(scene_sleeps_or_ended, &other);
	assert_int_equal(scene_process(other).state, 'S');
	assert_int_equal(write(ends[1], "x", 1), 1);
	(void)close(ends[1]);
	int status = -1;
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* The saved spec is gone, and its number is not reused. */
	assert_int_equal(saved_spec_take(&d, &e), 0);
	saved_spec_done(&d);
}

static void put(void **state, const char *file, const char *text)
{
	AUTO_FREE char *name = text_format("hutch/kept/box/%s", file);
	AUTO_FREE char *path = scene_path(state, name);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
}

static void test_an_altered_definition_is_refused(void **state)
{
#define REST "\"created\":\"x\",\"image\":null,\"digest\":null}"
	static const struct {
		const char *about, *says;
	} wrong[] = {
		{ "", "" },
		{ "{}", "another version" },
		{ "{\"version\":2,\"id\":\"0123456789ab\"," REST, "another version" },
		{ "{\"version\":1,\"id\":\"0123456789a\"," REST, "no id" },
		{ "{\"version\":1,\"id\":\"../3456789ab\"," REST, "no id" },
		{ "{\"version\":1,\"more\":1,\"id\":\"0123456789ab\"," REST, "more" },
		{ "{\"version\":1,\"id\":\"0123456789ab\"," REST "x", "" },
		{ "{\"version\":1,\"id\":7," REST, "a string was expected" },
	};
	struct saved_spec d;
	struct err e;

	make(&d, "box");
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct saved_spec found;
		put(state, "about", wrong[i].about);
		assert_int_equal(saved_spec_find("box", &found, &e), -1);
		assert_int_not_equal(e.kind, ERR_NOT_FOUND);
		assert_non_null(strstr(e.text, "kept/box/about"));
		if (!strstr(e.text, wrong[i].says))
			fail_msg("'%s' does not say %s", e.text, wrong[i].says);
	}
	saved_spec_done(&d);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, data_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_a_definition_is_found_by_name_and_id),
		TEST(test_one_at_a_time_has_it),
		TEST(test_another_name_is_one_that_nobody_has),
		TEST(test_one_that_goes_meanwhile_makes_nobody_believe_in_a_rename),
		TEST(test_half_made_and_half_removed_definitions_are_swept),
		TEST(test_the_first_process_of_its_last_life_is_waited_for),
		TEST(test_an_altered_definition_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

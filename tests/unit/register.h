/* register -- a state folder for a test, and helpers that look into it.
 * Include it behind cmocka.h. */
#pragma once
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "sandbox/state/registry.h"
#include "tests/patience.h"
#include "tests/unit/scene.h"

#define RECORD "{\"reason\":\"exit\",\"code\":0}"

/* Starts the alarm anew, so that each case has the full time. */
static inline int register_setup(void **state)
{
	(void)alarm(PATIENCE_S);
	return scene_setup(state) < 0 ? -1 : setenv("XDG_RUNTIME_DIR", *state, 1);
}

static inline void wait_for_all(void)
{
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static inline void create(const char *name, struct registry_entry *r)
{
	struct err e = { 0 };

	if (registry_create(name, r, &e) < 0)
		fail_msg("%s", e.text);
}

static inline void end(struct registry_entry *r, enum registry_rest rest)
{
	struct err e = { 0 };

	if (registry_end(r, RECORD, rest, &e) < 0)
		fail_msg("%s", e.text);
	registry_done(r);
}

static inline bool is_there(void **state, const char *name)
{
	AUTO_FREE char *path = scene_path(state, name);
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Returns the number of entries in a folder of the state folder, or -1 if there
 * is no such folder. */
static inline int count_in(void **state, const char *name)
{
	AUTO_FREE char *path = scene_path(state, name);
	DIR *dir = opendir(path);
	int count = -2; /* without "." and ".." */

	if (!dir)
		return -1;
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

static inline void expect_absent(const char *name)
{
	struct registry_entry r;
	struct err e;

	assert_int_equal(registry_open(name, &r, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(e.remedy, "hutch ps -a"));
}

/* Checks the reason in the record of the last sandbox of this name. */
static inline void expect_ended(const char *name, const char *record)
{
	struct registry_item item;
	struct err e = { 0 };

	if (registry_find_ended(name, &item, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(item.status, REGISTRY_ENDED);
	assert_string_equal(item.name, name);
	if (!strstr(item.record, record))
		fail_msg("%s is not in %s", record, item.record);
	registry_item_done(&item);
}

/* Writes a byte to a pipe, with which a process tells that it has reached a point. */
static inline void say(int fd)
{
	CHECK(io_write_all(fd, "+", 1) == 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, register_setup, scene_teardown)

/* registry_watch: reports a sandbox when it answers requests, and not before. */
#include "sandbox/state/registry_watch.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "tests/unit/register.h"

struct told {
	char names[256]; /* the names, each followed by a blank */
};

static void take(void *context, const char *name)
{
	struct told *t = context;

	strcat(t->names, name);
	strcat(t->names, " ");
}

static void expect(struct registry_watch *w, const char *names)
{
	struct told t = { "" };
	struct err e;

	assert_int_equal(registry_watch_take(w, take, &t, &e), 0);
	assert_string_equal(t.names, names);
}

static void listen_now(struct registry_entry *r)
{
	struct err e;
	AUTO_CLOSE int listener = registry_listen(r, &e);

	assert_true(listener >= 0);
}

static void test_one_is_told_of_when_it_listens(void **state)
{
	struct registry_watch w;
	struct registry_entry a, b;
	struct err e;

	(void)state;
	unsigned before = scene_open_fds();
	assert_int_equal(registry_watch_open(&w, &e), 0);
	expect(&w, "");
	create("a", &a);
	create("b", &b);
	expect(&w, ""); /* both folders exist now, but no sandbox listens */
	assert_int_equal(registry_set_info(&a, "{}", &e), 0);
	expect(&w, "");
	listen_now(&b);
	expect(&w, "b ");
	listen_now(&a);
	expect(&w, "a ");
	expect(&w, "");
	assert_int_equal(registry_rename(&a, "c", &e), 0);
	expect(&w, "c ");
	end(&a, REGISTRY_KEEP);
	end(&b, REGISTRY_REMOVE);
	expect(&w, "");
	assert_int_equal(w.count, 0);
	registry_watch_done(&w);
	assert_int_equal(scene_open_fds(), before);
}

static void test_one_that_ends_before_it_listens_is_forgotten(void **state)
{
	struct registry_watch w;
	struct registry_entry a;
	struct err e;

	(void)state;
	assert_int_equal(registry_watch_open(&w, &e), 0);
	create("a", &a);
	expect(&w, "");
	assert_int_equal(w.count, 1);
	end(&a, REGISTRY_REMOVE);
	expect(&w, "");
	assert_int_equal(w.count, 0);
	registry_watch_done(&w);
}

static void test_those_that_are_there_are_listed_and_then_waited_for(void **state)
{
	struct registry_watch w;
	struct registry_entry a, b;
	struct told t = { "" };
	struct err e;

	(void)state;
	create("a", &a);
	create("b", &b);
	listen_now(&a);
	assert_int_equal(registry_watch_open(&w, &e), 0);
	assert_int_equal(registry_watch_list(&w, take, &t, &e), 0);
	assert_string_equal(t.names, "a ");
	listen_now(&b);
	expect(&w, "b ");
	registry_watch_done(&w);
	end(&a, REGISTRY_REMOVE);
	end(&b, REGISTRY_REMOVE);
}

/* Makes more events than the kernel keeps (fs.inotify.max_queued_events, 16,384 by
 * default); the watch must then look for changes itself. */
static void test_events_that_the_kernel_dropped_are_looked_for(void **state)
{
	struct registry_watch w;
	struct registry_entry a, b;
	struct err e;

	(void)state;
	assert_int_equal(registry_watch_open(&w, &e), 0);
	create("a", &a);
	listen_now(&a);
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(registry_rename(&a, "x", &e), 0);
		assert_int_equal(registry_rename(&a, "a", &e), 0);
	}
	create("b", &b);
	listen_now(&b);
	struct told *t = calloc(1, sizeof(*t) + 200000);
	assert_int_equal(registry_watch_take(&w, take, t, &e), 0);
	assert_non_null(strstr(t->names, "b "));
	free(t);
	registry_watch_done(&w);
	end(&a, REGISTRY_REMOVE);
	end(&b, REGISTRY_REMOVE);
}

static bool is_readable(int fd)
{
	struct pollfd w = { .fd = fd, .events = POLLIN };

	return poll(&w, 1, 0) == 1;
}

static void test_a_name_that_is_given_up_is_told_of(void **state)
{
	static const enum registry_rest rests[] = { REGISTRY_KEEP, REGISTRY_REMOVE };
	struct registry_entry r;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rests); i++) {
		create("a", &r);
		AUTO_FREE char *id = text_copy(r.id);
		AUTO_CLOSE int fd = registry_watch_name("a", id, &e);
		assert_true(fd >= 0);
		assert_int_equal(registry_set_info(&r, "{}", &e), 0);
		assert_false(is_readable(fd));
		end(&r, rests[i]);
		assert_true(is_readable(fd));
		assert_int_equal(registry_watch_name("a", id, &e), -1);
		assert_int_equal(e.kind, ERR_NOT_FOUND);
	}
}

static void test_another_sandbox_of_the_name_is_not_watched(void **state)
{
	struct registry_entry r;
	struct err e;

	(void)state;
	create("a", &r);
	assert_int_equal(registry_watch_name("a", "000000000000", &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	end(&r, REGISTRY_REMOVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_is_told_of_when_it_listens),
		TEST(test_one_that_ends_before_it_listens_is_forgotten),
		TEST(test_those_that_are_there_are_listed_and_then_waited_for),
		TEST(test_events_that_the_kernel_dropped_are_looked_for),
		TEST(test_a_name_that_is_given_up_is_told_of),
		TEST(test_another_sandbox_of_the_name_is_not_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

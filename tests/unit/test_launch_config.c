#include "store/launch_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "tests/unit/in_store.h"

#define MAGIC "hutch-image 1\0"

static const struct digest image = { HEX_A };

static struct launch_config sample(void)
{
	struct launch_config r;

	launch_config_init(&r);
	list_add(&r.layers, HEX_B);
	list_add(&r.layers, HEX_A);
	list_add(&r.env, "PATH=/bin");
	list_add(&r.env, "LINES=a\nb=c");
	list_add(&r.entrypoint, "/bin/sh");
	list_add(&r.cmd, "-c");
	list_add(&r.cmd, "");
	r.user = text_copy("me:0");
	r.workdir = text_copy("/work");
	r.stop_signal = text_copy("SIGTERM");
	r.architecture = text_copy("amd64");
	r.config = (struct digest){ HEX_B };
	r.created = -5;
	r.size = 1ull << 50;
	return r;
}

static void assert_sample(const struct launch_config *r)
{
	assert_int_equal(r->layers.count, 2);
	assert_string_equal(r->layers.items[0], HEX_B);
	assert_int_equal(r->env.count, 2);
	assert_string_equal(r->env.items[1], "LINES=a\nb=c");
	assert_int_equal(r->entrypoint.count, 1);
	assert_int_equal(r->cmd.count, 2);
	assert_string_equal(r->cmd.items[1], "");
	assert_string_equal(r->user, "me:0");
	assert_string_equal(r->workdir, "/work");
	assert_string_equal(r->stop_signal, "SIGTERM");
	assert_string_equal(r->architecture, "amd64");
	assert_string_equal(r->config.hex, HEX_B);
	assert_int_equal(r->created, -5);
	assert_int_equal(r->size, 1ull << 50);
}

static void test_a_written_config_is_read_the_same(void **state)
{
	struct launch_config r = sample(), got;
	struct store s;
	struct err e;
	AUTO_CLOSE int lock = -1;

	(void)state;
	in_store_open(&s);
	assert_int_equal(launch_config_open(&s, &image, &got, &lock, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	if (launch_config_put(&s, &image, &r, &e) < 0 ||
	    launch_config_put(&s, &image, &r, &e) < 0 ||
	    launch_config_open(&s, &image, &got, &lock, &e) < 0)
		fail_msg("%s", e.text);
	assert_sample(&got);
	launch_config_done(&got);
	launch_config_done(&r);
	store_done(&s);
}

static void test_one_that_is_used_is_not_removed(void **state)
{
	struct launch_config r = sample(), got;
	struct store s;
	int is_removed = -1, first = -1, second = -1;

	(void)state;
	in_store_open(&s);
	assert_int_equal(launch_config_put(&s, &image, &r, NULL), 0);
	launch_config_done(&r);
	assert_int_equal(launch_config_open(&s, &image, &got, &first, NULL), 0);
	launch_config_done(&got);
	assert_int_equal(launch_config_open(&s, &image, &got, &second, NULL), 0);
	launch_config_done(&got);
	own_close(&first);
	assert_int_equal(launch_config_remove_unused(&s, &image, &is_removed, NULL), 0);
	assert_int_equal(is_removed, 0);
	own_close(&second);
	assert_int_equal(launch_config_remove_unused(&s, &image, &is_removed, NULL), 0);
	assert_int_equal(is_removed, 1);
	assert_false(in_store_has(&s, "images/" HEX_A));
	store_done(&s);
}

/* The text and its size, with the 0 byte that the compiler adds. */
#define TEXT(t) MAGIC t, sizeof(MAGIC t)

static void test_an_unknown_config_is_refused(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		int kind;
	} bad[] = {
		{ "", 0, ERR_PROTOCOL },
		{ "hutch-image 2", sizeof("hutch-image 2"), ERR_PROTOCOL },
		{ "hutch-image 1", sizeof("hutch-image 1") - 1, ERR_PROTOCOL },
		{ MAGIC "user=x", sizeof(MAGIC "user=x") - 1, ERR_PROTOCOL },
		{ TEXT("colour=red"), ERR_UNSUPPORTED },
		{ TEXT("user"), ERR_UNSUPPORTED },
		{ TEXT("use=x"), ERR_UNSUPPORTED },
		{ TEXT("=x"), ERR_UNSUPPORTED },
		{ TEXT(""), ERR_UNSUPPORTED },
		{ TEXT("user=a\0user=b"), ERR_PROTOCOL },
		{ TEXT("user="), ERR_PROTOCOL },
		{ TEXT("layer=../../etc"), ERR_PROTOCOL },
		{ TEXT("layer=" HEX_A "a"), ERR_PROTOCOL },
		{ TEXT("env=PATH"), ERR_PROTOCOL },
		{ TEXT("env==x"), ERR_PROTOCOL },
		{ TEXT("workdir=etc"), ERR_PROTOCOL },
		{ TEXT("config=x"), ERR_PROTOCOL },
		{ TEXT("created=1x"), ERR_PROTOCOL },
		{ TEXT("created=--1"), ERR_PROTOCOL },
		{ TEXT("created=99999999999999999999"), ERR_PROTOCOL },
		{ TEXT("size=-1"), ERR_PROTOCOL },
		{ TEXT("size="), ERR_PROTOCOL },
		{ TEXT("size=01"), ERR_PROTOCOL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct launch_config r = { .size = 77 };
		struct err e = { 0 };
		/* A copy of exactly the text's size, so that a sanitizer sees a read
		 * beyond it. */
		AUTO_FREE char *text = malloc(bad[i].len + !bad[i].len);
		memcpy(text, bad[i].text, bad[i].len);
		if (launch_config_parse(text, bad[i].len, &r, &e) == 0)
			fail_msg("number %zu was taken", i);
		assert_int_equal(e.kind, bad[i].kind);
		assert_int_equal(r.size, 77);
	}
}

static void test_there_are_bounds(void **state)
{
	struct launch_config r, got;
	struct buffer text;
	struct err e;

	(void)state;
	launch_config_init(&r);
	buffer_init(&text, LAUNCH_CONFIG_MAX);
	for (int i = 0; i < LAUNCH_CONFIG_LAYERS_MAX; i++)
		list_add(&r.layers, HEX_A);
	assert_int_equal(launch_config_print(&r, &text, &e), 0);
	assert_int_equal(launch_config_parse((const char *)buffer_data(&text),
					     buffer_len(&text), &got, &e),
			 0);
	assert_int_equal(got.layers.count, LAUNCH_CONFIG_LAYERS_MAX);
	launch_config_done(&got);
	list_add(&r.layers, HEX_A);
	buffer_consume(&text, buffer_len(&text));
	assert_int_equal(launch_config_print(&r, &text, &e), -1);
	launch_config_done(&r);
	for (int i = 0; i < 20; i++)
		list_addf(&r.env, "A=%060000d", i);
	buffer_consume(&text, buffer_len(&text));
	assert_int_equal(launch_config_print(&r, &text, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	launch_config_done(&r);
	buffer_done(&text);
}

int main(void)
{
	scene_leave_root();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_written_config_is_read_the_same,
						in_store_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(test_one_that_is_used_is_not_removed,
						in_store_setup, scene_teardown),
		cmocka_unit_test(test_an_unknown_config_is_refused),
		cmocka_unit_test(test_there_are_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

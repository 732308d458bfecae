/* image_config: a build reads an image's configuration as a launch does, and a
 * configuration that was written can be read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "rootfs-tools/build/image_config.h"
#include "rootfs-tools/index/document.h"
#include "store/launch_config.h"

static const char *const documents[] = {
	"{}",
	"{\"config\":null,\"rootfs\":{\"diff_ids\":[]}}",
	"{\"config\":{\"User\":\"\",\"WorkingDir\":\"\",\"Env\":null}}",
	("{\"os\":\"linux\",\"architecture\":\"amd64\",\"config\":{\"User\":\"1:2\",\"Env\":[\"A=b=c\","
	 "\"B=\"],\"Entrypoint\":[\"/x\",\"\"],\"Cmd\":[\"y\"],\"StopSignal\":\"SIGINT\"}}"),
	"{\"config\":{\"WorkingDir\":\"app\"}}",
	"{\"config\":{\"WorkingDir\":\"/app\"}}",
	"{\"config\":{\"Labels\":{\"a\":\"b\"},\"Volumes\":{\"/v\":{}},\"Shell\":[\"/bin/sh\"]}}",
	/* Texts that both refuse. */
	"{",
	"[]",
	"{\"os\":\"windows\"}",
	"{\"config\":[]}",
	"{\"config\":{\"User\":\"a b\"}}",
	"{\"config\":{\"User\":\"a\\u001b\"}}",
	"{\"config\":{\"StopSignal\":\"SIG\\n\"}}",
	"{\"config\":{\"Env\":[\"A\"]}}",
	"{\"config\":{\"Env\":[\"=b\"]}}",
	"{\"config\":{\"Cmd\":\"ls\"}}",
	"{\"rootfs\":{\"diff_ids\":[\"sha256:1\"]}}",
};
#define GOOD 7

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool is_same_list(const struct list *a, const struct list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i], b->items[i]))
			return false;
	return true;
}

static void check_same(const struct launch_config *r, const struct list *ids,
		       const struct image_config *c)
{
	assert_true(is_same_text(r->user, c->user));
	assert_true(is_same_text(r->workdir, c->workdir));
	assert_true(is_same_text(r->stop_signal, c->stop_signal));
	assert_true(is_same_list(&r->env, &c->env));
	assert_true(is_same_list(&r->entrypoint, &c->entrypoint));
	assert_true(is_same_list(&r->cmd, &c->cmd));
	assert_true(is_same_list(ids, &c->diff_ids));
}

static void test_a_build_reads_what_a_launch_reads(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
		const char *text = documents[i];
		struct image_config c;
		struct launch_config r;
		struct list ids = { 0 };
		struct err e = { 0 }, other = { 0 };
		image_config_init(&c);
		launch_config_init(&r);
		int rc = config_parse(text, strlen(text), &r, &ids, &e);
		if (rc != (i < GOOD ? 0 : -1) ||
		    image_config_parse(text, strlen(text), &c, &other) != rc)
			fail_msg("%s: '%s', '%s'", text, e.text, other.text);
		if (rc == 0)
			check_same(&r, &ids, &c);
		else
			assert_int_equal(e.kind, other.kind);
		image_config_done(&c);
		launch_config_done(&r);
		list_done(&ids);
	}
}

static void test_a_printed_config_is_read_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < GOOD; i++) {
		struct image_config c, again;
		struct err e = { 0 };
		image_config_init(&c);
		image_config_init(&again);
		assert_int_equal(
			image_config_parse(documents[i], strlen(documents[i]), &c, &e),
			0);
		AUTO_FREE char *first = image_config_print(&c);
		assert_int_equal(image_config_parse(first, strlen(first), &again, &e), 0);
		AUTO_FREE char *second = image_config_print(&again);
		assert_string_equal(first, second);
		image_config_done(&c);
		image_config_done(&again);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_build_reads_what_a_launch_reads),
		cmocka_unit_test(test_a_printed_config_is_read_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

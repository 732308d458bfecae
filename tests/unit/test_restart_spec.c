/* restart_spec: a kept sandbox that starts again sees the same folders of the host
 * as before. */
#include "supervisor/restart_spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "policy/volume.h"
#include "tests/unit/scene.h"

/* Makes a policy that shows the folder behind the symbolic link. */
static void begin(struct policy *p, void **state)
{
	AUTO_FREE char *link = scene_path(state, "link");
	AUTO_FREE char *text = text_format("%s:/d", link);
	struct err e;

	policy_init(p);
	assert_int_equal(volume_parse_bind(p, text, &e), 0);
}

static void test_a_link_that_leads_where_it_led_is_followed_once(void **state)
{
	AUTO_FREE char *data = scene_path(state, "data");
	struct policy p;
	struct err e;

	scene_dir(state, "data");
	scene_link(state, "link", "data");
	begin(&p, state);
	AUTO_FREE char *kept = restart_spec_places(&p);
	assert_int_equal(restart_spec_hold_places(&p, kept, &e), 0);
	assert_string_equal(p.volumes[0].source, data);
	assert_true(
		p.is_resolved); /* set: no link is followed later (see test_volumes.c) */
	policy_done(&p);
}

static void test_a_link_that_leads_elsewhere_is_refused(void **state)
{
	AUTO_FREE char *link = scene_path(state, "link");
	struct policy p;
	struct err e;

	scene_dir(state, "data");
	scene_dir(state, "other");
	scene_link(state, "link", "data");
	begin(&p, state);
	AUTO_FREE char *kept = restart_spec_places(&p);
	assert_int_equal(unlink(link), 0);
	scene_link(state, "link", "other");
	assert_int_equal(restart_spec_hold_places(&p, kept, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	policy_done(&p);
}

#define PLAYED(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED(test_a_link_that_leads_where_it_led_is_followed_once),
		PLAYED(test_a_link_that_leads_elsewhere_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

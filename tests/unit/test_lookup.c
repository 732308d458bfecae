/* lookup: finds the file behind a path through the symbolic links of a plan, as the
 * kernel will inside the sandbox. */
#include "sandbox/plan/lookup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/own.h"
#include "sandbox/plan/plan.h"

static const struct {
	enum step_kind kind;
	const char *target, *data;
	mode_t mode;
} steps[] = {
	{ STEP_ROOT, "/", NULL, 0755 },
	{ STEP_DIR, "/a/b", NULL, 0755 },
	{ STEP_DIR, "/closed/in", NULL, 0755 },
	{ STEP_DIR, "/closed", NULL, 0600 },
	{ STEP_FILE, "/a/f", "text", 0644 },
	{ STEP_SYMLINK, "/rel", "a/b", 0 },
	{ STEP_SYMLINK, "/abs", "/a/b", 0 },
	{ STEP_SYMLINK, "/a/far", "/tmp", 0 },
	{ STEP_SYMLINK, "/a/up", "../../../a", 0 },
	{ STEP_SYMLINK, "/slash", "a/f/", 0 },
	{ STEP_SYMLINK, "/dangling", "a/no/x", 0 },
	{ STEP_SYMLINK, "/last", "a/no", 0 },
	{ STEP_SYMLINK, "/loop", "loop", 0 },
	{ STEP_SYMLINK, "/one", "two", 0 },
	{ STEP_SYMLINK, "/two", "/one", 0 },
	{ STEP_TMPFS, "/tmp", "", 0 },
	{ STEP_DIR, "/a/mask", NULL, 0755 },
	{ STEP_MASK, "/a/mask", NULL, 0 },
};

static const struct {
	const char *path;
	bool follows;
	enum found_kind kind;
	const char *is;
} samples[] = {
	{ "/", true, FOUND, "/" },
	{ "//", true, FOUND, "/" },
	{ "/a/b", true, FOUND, "/a/b" },
	{ "/a//./b/", true, FOUND, "/a/b" },
	{ "/a/b/..", true, FOUND, "/a" },
	{ "/../..", true, FOUND, "/" },
	{ "/rel", true, FOUND, "/a/b" },
	{ "/rel", false, FOUND, "/rel" },
	{ "/rel/", false, FOUND, "/a/b" },
	{ "/rel/../f", true, FOUND, "/a/f" },
	{ "/abs", true, FOUND, "/a/b" },
	{ "/a/far/x", true, FOUND_NOTHING, "/tmp/x" },
	{ "/a/up/f", true, FOUND, "/a/f" },
	{ "/tmp", true, FOUND, "/tmp" },
	{ "/tmp/x", true, FOUND_NOTHING, "/tmp/x" },
	{ "/tmp/x/y", true, FOUND_NO_FOLDER, "/tmp/x" },
	{ "/tmp/x/", true, FOUND_NO_FOLDER, "/tmp/x" },
	{ "/last", true, FOUND_NOTHING, "/a/no" },
	{ "/last", false, FOUND, "/last" },
	{ "/dangling", true, FOUND_NO_FOLDER, "/a/no" },
	{ "/a/f/x", true, FOUND_FILE, "/a/f" },
	{ "/a/f/", true, FOUND_FILE, "/a/f" },
	{ "/slash", true, FOUND_FILE, "/a/f" },
	{ "/closed", true, FOUND, "/closed" },
	{ "/closed/in", true, FOUND_CLOSED, "/closed" },
	{ "/closed/.", true, FOUND_CLOSED, "/closed" },
	{ "/a/mask", true, FOUND_MASK, "/a/mask" },
	{ "/a/mask/x", true, FOUND_MASK, "/a/mask" },
	{ "/loop", true, FOUND_LOOP, "/loop" },
	{ "/loop", false, FOUND, "/loop" },
	{ "/loop/x", false, FOUND_LOOP, "/loop" },
	{ "/one/x", true, FOUND_LOOP, "/one" },
};

static void make_plan(struct plan *p)
{
	plan_init(p);
	p->uid = 1000;
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct step *s = plan_add(p, steps[i].kind, steps[i].target);
		s->data = steps[i].data ? text_copy(steps[i].data) : NULL;
		s->mode = steps[i].mode;
		s->is_dir = true;
	}
}

static void test_links_of_the_plan_lead_where_they_lead_inside(void **state)
{
	struct plan p;

	(void)state;
	make_plan(&p);
	struct lookup *l = lookup_new(&p);
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct found f;
		lookup_path(l, samples[i].path, samples[i].follows, &f);
		if (f.kind != samples[i].kind || strcmp(f.path, samples[i].is))
			fail_msg("%s: %d at %s", samples[i].path, (int)f.kind, f.path);
		found_done(&f);
	}
	lookup_free(l);
	plan_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links_of_the_plan_lead_where_they_lead_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

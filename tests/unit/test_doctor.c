/* doctor: prints a diagnosis as text and as JSON. */
#include "cli/doctor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "policy/json/json.h"
#include "sandbox/explain/checks.h"

static const struct check found[] = {
	{ .name = "proc", .status = CHECK_OK, .detail = "there" },
	{ .name = "network-namespace",
	  .status = CHECK_MISSING,
	  .detail = "not \33[2J tried" },
	{ .name = "cgroup",
	  .status = CHECK_LIMITED,
	  .detail = "half \"of\" it",
	  .means = "less",
	  .remedy = "as root: \xff\n" },
};

static char *print(const struct diagnosis *d, bool is_json,
		   const struct doctor_terminal *t)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	if (is_json)
		doctor_print_json(d, to);
	else
		doctor_print(d, t, to);
	assert_int_equal(fclose(to), 0);
	return text;
}

static void test_lines_for_people(void **state)
{
	const struct diagnosis d = { found, ARRAY_LEN(found), true, false };

	(void)state;
	AUTO_FREE char *text = print(&d, false, NULL);
	static const char expected[] =
		"ok       proc               there\n"
		"missing  network-namespace  not ^[[2J tried\n"
		"limited  cgroup             half \"of\" it\n"
		"           means            less\n"
		"           remedy           as root: ";
	assert_memory_equal(text, expected, strlen(expected));
	assert_non_null(strstr(text, "\n\nhutch run works here; "));
}

static void test_colors_are_around_the_status_alone(void **state)
{
	const struct diagnosis d = { found, ARRAY_LEN(found), false, false };

	(void)state;
	AUTO_FREE char *text =
		print(&d, false, &(struct doctor_terminal){ .has_colors = true });
	assert_memory_equal(text, "ok       proc ", 14);
	assert_non_null(strstr(text, "\33[1;31mmissing  \33[mnetwork-namespace "));
	assert_non_null(strstr(text, "\33[1mlimited  \33[mcgroup "));
	assert_null(strstr(text, "\33[2J"));
}

static void test_sentences_are_broken_at_the_width_and_remedies_are_not(void **state)
{
	static const struct check checks[] = {
		{ .name = "proc",
		  .status = CHECK_MISSING,
		  .detail = "one two three four five six seven eight",
		  .means = "averyverylongwordthatfitsnoline and another",
		  .remedy = "mkdir a && mount b && chmod 755 c" },
	};
	const struct diagnosis d = { checks, 1, true, false };
	static const char expected[] =
		"missing  proc               one two three four five\n"
		"                            six seven eight\n"
		"           means            averyverylongwordthatfitsnoline\n"
		"                            and another\n"
		"           remedy           mkdir a && mount b && chmod 755 c\n"
		"\nhutch run works here; what is limited or missing\n"
		"matters only to what is named with it.\n";

	(void)state;
	AUTO_FREE char *text =
		print(&d, false, &(struct doctor_terminal){ .columns = 28 + 24 });
	assert_memory_equal(text, expected, strlen(expected));
	AUTO_FREE char *narrow =
		print(&d, false, &(struct doctor_terminal){ .columns = 9 });
	assert_non_null(strstr(narrow, " four five six seven eight\n"));
}

static void test_the_verdict(void **state)
{
	const struct diagnosis not = { found, ARRAY_LEN(found), false, false };
	const struct diagnosis other = { found, ARRAY_LEN(found), false, true };
	const struct diagnosis all = { found, 1, true, true };

	(void)state;
	AUTO_FREE char *a = print(&not, false, NULL);
	AUTO_FREE char *b = print(&all, false, NULL);
	assert_non_null(strstr(a, "\n\nhutch run does not work here: "));
	assert_non_null(strstr(b, "\n\nhutch run works here, with every flag"));
	AUTO_FREE char *c = print(&other, false, NULL);
	assert_non_null(strstr(
		c, "\n\nhutch run --isolation landlock works here, which is weaker.\n"
		   "hutch run does not work here: "));
}

/* A check with a remedy, as the next test needs several. */
#define LACKING(check)                                                                     \
	{ .name = (check), .status = CHECK_LIMITED, .detail = "not", .remedy = "for " check }

static void test_the_remedy_that_helps_most_is_named(void **state)
{
	static const struct check checks[] = {
		LACKING("kernel"), LACKING("overlayfs"), LACKING("cgroup"),
		LACKING("launch"), LACKING("user-namespaces"),
		{ .name = "namespaces", .status = CHECK_MISSING, .detail = "no remedy" },
	};
	static const struct {
		size_t from, count;
		bool works;
		const char *end;
	} cases[] = {
		{ 0, 6, false, "try again.\n\nFirst mend user-namespaces:\n  for user-namespaces\n" },
		{ 0, 4, false, "try again.\n\nFirst mend launch:\n  for launch\n" },
		{ 0, 3, false, "try again.\n" },
		{ 5, 1, false, "try again.\n" },
		{ 0, 3, true, "one thing, mend cgroup:\n  for cgroup\n\nTry first:\n" },
		{ 0, 2, true, "one thing, mend overlayfs:\n  for overlayfs\n\nTry first:\n" },
		{ 0, 1, true, "one thing, mend kernel:\n  for kernel\n\nTry first:\n" },
		{ 5, 1, true, "named with it.\n\nTry first:\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct diagnosis d = { &checks[cases[i].from], cases[i].count,
					     cases[i].works, false };
		AUTO_FREE char *text = print(&d, false, NULL);
		const char *end = strstr(text, cases[i].end);

		assert_non_null(end);
		assert_string_equal(end + strlen(cases[i].end),
				    cases[i].works ? "  hutch run -- id\n"
						     "  hutch run --workspace . -it -- bash\n"
						   : "");
	}
}

/* The reader accepts only strict JSON in strict UTF-8. */
static void test_the_object(void **state)
{
	const struct diagnosis d = { found, ARRAY_LEN(found), false, false };
	struct err e = { 0 };

	(void)state;
	AUTO_FREE char *text = print(&d, true, NULL);
	assert_string_equal(
		text,
		"{\"version\":1,\"works\":false,\"checks\":["
		"{\"name\":\"proc\",\"status\":\"ok\",\"detail\":\"there\",\"means\":null,"
		"\"remedy\":null},"
		"{\"name\":\"network-namespace\",\"status\":\"missing\","
		"\"detail\":\"not \\u001b[2J tried\",\"means\":null,\"remedy\":null},"
		"{\"name\":\"cgroup\",\"status\":\"limited\",\"detail\":\"half \\\"of\\\" it\","
		"\"means\":\"less\",\"remedy\":\"as root: \\u00ff\\u000a\"}]}\n");
	struct json *doc = json_parse(text, strlen(text), &e);
	assert_non_null(doc);
	json_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_for_people),
		cmocka_unit_test(test_colors_are_around_the_status_alone),
		cmocka_unit_test(
			test_sentences_are_broken_at_the_width_and_remedies_are_not),
		cmocka_unit_test(test_the_verdict),
		cmocka_unit_test(test_the_remedy_that_helps_most_is_named),
		cmocka_unit_test(test_the_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* observe_git: makes JSON of git's output, as the sandbox reports it, and refuses
 * anything that is not well formed. */
#include "actions/observe_git.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "actions/action.h"
#include "actions/observe.h"
#include "base/buffer.h"
#include "base/own.h"

#define KIND(kind, text) kind, text, sizeof(text) - 1

struct row {
	enum action_kind kind;
	const char *text;
	size_t len;
	const char *members; /* NULL: it is refused */
	const char *content; /* NULL: the text itself */
};

static void check(const struct row *r)
{
	const struct action a = { .kind = r->kind };
	const struct observed o = { .action = &a, .content = r->text, .len = r->len };
	AUTO_FREE char *content = NULL;
	struct buffer members;

	buffer_init(&members, 4096);
	bool is_good = observe_git(&o, &members, &content);
	(void)buffer_append(&members, "", 1);
	const char *got = (const char *)buffer_data(&members);
	if (is_good != (r->members != NULL) ||
	    (r->members && strcmp(got, r->members) != 0))
		fail_msg("'%s': %d, %s", r->text, is_good, got);
	if (r->members &&
	    strcmp(content ? content : "-", r->content ? r->content : "-") != 0)
		fail_msg("'%s': %s", r->text, content ? content : "-");
	buffer_done(&members);
}

#define NOTHING                                                                                 \
	"\"git\":{\"branch\":null,\"commit\":null,\"upstream\":null,\"ahead\":null,\"behind\":" \
	"null}"

static void test_the_state_of_a_repository(void **state)
{
	static const struct row rows[] = {
		{ KIND(ACT_GIT_CLONE, ""), NOTHING, "No branch, without a commit." },
		{ KIND(ACT_GIT_BRANCH,
		       "branch b\ncommit 0123456789abcdef\nupstream o/b\nahead 1\nbehind 2"),
		  "\"git\":{\"branch\":\"b\",\"commit\":\"0123456789abcdef\",\"upstream\":\"o/b\","
		  "\"ahead\":1,\"behind\":2}",
		  "Branch b, at 0123456789ab, 1 ahead of o/b and 2 behind it: they have diverged, "
		  "and nothing was merged." },
		{ KIND(ACT_GIT_CLONE, "branch \"\\\n"),
		  "\"git\":{\"branch\":\"\\\"\\\\\",\"commit\":null,\"upstream\":null,\"ahead\":null,"
		  "\"behind\":null}",
		  "Branch \"\\, without a commit." },
		{ KIND(ACT_GIT_CLONE, "token x"), NULL, NULL },
		{ KIND(ACT_GIT_CLONE, "branch"), NULL, NULL },
		{ KIND(ACT_GIT_CLONE, "\n"), NULL, NULL },
		{ KIND(ACT_GIT_CLONE, "ahead x"), NULL, NULL },
		{ KIND(ACT_GIT_CLONE, "ahead -1"), NULL, NULL },
		{ KIND(ACT_GIT_CLONE, "ahead "), NULL, NULL },
		{ KIND(ACT_GIT_CLONE, "ahead 1234567890123"), NULL, NULL },
		{ KIND(ACT_GIT_CLONE, "branch\0x y"), NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(&rows[i]);
}

static void test_changes(void **state)
{
	static const struct row rows[] = {
		{ KIND(ACT_GIT_CHANGES, ""), "\"changes\":[]", NULL },
		{ KIND(ACT_GIT_CHANGES, "M a b\nU \"\xff\n[3 more are not shown.]"),
		  "\"changes\":[{\"status\":\"M\",\"path\":\"a b\"},{\"status\":\"U\",\"path\":\"\\\"\xef\xbf\xbd\"}]",
		  NULL },
		{ KIND(ACT_GIT_CHANGES, "R a"), NULL, NULL },
		{ KIND(ACT_GIT_CHANGES, "\"a"), NULL, NULL },
		{ KIND(ACT_GIT_CHANGES, "M "), NULL, NULL },
		{ KIND(ACT_GIT_CHANGES, "Ma"), NULL, NULL },
		{ KIND(ACT_GIT_CHANGES, "M a\n\nM b"), NULL, NULL },
		{ KIND(ACT_GIT_CHANGES, "\0 a"), NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(&rows[i]);
}

static void test_a_diff_has_two_sides_of_the_lengths_that_it_says(void **state)
{
	static const struct row rows[] = {
		{ KIND(ACT_GIT_DIFF, "2 3\nabxyz"),
		  "\"diff\":{\"modified\":\"xyz\",\"original\":\"ab\"}",
		  "The file was changed." },
		{ KIND(ACT_GIT_DIFF, "1 1\nxx"),
		  "\"diff\":{\"modified\":\"x\",\"original\":\"x\"}",
		  "The file was not changed." },
		{ KIND(ACT_GIT_DIFF, "- 0\n"),
		  "\"diff\":{\"modified\":\"\",\"original\":null}", "The file is new." },
		{ KIND(ACT_GIT_DIFF, "1 -\nx"),
		  "\"diff\":{\"modified\":null,\"original\":\"x\"}",
		  "The file was removed." },
		{ KIND(ACT_GIT_DIFF, ""), NULL, NULL },
		{ KIND(ACT_GIT_DIFF, "2 3\nabxy"), NULL, NULL },
		{ KIND(ACT_GIT_DIFF, "2 3\nabxyz!"), NULL, NULL },
		{ KIND(ACT_GIT_DIFF, "99 1\nx"), NULL, NULL },
		{ KIND(ACT_GIT_DIFF, "-1 1\nx"), NULL, NULL },
		{ KIND(ACT_GIT_DIFF, "1\nx"), NULL, NULL },
		{ KIND(ACT_GIT_DIFF, "999999999999 999999999999\nx"), NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(&rows[i]);
}

static void test_microagents_stand_behind_each_other(void **state)
{
	static const struct row rows[] = {
		{ KIND(ACT_MICROAGENTS, ""), "\"microagents\":[]", "" },
		{ KIND(ACT_MICROAGENTS, "3 a b\nx\ny- c\n0 d\n"),
		  "\"microagents\":[{\"path\":\"a b\",\"content\":\"x\\ny\"},{\"path\":\"c\",\"content\":"
		  "null},{\"path\":\"d\",\"content\":\"\"}]",
		  "a b\nc\nd" },
		{ KIND(ACT_MICROAGENTS, "4 a\nxyz"), NULL, NULL },
		{ KIND(ACT_MICROAGENTS, "1 a\nxyz"), NULL, NULL },
		{ KIND(ACT_MICROAGENTS, "1 \nx"), NULL, NULL },
		{ KIND(ACT_MICROAGENTS, "x a\n"), NULL, NULL },
		{ KIND(ACT_GIT_HOOKS, ""), "",
		  "There is no .openhands/pre-commit.sh: nothing was installed." },
		{ KIND(ACT_GIT_HOOKS, "/x"), "", NULL },
		{ KIND(ACT_GIT_SETUP, "safe.directory x"), "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_state_of_a_repository),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_a_diff_has_two_sides_of_the_lengths_that_it_says),
		cmocka_unit_test(test_microagents_stand_behind_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

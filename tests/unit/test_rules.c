#include "policy/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"

static const char *const names[] = { "allow", "ask", "deny" };

/* Makes rules from `lines`, which have one rule each. */
static struct rules *rules_of(const char *lines)
{
	struct list texts = { 0 };
	struct err e;

	for (const char *at = lines; *at;) {
		size_t len = strcspn(at, "\n");
		list_addf(&texts, "%.*s", (int)len, at);
		if (rules_check(texts.items[texts.count - 1], &e) < 0)
			fail_msg("%s: %s", texts.items[texts.count - 1], e.text);
		at += len + (at[len] == '\n');
	}
	struct rules *r = rules_new(&texts);
	list_done(&texts);
	return r;
}

struct sample {
	const char *command;
	enum decision decision;
	const char *reason, *about;
};

static void check(const char *lines, const struct sample *samples, size_t count)
{
	struct rules *r = rules_of(lines);

	for (size_t i = 0; i < count; i++) {
		const struct sample *s = &samples[i];
		const struct deed deed = { .action = "run", .command = s->command };
		struct verdict v;
		rules_judge(r, &deed, &v);
		AUTO_FREE char *about = list_join(&v.about, 0, "\n");
		if (v.decision != s->decision || strcmp(v.reason, s->reason) ||
		    strcmp(about, s->about))
			fail_msg("'%s': %s, '%s', '%s'", s->command, names[v.decision],
				 v.reason, about);
		verdict_done(&v);
	}
	rules_free(r);
}

static void test_the_words_of_a_command_are_met_in_order(void **state)
{
	static const char rules[] =
		"{\"command\":\"git push **\",\"decision\":\"deny\",\"reason\":\"push\"}\n"
		"{\"command\":[\"rm ** -r* **\",\"rm ** -*r **\"],\"decision\":\"ask\",\"reason\":\"rm\"}\n"
		"{\"command\":\"/opt/x\",\"decision\":\"deny\",\"reason\":\"x\"}\n"
		"{\"command\":\"a ? *.c\",\"decision\":\"deny\",\"reason\":\"a\"}";
	static const struct sample samples[] = {
		{ "git push", DECISION_DENY, "push", "git push" },
		{ "git push origin main", DECISION_DENY, "push", "git push origin main" },
		{ "/usr/bin/git push", DECISION_DENY, "push", "/usr/bin/git push" },
		{ "git status push", DECISION_ALLOW, "", "" },
		{ "git -C x push", DECISION_DENY, "push", "git push" },
		{ "git -C push pull", DECISION_ALLOW, "", "" },
		{ "rm -r x", DECISION_ASK, "rm", "rm -r x" },
		{ "rm -v x -fr", DECISION_ASK, "rm", "rm -v x -fr" },
		{ "rm x", DECISION_ALLOW, "", "" },
		{ "/opt/x", DECISION_DENY, "x", "/opt/x" },
		{ "x", DECISION_ALLOW, "", "" },
		{ "/opt/x y", DECISION_ALLOW, "", "" },
		{ "a b m.c", DECISION_DENY, "a", "a b m.c" },
		{ "a bb m.c", DECISION_ALLOW, "", "" },
		{ "", DECISION_ALLOW, "", "" },
		{ "# git push", DECISION_ALLOW, "", "" },
	};

	(void)state;
	check(rules, samples, ARRAY_LEN(samples));
}

static void test_each_command_is_judged_and_the_strictest_holds(void **state)
{
	static const char rules[] =
		"{\"command\":\"git push **\",\"decision\":\"deny\",\"reason\":\"push\"}\n"
		"{\"command\":\"rm **\",\"decision\":\"ask\",\"reason\":\"rm\"}\n"
		"{\"command\":\"rm *.o\",\"decision\":\"allow\"}";
	static const struct sample samples[] = {
		{ "ls && git push; rm x", DECISION_DENY, "push", "git push" },
		{ "rm x; git push", DECISION_DENY, "push", "git push" },
		{ "git push a; rm x; git push b", DECISION_DENY, "push",
		  "git push a\ngit push b" },
		{ "ls | rm x", DECISION_ASK, "rm", "rm x" },
		{ "echo \"$(git 'pu'sh)\"", DECISION_DENY, "push", "git push" },
		{ "sudo -u x git push", DECISION_DENY, "push", "git push" },
		{ "bash -c 'rm x'", DECISION_ASK, "rm", "rm x" },
		{ "env X=1 g\\it push", DECISION_DENY, "push", "git push" },
		{ "rm a.o", DECISION_ALLOW, "", "rm a.o" },
		{ "rm a.o; rm b", DECISION_ASK, "rm", "rm b" },
		{ "rm b; rm a.o", DECISION_ASK, "rm", "rm b" },
	};

	(void)state;
	check(rules, samples, ARRAY_LEN(samples));
}

static void judge(const char *lines, const struct deed *deed, enum decision decision,
		  enum risk risk)
{
	struct rules *r = rules_of(lines);
	struct verdict v;

	rules_judge(r, deed, &v);
	if (v.decision != decision || v.risk != risk)
		fail_msg("%s %s: %s, %s", deed->action, deed->path ? deed->path : "",
			 names[v.decision], risk_name(v.risk));
	verdict_done(&v);
	rules_free(r);
}

static void test_paths_and_sizes_of_actions_are_met(void **state)
{
	static const char path
		[] = "{\"action\":[\"write\",\"edit\",\"move\"],\"path\":[\"/etc/**\",\".env\"],"
		     "\"decision\":\"deny\",\"reason\":\"r\"}",
	    size[] =
		    "{\"larger\":\"1k\",\"decision\":\"ask\",\"reason\":\"r\",\"risk\":\"low\"}";
	const struct deed deeds[] = {
		{ .action = "write", .path = "/etc/passwd" },
		{ .action = "write", .path = "../../etc/./x", .cwd = "/workspace/a" },
		{ .action = "edit", .path = "a/.ENV", .cwd = "/workspace" },
		{ .action = "move", .path = "/a", .other = "//etc//b" },
		{ .action = "write", .path = "/etc" },
	};
	const struct deed others[] = {
		{ .action = "read", .path = "/etc/passwd" },
		{ .action = "write", .path = "etc/passwd", .cwd = "/workspace" },
		{ .action = "write", .path = "/workspace/etc" },
		{ .action = "run", .command = "cat /etc/passwd" },
		{ .action = "env" },
	};
	const struct deed large = { .action = "write", .path = "/x", .size = 1025 },
			  small = { .action = "write", .path = "/x", .size = 1024 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(deeds); i++)
		judge(path, &deeds[i], DECISION_DENY, RISK_HIGH);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		judge(path, &others[i], DECISION_ALLOW, RISK_LOW);
	judge(size, &large, DECISION_ASK, RISK_LOW);
	judge(size, &small, DECISION_ALLOW, RISK_LOW);
}

static void test_a_rule_without_a_what_is_about_everything(void **state)
{
	static const char rule
		[] = "{\"decision\":\"ask\",\"reason\":\"all\"}",
	    run[] = "{\"action\":\"run\",\"decision\":\"deny\",\"reason\":\"r\",\"risk\":\"medium\"}";

	(void)state;
	judge(rule, &(struct deed){ .action = "env" }, DECISION_ASK, RISK_MEDIUM);
	judge(rule, &(struct deed){ .action = "run", .command = "x" }, DECISION_ASK,
	      RISK_MEDIUM);
	judge(rule, &(struct deed){ .action = "run", .command = "# x" }, DECISION_ASK,
	      RISK_MEDIUM);
	judge(run, &(struct deed){ .action = "run", .command = "x" }, DECISION_DENY,
	      RISK_MEDIUM);
	judge(run, &(struct deed){ .action = "read", .path = "x" }, DECISION_ALLOW,
	      RISK_LOW);
}

static void test_a_run_that_is_too_much_to_judge_is_asked_about(void **state)
{
	static const char rule[] = "{\"command\":\"x\",\"decision\":\"allow\"}";
	char *large = malloc(RULES_TEXT_MAX + 2), deep[4096] = "";

	(void)state;
	assert_non_null(large);
	memset(large, 'x', RULES_TEXT_MAX + 1);
	large[RULES_TEXT_MAX + 1] = '\0';
	judge(rule, &(struct deed){ .action = "run", .command = large }, DECISION_ASK,
	      RISK_HIGH);
	large[RULES_TEXT_MAX] = '\0';
	judge(rule, &(struct deed){ .action = "run", .command = large }, DECISION_ALLOW,
	      RISK_LOW);
	free(large);
	for (size_t i = 0; i < 1000; i++)
		memcpy(deep + 2 * i, "$(", 3);
	judge(rule, &(struct deed){ .action = "run", .command = deep }, DECISION_ASK,
	      RISK_HIGH);
	judge(rule, &(struct deed){ .action = "run", .command = "x 'y" }, DECISION_ASK,
	      RISK_HIGH);
}

static void test_keys_in_what_is_typed_are_asked_about(void **state)
{
	static const char rule[] = "{\"command\":\"x\",\"decision\":\"allow\"}";
	struct deed d = { .action = "run", .command = "a\x7f" "b" };

	(void)state;
	judge(rule, &d, DECISION_ALLOW, RISK_LOW);
	d.is_typed = true;
	judge(rule, &d, DECISION_ASK, RISK_HIGH);
	d.command = "a\r";
	judge(rule, &d, DECISION_ASK, RISK_HIGH);
	d.command = "a\tb\nc \xc3\xa4";
	judge(rule, &d, DECISION_ALLOW, RISK_LOW);
}

static void test_an_action_with_a_commands_effect_is_judged_as_both(void **state)
{
	static const char command[] =
		"{\"command\":\"git clone **\",\"decision\":\"deny\",\"reason\":\"r\"}";
	static const char name[] =
		"{\"action\":\"git_clone\",\"decision\":\"deny\",\"reason\":\"r\"}";
	static const char run[] =
		"{\"action\":\"run\",\"decision\":\"deny\",\"reason\":\"r\"}";
	static const char all[] = "{\"decision\":\"deny\",\"reason\":\"r\"}\n"
				  "{\"command\":\"git **\",\"decision\":\"allow\"}";
	static const char read[] =
		"{\"action\":\"read\",\"path\":\"/s\",\"decision\":\"deny\",\"reason\":\"r\"}";
	const struct deed clone = { .action = "git_clone", .path = "p",
				    .same = "git clone 'https://h/x' 'p'" };
	const struct deed diff = { .action = "git_diff", .path = "/s/x", .reads = true };

	(void)state;
	judge(command, &clone, DECISION_DENY, RISK_HIGH);
	judge(name, &clone, DECISION_DENY, RISK_HIGH);
	judge(run, &clone, DECISION_ALLOW, RISK_LOW);
	judge(all, &clone, DECISION_DENY, RISK_HIGH);
	judge(read, &diff, DECISION_DENY, RISK_HIGH);
	judge(read, &clone, DECISION_ALLOW, RISK_LOW);
}

static void test_many_words_for_many_rules_are_asked_about(void **state)
{
	struct list texts = { 0 };
	const size_t count = 60000;
	char *many = malloc(2 * count + 1);
	struct verdict v;

	(void)state;
	assert_non_null(many);
	for (size_t i = 0; i < 2 * count; i++)
		many[i] = i % 2 ? ' ' : 'x';
	many[2 * count] = '\0';
	for (int i = 0; i < 100; i++)
		list_addf(
			&texts,
			"{\"command\":\"* ** y%d\",\"decision\":\"deny\",\"reason\":\"r\"}",
			i);
	struct rules *r = rules_new(&texts);
	rules_judge(r, &(struct deed){ .action = "run", .command = many }, &v);
	assert_int_equal(v.decision, DECISION_ASK);
	verdict_done(&v);
	rules_free(r);
	list_done(&texts);
	free(many);
}

static void test_the_highest_risk_of_equal_decisions_is_told(void **state)
{
	struct rules *r = rules_of(
		"{\"command\":\"a\",\"decision\":\"ask\",\"reason\":\"low\",\"risk\":\"low\"}\n"
		"{\"command\":\"b\",\"decision\":\"ask\",\"reason\":\"high\",\"risk\":\"high\"}");
	static const char *const commands[] = { "a; b; a", "b; a" };
	struct verdict v;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		rules_judge(r, &(struct deed){ .action = "run", .command = commands[i] },
			    &v);
		assert_int_equal(v.risk, RISK_HIGH);
		assert_string_equal(v.reason, "high");
		AUTO_FREE char *about = list_join(&v.about, 0, "\n");
		assert_string_equal(about, i ? "b\na" : "a\nb\na");
		verdict_done(&v);
	}
	rules_free(r);
}

static void test_an_invalid_rule_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *rule, *says;
	} samples[] = {
		{ "", "line 1" },
		{ "[]", "an object was expected" },
		{ "{}", "there is no 'decision'" },
		{ "{\"decision\":\"maybe\"}", "rule.decision: 'maybe'" },
		{ "{\"decision\":1}", "rule.decision: a string was expected" },
		{ "{\"decision\":\"deny\"}", "there is no 'reason'" },
		{ "{\"decision\":\"allow\",\"x\":1}", "x" },
		{ "{\"decision\":\"allow\",\"risk\":\"big\"}", "rule.risk: 'big'" },
		{ "{\"decision\":\"allow\",\"action\":\"fly\"}", "rule.action: 'fly'" },
		{ "{\"decision\":\"allow\",\"action\":[]}", "rule.action: it is empty" },
		{ "{\"decision\":\"allow\",\"action\":[\"run\",2]}", "rule.action[1]" },
		{ "{\"decision\":\"allow\",\"command\":\" \"}",
		  "rule.command: it is empty" },
		{ "{\"decision\":\"allow\",\"path\":\"a/../b\"}", "rule.path: 'a/../b'" },
		{ "{\"decision\":\"allow\",\"path\":[]}", "rule.path: it is empty" },
		{ "{\"decision\":\"allow\",\"larger\":\"x\"}", "rule.larger" },
		{ "{\"decision\":\"allow\",\"larger\":-1}", "rule.larger" },
		{ "{\"decision\":\"allow\",\"command\":\"x\",\"path\":\"y\"}",
		  "no 'path'" },
		{ "{\"decision\":\"allow\",\"command\":\"x\",\"larger\":1}", "no size" },
		{ "{\"decision\":\"allow\",\"command\":\"x\",\"action\":\"read\"}",
		  "only 'run'" },
		{ "{\"decision\":\"allow\",\"action\":[\"run\",\"env\"],\"path\":\"y\"}",
		  "have no 'path'" },
		{ "{\"decision\":\"allow\",\"action\":\"read\",\"larger\":1}",
		  "write nothing" },
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		if (rules_check(samples[i].rule, &e) == 0)
			fail_msg("'%s' is a rule", samples[i].rule);
		if (!strstr(e.text, samples[i].says))
			fail_msg("'%s' says: %s", samples[i].rule, e.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_words_of_a_command_are_met_in_order),
		cmocka_unit_test(test_each_command_is_judged_and_the_strictest_holds),
		cmocka_unit_test(test_paths_and_sizes_of_actions_are_met),
		cmocka_unit_test(test_a_rule_without_a_what_is_about_everything),
		cmocka_unit_test(test_a_run_that_is_too_much_to_judge_is_asked_about),
		cmocka_unit_test(test_keys_in_what_is_typed_are_asked_about),
		cmocka_unit_test(test_an_action_with_a_commands_effect_is_judged_as_both),
		cmocka_unit_test(test_many_words_for_many_rules_are_asked_about),
		cmocka_unit_test(test_the_highest_risk_of_equal_decisions_is_told),
		cmocka_unit_test(test_an_invalid_rule_is_refused_with_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of audit_net: how many decisions a log gets, and what it says of the others. */
#include "sandbox/launch/audit_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "sandbox/launch/audit.h"
#include "store/ledger_walk.h"

#define ALLOW "{\"verdict\":\"allow\",\"port\":443}"
#define DENY  "{\"verdict\":\"deny\",\"port\":443}"
#define END   "{\"verdict\":\"end\",\"port\":443,\"up\":5,\"down\":70}"

static int setup(void **state)
{
	struct audit *a = calloc(1, sizeof(*a));
	char path[] = "/tmp/hutch-audit.XXXXXX";
	struct err e;

	assert_non_null(a);
	assert_non_null(mkdtemp(path));
	audit_init(a);
	assert_int_equal(audit_resume(a, path, "0123456789ab", NULL, &e), 0);
	*state = a;
	return 0;
}

static int teardown(void **state)
{
	struct audit *a = *state;

	(void)unlinkat(a->ledger.folder, "log.1", 0);
	assert_int_equal(rmdir(a->path), 0);
	audit_done(a);
	free(a);
	return 0;
}

static void decide(struct audit *a, const char *line, unsigned times, int64_t now)
{
	AUTO_JSON struct json *doc = json_parse(line, strlen(line), NULL);
	struct json_at root;

	json_root(doc, "line", &root);
	for (unsigned i = 0; i < times; i++)
		audit_net(a, &root, now);
}

/* Says what a line of the log is: "allow", or "net-lost 3 0 0". */
static char *word_of(const char *text, size_t len)
{
	AUTO_JSON struct json *doc = json_parse(text, len, NULL);
	struct json_at root;

	json_root(doc, "log", &root);
	if (strcmp(json_member_string(&root, "event", ""), "net-lost") != 0)
		return text_copy(json_member_string(&root, "verdict", "?"));
	return text_format("net-lost %llu %llu %llu",
			   (unsigned long long)json_member_uint(&root, "count", 0),
			   (unsigned long long)json_member_uint(&root, "up", 0),
			   (unsigned long long)json_member_uint(&root, "down", 0));
}

static void add_run(struct list *ret, const char *word, unsigned times)
{
	if (times)
		list_addf(ret, times == 1 ? "%s" : "%s x%u", word, times);
}

/* Returns the log, equal entries as one: "allow x100, net-lost 3 0 0". */
static char *log_of(const struct audit *a)
{
	AUTO_FREE char *last = text_copy("");
	struct list words = { 0 };
	struct ledger_line line;
	struct ledger_walk w;
	unsigned times = 0;
	struct err e;

	assert_int_equal(ledger_walk_open(&w, a->path, &e), 0);
	while (ledger_walk_next(&w, &line, &e) > 0) {
		char *word = word_of(line.text, line.len - 1);
		if (strcmp(word, last) != 0) {
			add_run(&words, last, times);
			times = 0;
		}
		times++;
		free(last);
		last = word;
	}
	add_run(&words, last, times);
	char *log = list_join(&words, 0, ", ");
	list_done(&words);
	ledger_walk_done(&w);
	return log;
}

static void claim(const struct audit *a, const char *expected)
{
	AUTO_FREE char *log = log_of(a);

	assert_string_equal(log, expected);
}

static void test_a_second_has_100_entries(void **state)
{
	struct audit *a = *state;

	decide(a, ALLOW, 60, 5000);
	decide(a, END, 41, 5999);
	claim(a, "allow x60, end x40");
	decide(a, ALLOW, 1, 6000);
	claim(a, "allow x60, end x40, net-lost 1 5 70, allow");
}

static void test_the_others_are_counted_with_their_bytes(void **state)
{
	struct audit *a = *state;

	decide(a, ALLOW, 130, 5000);
	decide(a, END, 20, 5500);
	audit_net_tell_lost(a);
	audit_net_tell_lost(a);
	claim(a, "allow x100, net-lost 50 100 1400");
}

static void test_a_refusal_is_always_recorded(void **state)
{
	struct audit *a = *state;

	decide(a, ALLOW, 101, 5000);
	decide(a, DENY, 101, 5000);
	decide(a, ALLOW, 1, 5000);
	audit_net_tell_lost(a);
	claim(a, "allow x100, net-lost 1 0 0, deny x101, net-lost 1 0 0");
}

static void test_connections_from_outside_take_places_too(void **state)
{
	struct audit *a = *state;

	decide(a, ALLOW, 99, 5000);
	assert_true(audit_net_begin(a, 5000));
	assert_false(audit_net_begin(a, 5000));
	decide(a, ALLOW, 1, 5000);
	assert_true(audit_net_begin(a, 6000));
	claim(a, "allow x99, net-lost 2 0 0");
}

static void test_a_log_without_losses_says_nothing_of_them(void **state)
{
	struct audit *a = *state;

	decide(a, ALLOW, 100, 0);
	decide(a, END, 100, 1000);
	audit_net_tell_lost(a);
	claim(a, "allow x100, end x100");
}

static void test_what_was_lost_on_the_way_is_counted_too(void **state)
{
	struct audit *a = *state;

	audit_net_lost(a, 7);
	decide(a, ALLOW, 1, 5000);
	claim(a, "net-lost 7 0 0, allow");
}

static void test_an_entry_names_the_host_beside_the_sandbox(void **state)
{
	struct audit *a = *state;
	struct ledger_line line;
	struct ledger_walk w;
	struct json_at root;
	struct err e;

	a->name = "box";
	decide(a, "{\"verdict\":\"allow\",\"name\":\"a.org\"}", 1, 5000);
	assert_int_equal(ledger_walk_open(&w, a->path, &e), 0);
	assert_int_equal(ledger_walk_next(&w, &line, &e), 1);
	/* it would be refused if it had two members of one name */
	AUTO_JSON struct json *doc = json_parse(line.text, line.len - 1, NULL);
	json_root(doc, "log", &root);
	assert_string_equal(json_member_string(&root, "name", ""), "box");
	assert_string_equal(json_member_string(&root, "host", ""), "a.org");
	ledger_walk_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_second_has_100_entries, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_the_others_are_counted_with_their_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_refusal_is_always_recorded, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_connections_from_outside_take_places_too, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_log_without_losses_says_nothing_of_them, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_what_was_lost_on_the_way_is_counted_too, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_an_entry_names_the_host_beside_the_sandbox, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

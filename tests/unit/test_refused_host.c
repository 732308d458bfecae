/* Tests of egress_news and refused_host: lines of hutch-egress, and what is told of them. */
#include "egress/launch/refused_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "egress/launch/egress.h"
#include "egress/launch/egress_news.h"

struct world {
	struct egress egress;
	int theirs; /* hutch-egress's end */
};

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int pair[2];

	assert_non_null(w);
	egress_init(&w->egress);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	w->egress.control = pair[0];
	w->theirs = pair[1];
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	own_close(&w->theirs);
	egress_done(&w->egress);
	free(w);
	return 0;
}

static void says(struct world *w, const char *text)
{
	const size_t len = strlen(text);

	assert_int_equal(write(w->theirs, text, len), (ssize_t)len);
	egress_fill(&w->egress);
}

/* Takes a line of this kind. */
static void hears(struct world *w, enum egress_news_kind kind, struct egress_news *n)
{
	assert_true(egress_next(&w->egress, n));
	assert_int_equal(n->kind, kind);
}

static void nothing_more(struct world *w)
{
	struct egress_news n;

	assert_false(egress_next(&w->egress, &n));
}

static void test_lines_come_one_by_one_and_in_pieces(void **state)
{
	struct world *w = *state;
	struct egress_news n;

	says(w, "{\"ready\":{\"rules\":1}}\n{\"net\":{\"verdict\":\"allow\"}}\n{\"as");
	hears(w, EGRESS_NEWS_SAID, &n);
	egress_news_done(&n);
	hears(w, EGRESS_NEWS_NET, &n);
	egress_news_done(&n);
	nothing_more(w);
	says(w, "k\":{\"id\":1}}\n");
	hears(w, EGRESS_NEWS_ASK, &n);
	egress_news_done(&n);
	nothing_more(w);
}

static void test_the_end_is_told_once_after_all_lines(void **state)
{
	struct world *w = *state;
	struct egress_news n;

	says(w, "{\"net\":{}}\n");
	own_close(&w->theirs);
	egress_fill(&w->egress);
	assert_int_equal(egress_fd(&w->egress), -1);
	hears(w, EGRESS_NEWS_NET, &n);
	egress_news_done(&n);
	hears(w, EGRESS_NEWS_LOST, &n);
	egress_news_done(&n);
	nothing_more(w);
}

static void test_a_line_that_is_none_is_the_end(void **state)
{
	struct world *w = *state;
	struct egress_news n;

	says(w, "{\"net\":\n");
	hears(w, EGRESS_NEWS_LOST, &n);
	nothing_more(w);
	assert_int_equal(egress_fd(&w->egress), -1);
}

/* More bytes than hutch-egress ever has in a line. */
static void test_a_line_without_an_end_is_the_end(void **state)
{
	struct world *w = *state;
	struct egress_news n;
	char piece[8192];

	memset(piece, 'x', sizeof(piece));
	while (egress_fd(&w->egress) >= 0) {
		assert_int_equal(write(w->theirs, piece, sizeof(piece)), sizeof(piece));
		egress_fill(&w->egress);
	}
	hears(w, EGRESS_NEWS_LOST, &n);
}

/* --- refused hosts ------------------------------------------------------------------ */

static const struct refused_host *count(struct refused_hosts *r, const char *line)
{
	struct json_at root;
	struct err e;
	AUTO_JSON struct json *doc = json_parse(line, strlen(line), &e);

	assert_non_null(doc);
	json_root(doc, "net", &root);
	return refused_hosts_add(r, &root);
}

static void test_only_refusals_are_counted(void **state)
{
	struct refused_hosts r = { 0 };

	(void)state;
	assert_null(count(&r, "{\"verdict\":\"allow\",\"name\":\"a.org\",\"port\":443}"));
	assert_null(count(&r, "{\"verdict\":\"end\",\"name\":\"a.org\",\"port\":443}"));
	assert_null(count(&r, "{}"));
	assert_int_equal(r.count, 0);
	refused_hosts_done(&r);
}

static void test_words_for_each_reason(void **state)
{
	static const struct {
		const char *line, *sentence, *remedy;
	} rows[] = {
		{ "{\"verdict\":\"deny\",\"reason\":\"no-rule\",\"name\":\"a.org\",\"port\":0}",
		  "a connection to a.org was refused (network: no rule allows this host)",
		  "--allow a.org" },
		{ "{\"verdict\":\"deny\",\"reason\":\"no-rule\",\"name\":\"a.org\",\"port\":443}",
		  "a connection to a.org:443 was refused (network: no rule allows this host)",
		  "--allow a.org" },
		{ "{\"verdict\":\"deny\",\"reason\":\"port\",\"name\":\"a.org\",\"port\":22,"
		  "\"count\":3}",
		  "a connection to a.org:22 was refused, 3 times (network: no rule allows "
		  "this port of the host)",
		  "--allow a.org:22" },
		{ "{\"verdict\":\"deny\",\"reason\":\"no-name\",\"name\":null,"
		  "\"address\":\"fd00::7\",\"port\":5432}",
		  "a connection to [fd00::7]:5432 was refused (network: the address has no "
		  "name that was looked up)",
		  "--allow [fd00::7]:5432" },
		{ "{\"verdict\":\"deny\",\"reason\":\"denied\",\"name\":\"a.org\","
		  "\"rule\":\"*.org\",\"port\":443}",
		  "a connection to a.org:443 was refused (network: the rule deny *.org)",
		  "hutch-net(1) says what is refused, and why" },
		{ "{\"verdict\":\"deny\",\"reason\":\"denied\",\"name\":\"a.org\","
		  "\"rule\":\"a.org\",\"why\":\"not here\",\"port\":0}",
		  "a connection to a.org was refused (network: the rule deny a.org: not "
		  "here)",
		  "hutch-net(1) says what is refused, and why" },
		{ "{\"verdict\":\"deny\",\"reason\":\"upstream-failed\",\"name\":\"a.org\","
		  "\"port\":443}",
		  "a connection to a.org:443 failed (network: the host could not be reached)",
		  "hutch-net(1) says what is refused, and why" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct refused_hosts r = { 0 };
		const struct refused_host *h = count(&r, rows[i].line);
		assert_non_null(h);
		AUTO_FREE char *sentence = refused_host_sentence(h);
		AUTO_FREE char *remedy = refused_host_remedy(h);
		assert_string_equal(sentence, rows[i].sentence);
		assert_string_equal(remedy, rows[i].remedy);
		refused_hosts_done(&r);
	}
}

static void test_the_table_is_bounded_and_counts_the_others(void **state)
{
	struct refused_hosts r = { 0 };
	const struct refused_host *h = NULL;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		char line[200];
		(void)snprintf(line, sizeof(line),
			       "{\"verdict\":\"deny\",\"reason\":\"no-rule\",\"name\":\"%d.org\"}", i);
		h = count(&r, line);
	}
	assert_int_equal(r.count, REFUSED_HOSTS_MAX);
	assert_string_equal(h->host, "");
	assert_int_equal(h->count, 1000 - (REFUSED_HOSTS_MAX - 1));
	AUTO_FREE char *sentence = refused_host_sentence(h);
	assert_non_null(strstr(sentence, "other hosts"));
	refused_hosts_done(&r);
}

static void test_the_first_the_tenth_and_the_hundredth_are_news(void **state)
{
	struct refused_host h = { .host = "a.org" };
	unsigned news = 0;

	(void)state;
	for (h.count = 1; h.count <= 1000; h.count++)
		news += refused_host_is_news(&h);
	assert_int_equal(news, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines_come_one_by_one_and_in_pieces,
						begin, end),
		cmocka_unit_test_setup_teardown(test_the_end_is_told_once_after_all_lines,
						begin, end),
		cmocka_unit_test_setup_teardown(test_a_line_that_is_none_is_the_end,
						begin, end),
		cmocka_unit_test_setup_teardown(test_a_line_without_an_end_is_the_end,
						begin, end),
		cmocka_unit_test(test_only_refusals_are_counted),
		cmocka_unit_test(test_words_for_each_reason),
		cmocka_unit_test(test_the_table_is_bounded_and_counts_the_others),
		cmocka_unit_test(test_the_first_the_tenth_and_the_hundredth_are_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

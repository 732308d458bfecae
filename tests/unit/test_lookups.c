/* lookups: each row tells questions, answers and times, and what the table then says.  The
 * resolver is this file's: it notes each question, and answers when a row says so. */
#include "egress/lookups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "egress/hosts_file.h"
#include "egress/resolver.h"

#define ASKED_MAX 1024

struct asked {
	resolver_told *told;
	void *context;
};

struct resolver {
	struct asked asked[ASKED_MAX];
	size_t count;
};

void resolver_ask(struct resolver *r, const char *name, resolver_told *told,
		  void *context)
{
	(void)name;
	assert_true(r->count < ASKED_MAX);
	r->asked[r->count++] = (struct asked){ told, context };
}

static void answer(struct resolver *r, size_t number, enum resolved_status status,
		   uint32_t ttl)
{
	struct resolved found = { .status = status, .ttl = ttl };
	const struct address a = { .family = 4, .bytes = { 1, 1, 1, 1 } };

	if (status == RESOLVED_FOUND)
		resolved_add(&found, &a);
	r->asked[number].told(r->asked[number].context, &found);
}

/* --- stories ------------------------------------------------------------------------ */

#define STEPS_MAX 8

enum what { GET, ANSWER, TICK };

struct step {
	int64_t at; /* ms; 0: end of the story */
	enum what what;
	enum resolved_status status; /* ANSWER: of it; GET: of what is there, if not
				      * pending */
	uint32_t ttl;
	bool is_pending; /* after it */
	size_t asked;	 /* questions upstream up to now */
	int64_t due;
};

#define FOUND RESOLVED_FOUND

static const struct {
	const char *name;
	struct step steps[STEPS_MAX];
} stories[] = {
	{ "one question for all who wait, and for those who come within the TTL",
	  { { 1000, GET, 0, 0, true, 1, 11000 },
	    { 1001, GET, 0, 0, true, 1, 11000 },
	    { 1500, ANSWER, FOUND, 2, false, 1, 0 },
	    { 3499, GET, FOUND, 0, false, 1, 0 },
	    { 3500, GET, 0, 0, true, 2, 13500 } } },
	{ "an answer is good for a minute at most",
	  { { 1000, GET, 0, 0, true, 1, 11000 },
	    { 2000, ANSWER, FOUND, 86400, false, 1, 0 },
	    { 61999, GET, FOUND, 0, false, 1, 0 },
	    { 62000, GET, 0, 0, true, 2, 72000 } } },
	{ "a TTL of 0 is good for those who wait",
	  { { 1000, GET, 0, 0, true, 1, 11000 },
	    { 2000, ANSWER, FOUND, 0, false, 1, 0 },
	    { 2000, GET, 0, 0, true, 2, 12000 } } },
	{ "a name that does not exist is asked for again after a second",
	  { { 1000, GET, 0, 0, true, 1, 11000 },
	    { 1000, ANSWER, RESOLVED_NXDOMAIN, 0, false, 1, 0 },
	    { 1999, GET, RESOLVED_NXDOMAIN, 0, false, 1, 0 },
	    { 2000, GET, 0, 0, true, 2, 12000 } } },
	{ "a failure is not kept",
	  { { 1000, GET, 0, 0, true, 1, 11000 },
	    { 1000, ANSWER, RESOLVED_FAILED, 0, false, 1, 0 },
	    { 1000, GET, 0, 0, true, 2, 11000 } } },
	{ "no answer in time is a failure, and a late one is nothing",
	  { { 1000, GET, 0, 0, true, 1, 11000 },
	    { 10999, TICK, 0, 0, true, 1, 11000 },
	    { 11000, TICK, 0, 0, false, 1, 0 },
	    { 11001, ANSWER, FOUND, 60, false, 1, 0 },
	    { 11002, GET, 0, 0, true, 2, 21002 } } },
};

/* Returns the lookup that the step is about. */
static struct lookup *run(struct lookups *l, struct lookup *last, const struct step *s)
{
	lookups_tick(l, s->what == ANSWER ? s->at : l->now);
	switch (s->what) {
	case GET:
		lookups_release(last);
		last = lookups_get(l, "a.org", s->at);
		assert_non_null(last);
		if (!last->is_pending)
			assert_int_equal(last->found.status, s->status);
		break;
	case ANSWER:
		answer(l->resolver, l->resolver->count - 1, s->status, s->ttl);
		break;
	case TICK:
		lookups_tick(l, s->at);
		break;
	}
	return last;
}

static void test_stories(void **state)
{
	const struct hosts_file none = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		struct resolver r = { .count = 0 };
		struct lookups l = { .resolver = &r, .hosts = &none };
		struct lookup *x = NULL;
		for (size_t j = 0; j < STEPS_MAX && stories[i].steps[j].at; j++) {
			const struct step *s = &stories[i].steps[j];
			x = run(&l, x, s);
			if (x->is_pending != s->is_pending || r.count != s->asked ||
			    lookups_due(&l) != s->due)
				fail_msg(
					"'%s', step %zu: pending %d, asked %zu, due %lld",
					stories[i].name, j + 1, x->is_pending, r.count,
					(long long)lookups_due(&l));
		}
		lookups_done(&l);
	}
}

/* --- bounds ------------------------------------------------------------------------- */

static struct lookup *get_number(struct lookups *l, int number)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "n%d.org", number);
	return lookups_get(l, name, 1000 + number);
}

static void test_bounds(void **state)
{
	const struct hosts_file none = { 0 };
	struct resolver r = { .count = 0 };
	struct lookups l = { .resolver = &r, .hosts = &none };
	struct lookup *first = get_number(&l, 0);

	(void)state;
	for (int i = 1; i < LOOKUPS_MAX; i++)
		assert_non_null(get_number(&l, i));
	assert_null(get_number(&l, LOOKUPS_MAX));
	/* An answer makes room when all who waited have gone. */
	answer(&r, 0, RESOLVED_FOUND, 60);
	assert_true(lookups_has_news(&l));
	assert_null(get_number(&l, LOOKUPS_MAX));
	lookups_release(first);
	assert_non_null(get_number(&l, LOOKUPS_MAX));
	lookups_done(&l);
}

static void test_hosts_come_first(void **state)
{
	static const char text[] =
		"# comment 9.9.9.9 a.org\n"
		"127.0.0.1 localhost\n10.1.1.1\ta.org  A2.org. # b.org\n"
		"nonsense c.org\n::1 a.org\n1.2.3.4 bad_%name\n";
	struct hosts_file hosts;
	struct resolver r = { .count = 0 };
	struct lookups l = { .resolver = &r, .hosts = &hosts };
	struct resolved found;

	(void)state;
	hosts_file_parse(&hosts, text, strlen(text));
	struct lookup *x = lookups_get(&l, "a.org", 1000);
	assert_false(x->is_pending);
	assert_int_equal(x->found.status, RESOLVED_FOUND);
	assert_int_equal(x->found.count, 2);
	assert_int_equal(r.count, 0);
	assert_true(lookups_has_news(&l));
	assert_true(hosts_file_find(&hosts, "a2.org", &found));
	assert_false(hosts_file_find(&hosts, "b.org", &found));
	assert_false(hosts_file_find(&hosts, "c.org", &found));
	lookups_done(&l);
	hosts_file_done(&hosts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_hosts_come_first),
	};

	return cmocka_run_group_tests_name("lookups", tests, NULL, NULL);
}

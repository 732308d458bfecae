/* dialer: each row tells addresses and events with their times, and which address is
 * tried when.  The test reads no clock and never waits. */
#include "egress/dialer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/own.h"

#define STEPS_MAX 10
#define TRY	  DIALER_TRY
#define WAIT	  DIALER_WAIT
#define FAIL	  DIALER_FAILED

/* An address is "4a" or "6b": its family, and its last byte. */
static struct address parse(const char *text)
{
	struct address a = { .family = (uint8_t)(text[0] - '0') };

	a.bytes[a.family == 4 ? 3 : 15] = (uint8_t)text[1];
	return a;
}

static const char *print(const struct address *a)
{
	static char text[3];

	text[0] = (char)('0' + a->family);
	text[1] = (char)a->bytes[a->family == 4 ? 3 : 15];
	return text;
}

static size_t parse_all(const char *text, struct address *ret)
{
	size_t count = 0;

	for (; *text; text += text[2] ? 3 : 2)
		ret[count++] = parse(text);
	return count;
}

/* --- the order ---------------------------------------------------------------------- */

static const struct {
	const char *given, *order;
} orders[] = {
	{ "", "" },
	{ "4a", "4a" },
	{ "6a", "6a" },
	{ "4a 6b", "6b 4a" },
	{ "4a 4b 6c 6d", "6c 4a 6d 4b" },
	{ "4a 4b 4c 6d", "6d 4a 4b 4c" },
	{ "6a 6b 6c 4d", "6a 4d 6b 6c" },
	{ "4a 4b 4c 4d 4e 4f 4g 4h 4i 4j", "4a 4b 4c 4d 4e 4f 4g 4h" },
	{ "4a 4b 4c 4d 4e 4f 4g 4h 6i", "6i 4a 4b 4c 4d 4e 4f 4g" },
};

static void test_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		struct address given[16];
		struct dialer d;
		char order[64] = "";

		dialer_init(&d, given, parse_all(orders[i].given, given), 0);
		for (size_t j = 0; j < d.count; j++) {
			(void)strcat(order, j ? " " : "");
			(void)strcat(order, print(&d.addresses[j]));
		}
		assert_string_equal(order, orders[i].order);
	}
}

/* --- times -------------------------------------------------------------------------- */

struct step {
	int64_t at;	    /* ms; 0: end of the story */
	const char *failed; /* an address whose attempt fails first; NULL: only time
			     * passes */
	bool holds;	    /* there is no descriptor for the attempt */
	enum dialer_step does;
	const char *tries;
	int64_t due;
};

/* Each row begins at the time 1000. */
static const struct {
	const char *name, *addresses;
	struct step steps[STEPS_MAX];
} stories[] = {
	{ "no address fails at once", "", { { 1000, NULL, false, FAIL, NULL, 16000 } } },
	{ "one address has all the time",
	  "4a",
	  { { 1000, NULL, false, TRY, "4a", 16000 },
	    { 1000, NULL, false, WAIT, NULL, 16000 },
	    { 15999, NULL, false, WAIT, NULL, 16000 },
	    { 16000, NULL, false, FAIL, NULL, 16000 } } },
	{ "the next one comes 250 ms later",
	  "6a 4b",
	  { { 1000, NULL, false, TRY, "6a", 1250 },
	    { 1249, NULL, false, WAIT, NULL, 1250 },
	    { 1250, NULL, false, TRY, "4b", 16000 },
	    { 1250, NULL, false, WAIT, NULL, 16000 } } },
	{ "a failure brings the next one at once",
	  "6a 4b",
	  { { 1000, NULL, false, TRY, "6a", 1250 },
	    { 1001, "6a", false, TRY, "4b", 16000 },
	    { 1002, "4b", false, FAIL, NULL, 16000 } } },
	{ "a failure while another attempt is under way",
	  "6a 4b",
	  { { 1000, NULL, false, TRY, "6a", 1250 },
	    { 1250, NULL, false, TRY, "4b", 16000 },
	    { 1300, "4b", false, WAIT, NULL, 16000 },
	    { 1400, "6a", false, FAIL, NULL, 16000 } } },
	{ "an address that has to wait for a descriptor is not lost",
	  "6a 4b",
	  { { 1000, NULL, false, TRY, "6a", 1250 },
	    { 1250, NULL, true, TRY, "4b", 1500 },
	    { 1251, NULL, false, WAIT, NULL, 1500 },
	    { 1300, "6a", false, TRY, "4b", 16000 } } },
	{ "the time ends with addresses left",
	  "6a 4b",
	  { { 1000, NULL, true, TRY, "6a", 1250 },
	    { 16000, NULL, false, FAIL, NULL, 1250 } } },
};

static size_t find(const struct dialer *d, const char *name)
{
	size_t i = 0;

	while (i < d->count && strcmp(print(&d->addresses[i]), name) != 0)
		i++;
	assert_true(i < d->count);
	return i;
}

static void check(const char *story, size_t number, const struct step *s,
		  struct dialer *d)
{
	if (s->failed)
		dialer_failed(d, find(d, s->failed), s->at);
	enum dialer_step does = dialer_next(d, s->at);
	const char *tries = does == TRY ? print(&d->addresses[d->at]) : NULL;
	if (s->holds)
		dialer_hold(d, s->at);
	if (does != s->does || !tries != !s->tries ||
	    (tries && strcmp(tries, s->tries) != 0) || dialer_due(d) != s->due)
		fail_msg("'%s', step %zu: step %d, tries %s, due at %lld", story,
			 number + 1, (int)does, tries ? tries : "nothing",
			 (long long)dialer_due(d));
}

static void test_stories(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		struct address given[16];
		struct dialer d;

		dialer_init(&d, given, parse_all(stories[i].addresses, given), 1000);
		for (size_t j = 0; j < STEPS_MAX && stories[i].steps[j].at; j++)
			check(stories[i].name, j, &stories[i].steps[j], &d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_stories),
	};

	return cmocka_run_group_tests_name("dialer", tests, NULL, NULL);
}

/* signal_name: the numbers of signals that clients and images name. */
#include "policy/signal_name.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/own.h"

static const struct {
	const char *text;
	int found, parsed;
} rows[] = {
	{ "TERM", SIGTERM, SIGTERM },
	{ "SIGTERM", SIGTERM, SIGTERM },
	{ "SIGINT", SIGINT, SIGINT },
	{ "PWR", SIGPWR, SIGPWR },
	{ "15", 0, 15 },
	{ "64", 0, 64 },
	{ "65", 0, 0 },
	{ "0", 0, 0 },
	{ "-1", 0, 0 },
	{ "18446744073709551615", 0, 0 },
	{ "RTMIN", 0, 34 },
	{ "SIGRTMIN+3", 0, 37 },
	{ "SIGRTMIN+30", 0, 64 },
	{ "SIGRTMIN+31", 0, 0 },
	{ "SIGRTMIN3", 0, 0 },
	{ "SIGRTMIN+", 0, 0 },
	{ "SIG", 0, 0 },
	{ "", 0, 0 },
	{ "sigterm", 0, 0 },
	{ "SIGSIGTERM", 0, 0 },
	{ "TERM ", 0, 0 },
};

static void test_signals_have_numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (signal_name_find(rows[i].text) != rows[i].found)
			fail_msg("'%s' is found", rows[i].text);
		if (signal_name_parse(rows[i].text) != rows[i].parsed)
			fail_msg("'%s' is %d", rows[i].text,
				 signal_name_parse(rows[i].text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals_have_numbers),
	};

	return cmocka_run_group_tests_name("signal_name", tests, NULL, NULL);
}

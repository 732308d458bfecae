/* judge -- the cost of judging a command by many rules (policy/rules.h).
 *
 *	judge
 *
 * Prints one line: how many rules there are, and the time for one command and
 * for a line of four, in microseconds, each the middle of many.  A quarter of
 * the rules may match any program, the others each name one; no rule matches. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/err.h"
#include "base/list.h"
#include "policy/rules.h"

#define RULES  1000
#define TURNS  51
#define A_TURN 100

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* valid arguments */
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double measure(const struct rules *r, const char *command)
{
	const struct deed deed = { .action = "run",
				   .command = command,
				   .cwd = "/workspace" };
	double turns[TURNS];

	for (size_t i = 0; i < TURNS; i++) {
		double start = now_us();
		for (size_t k = 0; k < A_TURN; k++) {
			struct verdict v;
			rules_judge(r, &deed, &v);
			if (v.decision != DECISION_ALLOW)
				abort();
			verdict_done(&v);
		}
		turns[i] = (now_us() - start) / A_TURN;
	}
	qsort(turns, TURNS, sizeof(*turns), by_size);
	return turns[TURNS / 2];
}

int main(void)
{
	struct list texts = { 0 };

	for (int i = 0; i < RULES; i++)
		list_addf(
			&texts,
			i % 4 ? "{\"command\":\"program%d ** --force **\",\"decision\":\"deny\","
				"\"reason\":\"r\"}"
			      : "{\"command\":\"* verb%d **\",\"decision\":\"deny\",\"reason\":\"r\"}",
			i);
	for (size_t i = 0; i < texts.count; i++)
		if (rules_check(texts.items[i], NULL) < 0)
			return 1;
	struct rules *r = rules_new(&texts);
	(void)printf(
		"%d %.2f %.2f\n", RULES, measure(r, "git push --tags origin main"),
		measure(r,
			"cd src && git commit -m 'what it does now' && make -j2 2>&1 | tail -20"));
	rules_free(r);
	list_done(&texts);
	return 0;
}

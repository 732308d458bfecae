/* egress.h: rules for tests, from a text such as "allow a.org; deny *.b.org:80". */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/egress/egress_rules.h"

static inline struct egress_rules egress_of(const char *text)
{
	static const enum egress_verdict verdicts[] = { EGRESS_ALLOW, EGRESS_DENY,
							EGRESS_ASK };
	struct egress_rules r = { 0 };
	AUTO_FREE char *copy = text_copy(text);
	char *rest = NULL;
	struct err e = { 0 };

	for (char *one = strtok_r(copy, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
		struct egress_word word = { .from = "a test" };
		one += strspn(one, " ");
		for (size_t i = 0; i < ARRAY_LEN(verdicts); i++)
			if (!strncmp(one, egress_verdict_word(verdicts[i]), strcspn(one, " ")))
				word.verdict = verdicts[i];
		word.target = one + strcspn(one, " ") + 1;
		if (egress_rules_add(&r, &word, &e) < 0)
			fail_msg("%s: %s", one, e.text);
	}
	return r;
}

static inline struct host_name name_of(const char *text)
{
	struct host_name n = { 0 };

	if (host_name_read(&n, text, strlen(text)))
		fail_msg("'%s' is no name", text);
	return n;
}

static inline struct address address_of(const char *text)
{
	struct address a = { 0 };

	if (!address_parse(text, strlen(text), &a))
		fail_msg("'%s' is no address", text);
	return a;
}

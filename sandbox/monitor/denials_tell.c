#include <stdlib.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/seccomp/seccomp_words.h"
#include "sandbox/monitor/denials.h"

bool refused_call_is_news(const struct refused_call *c)
{
	uint64_t n = c->count;

	while (n && n % 10 == 0)
		n /= 10;
	return n == 1;
}

const char *refused_call_rule(const struct refused_call *c)
{
	return c->is_floor ? SECCOMP_THE_FLOOR : SECCOMP_THE_DEFAULT;
}

char *refused_call_remedy(const struct refused_call *c)
{
	AUTO_FREE char *question = syscall_question(c->call);

	return text_format("`%s` says by which rule, and whether something changes it",
			   question);
}

char *refused_call_members(const struct refused_call *c)
{
	AUTO_FREE char *what = syscall_text(c->call);
	AUTO_FREE char *remedy = refused_call_remedy(c);
	struct buffer b;

	json_write_begin(&b);
	json_write_text(&b, "what", what);
	json_write_text(&b, "path", NULL);
	json_write_text(&b, "layer", "seccomp");
	json_write_text(&b, "rule", refused_call_rule(c));
	json_write_text(&b, "remedy", remedy);
	json_write_format(&b, "count", "%llu", (unsigned long long)c->count);
	return json_write_end(&b);
}

char *refused_call_json(const struct refused_call *c)
{
	AUTO_FREE char *members = refused_call_members(c);

	return text_format("{%s}", members);
}

char *refused_call_sentence(const struct refused_call *c)
{
	AUTO_FREE char *what = syscall_text(c->call);
	AUTO_FREE char *times = c->count == 1 ? text_copy("")
					      : text_format(", %llu times",
							    (unsigned long long)c->count);

	return text_format("%s was refused%s (seccomp: %s)", what, times,
			   refused_call_rule(c));
}

char *denials_json(const struct denials *r)
{
	struct list all = { 0 };

	for (size_t i = 0; i < r->count; i++) {
		AUTO_FREE char *one = refused_call_json(&r->calls[i]);
		list_add(&all, one);
	}
	char *text = list_join(&all, 0, ",");
	list_done(&all);
	return text;
}

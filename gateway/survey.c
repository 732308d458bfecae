#include "gateway/survey.h"

#include <stdlib.h>

#include "base/mem.h"
#include "gateway/box.h"

struct survey {
	struct visit *visit;
	void (*answer)(struct visit *v);
	size_t waiting; /* 1 for survey_end(), and 1 for each sandbox that was asked */
};

struct survey *survey_begin(struct visit *v, void (*answer)(struct visit *v))
{
	struct survey *s = mem_zeroed(1, sizeof(*s));

	*s = (struct survey){ v, answer, 1 };
	return s;
}

void survey_end(struct survey *s)
{
	if (--s->waiting > 0)
		return;
	s->answer(s->visit);
	free(s);
}

static void on_said(void *context, struct box *b, const struct hutch_error *why)
{
	(void)b;
	(void)why; /* the answer tells the sandbox's state */
	survey_end(context);
}

void survey_add(struct survey *s, struct box *b)
{
	if (b->kind != BOX_MAIN || b->info || b->state == BOX_STARTING)
		return;
	s->waiting++;
	box_reach(b, s, on_said);
}

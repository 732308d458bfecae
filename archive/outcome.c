#include "archive/outcome.h"

#include "base/worker.h"

_Static_assert(sizeof(struct outcome) <= WORKER_RESULT_MAX,
	       "an outcome must be one result");

void outcome_wait(struct worker *w, struct outcome *ret)
{
	struct err e;

	if (worker_wait(w, ret, &e) < 0)
		*ret = (struct outcome){ .error = e };
	if (ret->error.kind != ERR_NONE)
		err_sanitize(&ret->error);
	ret->first[sizeof(ret->first) - 1] = '\0';
}

#include "gateway/e2b.h"

void code_execute(struct visit *v)
{
	e2b_fail(v, 501, "not yet");
}

void code_closed(struct visit *v)
{
	(void)v;
}

/* world -- what a user asks for, and the plan that follows from it.  Include it
 * behind cmocka.h. */
#pragma once
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "policy/policy.h"
#include "sandbox/plan/plan.h"

struct world {
	struct policy policy;
	struct plan plan;
	struct err e;
};

/* Begins with a policy that asks only for a command, and an empty plan. */
static inline void world_begin(struct world *w)
{
	*w = (struct world){ 0 };
	policy_init(&w->policy);
	plan_init(&w->plan);
	list_add(&w->policy.argv, "true");
}

static inline void world_done(struct world *w)
{
	plan_done(&w->plan);
	policy_done(&w->policy);
}

/* Returns the first step with this kind and target, or NULL. */
static inline const struct step *
world_find(const struct world *w, enum step_kind kind, const char *target)
{
	for (size_t i = 0; i < w->plan.count; i++)
		if (w->plan.steps[i].kind == kind &&
		    !strcmp(w->plan.steps[i].target, target))
			return &w->plan.steps[i];
	return NULL;
}

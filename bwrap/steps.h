/* steps -- turns the operations of a command line into the plan of a root file system. */
#pragma once

struct args;
struct err;
struct raw_plan;

/* Makes the plan, and checks that all sources exist.  The descriptors that operations name
 * then belong to the plan, so the plan is made once. */
int steps_make(const struct args *a, struct raw_plan *ret, struct err *e);

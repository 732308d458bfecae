/* launch -- makes the child in its namespaces, and waits for its end. */
#pragma once

struct args;
struct err;

/* Runs the command.  *ret_code is its exit code, or 1 where it was not started and the
 * child has printed why. */
int launch_run(struct args *a, int *ret_code, struct err *e);

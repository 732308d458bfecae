/* ps_usage -- what live sandboxes use, for a list of many of them.
 *
 * The figures are read from the cgroup that a sandbox's info names, or summed up over the
 * processes below its pid 1: to wake a thousand supervisors takes ten times as long.  A
 * supervisor is asked only if its sandbox cannot be found so, since it is in another pid
 * namespace or of an older hutch. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct row;
struct sample;

/* Fills in the samples, one for each row, and points the rows of live sandboxes to them.
 * `has_cpu` says whether the time of the processor is wanted. */
void ps_usage(struct row *rows, struct sample *samples, size_t count, bool has_cpu);

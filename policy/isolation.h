/* isolation -- which walls a sandbox has, and what those of Landlock cannot do.
 *
 * The ladder has two rungs.  `namespaces` is all that hutch has.  `landlock` is for hosts
 * that refuse user namespaces: no mount, no id map and no cgroup of the sandbox's own, so
 * whatever needs one is an error and never left out silently.  `auto` is `namespaces` or
 * an error; it steps down for nobody. */
#pragma once

struct err;
struct policy;

/* "auto", "namespaces" or "landlock"; `word` is not kept. */
int isolation_parse(struct policy *p, const char *word, struct err *e);

/* The second wall (fence.h): "auto", "on" or "off". */
int isolation_parse_landlock(struct policy *p, const char *word, struct err *e);

/* With the landlock rung: an error for the first thing that it cannot do. */
int isolation_check(const struct policy *p, struct err *e);

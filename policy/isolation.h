/* isolation -- the kinds of isolation, and the options that Landlock cannot provide.
 *
 * There are two kinds.  `namespaces` has everything that hutch can do.  `landlock` is
 * for hosts that refuse user namespaces: the sandbox has no mount, id map or cgroup
 * of its own, so an option that needs one is an error and never ignored silently.
 * `auto` means `namespaces`, or an error where they cannot be had; it never falls
 * back to `landlock`. */
#pragma once

struct err;
struct policy;

/* Parses "auto", "namespaces" or "landlock"; `word` is not kept. */
int isolation_parse(struct policy *p, const char *word, struct err *e);

/* Parses --landlock, which says whether Landlock confines a sandbox in addition to its
 * namespaces (landlock_root.h): "auto", "on" or "off". */
int isolation_parse_landlock(struct policy *p, const char *word, struct err *e);

/* Checks a policy with `landlock`: the first option that needs namespaces is an error. */
int isolation_check(const struct policy *p, struct err *e);

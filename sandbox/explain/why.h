/* why -- whether a sandbox may do something, by its plan: docs/hutch-why.md. */
#pragma once

#include <stdbool.h>

struct answer;
struct lookup;
struct plan;
struct policy;

/* The subject of a question; all borrowed, the plan is built from the
 * policy. */
struct why {
	const struct policy *policy;
	const struct plan *plan;
	const struct lookup *lookup;
};

/* Paths are paths inside; a relative one begins at the working directory. */
void why_read(const struct why *w, const char *path, struct answer *ret);
void why_write(const struct why *w, const char *path, struct answer *ret);

/* Looks for a name without a "/" on the PATH inside, as a shell does. */
void why_exec(const struct why *w, const char *command, struct answer *ret);

/* Takes "HOST:PORT", "unix:PATH" or "unix:@NAME".  -1: `where` is none of
 * these. */
int why_connect(const struct why *w, const char *where, struct answer *ret);

/* Says which part of the plan refused an action on `path` that failed with
 * `sys`.  The inside named the path, so nothing of the host is looked at, and
 * no lookup is needed.  False: the plan does not say. */
bool why_refused(const struct why *w, const char *path, int sys, struct answer *ret);

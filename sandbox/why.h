/* why -- whether a sandbox may do something, by its plan: docs/hutch-why.md. */
#pragma once

#include <stdbool.h>

struct answer;
struct lookup;
struct plan;
struct policy;

/* Of what is asked; all borrowed, the plan is built of the policy. */
struct why {
	const struct policy *policy;
	const struct plan *plan;
	const struct lookup *lookup;
};

/* Paths are of the inside; one that is relative begins at the working directory. */
void why_read(const struct why *w, const char *path, struct answer *ret);
void why_write(const struct why *w, const char *path, struct answer *ret);

/* As a command: a name without a "/" is looked for on the PATH inside. */
void why_exec(const struct why *w, const char *command, struct answer *ret);

/* "HOST:PORT", "unix:PATH" or "unix:@NAME".  -1: it is none of these. */
int why_connect(const struct why *w, const char *where, struct answer *ret);

/* What of the plan refused to do something with `path`, which the inside says of itself and
 * which failed with that errno.  Nothing of the host is looked at: without a lookup.  False:
 * the plan does not say. */
bool why_refused(const struct why *w, const char *path, int sys, struct answer *ret);

/* denial_reason -- finds out which failures of an action are due to the sandbox's
 * configuration (why.h), such as a read-only mount.
 *
 * The paths come from the sandbox, so they are only compared with the launch plan; no
 * file of the host is looked at. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "actions/observe.h"
#include "actions/stderr_denials.h"
#include "base/answer.h"

struct why;

#define DENIAL_REASON_MAX 4 /* the most reasons that are kept for one action, since a
			     * model reads no more */

/* Reasons that were found for one action. A zeroed struct has none. */
struct denial_reason {
	struct denial denials[DENIAL_REASON_MAX];
	size_t count;

	/* Owned; the texts in `denials` point into these. */
	struct answer answers[DENIAL_REASON_MAX];
	char *sentences[DENIAL_REASON_MAX];
	struct stderr_denials stderr_denials[STDERR_DENIALS_MAX];
	size_t stderr_count;
};

/* Adds the reason, if the plan has one, why the action `what` failed on `path`
 * (borrowed) with the errno `sys`. */
void denial_reason_path(struct denial_reason *h, const struct why *w, const char *what,
			const char *path, uint32_t sys);

/* Adds the reasons for failures that a command reports in its output; relative paths
 * begin at `cwd`. */
void denial_reason_output(struct denial_reason *h, const struct why *w, const char *what,
			  const void *output, size_t len, const char *cwd);

void denial_reason_tell(const struct denial_reason *h, struct observed *o);
void denial_reason_done(struct denial_reason *h);

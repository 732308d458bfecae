/* denial_reason -- tells which refusals of an action come from how the sandbox was made,
 * as far as its plan tells (why.h).  The paths come from inside; nothing of the
 * host is looked at. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "actions/observe.h"
#include "actions/stderr_denials.h"
#include "base/answer.h"

struct why;

#define DENIAL_REASON_MAX 4 /* reasons kept for one action: a model reads no more */

/* A zeroed struct is empty. */
struct denial_reason {
	struct denial denials[DENIAL_REASON_MAX];
	size_t count;

	/* Owned; the texts in `refusals` are borrowed from these. */
	struct answer answers[DENIAL_REASON_MAX];
	char *sentences[DENIAL_REASON_MAX];
	struct stderr_denials stderr_denials[STDERR_DENIALS_MAX];
	size_t stderr_count;
};

/* Notes a file action, named `what`, whose `path` (borrowed) failed with the
 * errno `sys`. */
void denial_reason_path(struct denial_reason *h, const struct why *w, const char *what,
			const char *path, uint32_t sys);

/* Notes the refusals that a command reports in its output; relative paths begin
 * at `cwd`. */
void denial_reason_output(struct denial_reason *h, const struct why *w, const char *what,
			  const void *output, size_t len, const char *cwd);

void denial_reason_tell(const struct denial_reason *h, struct observed *o);
void denial_reason_done(struct denial_reason *h);

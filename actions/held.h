/* held -- tells which refusals of an action come from how the sandbox was made,
 * as far as its plan tells (why.h).  The paths come from inside; nothing of the
 * host is looked at. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "actions/complaint.h"
#include "actions/observe.h"
#include "base/answer.h"

struct why;

#define HELD_MAX 4 /* of one action; a model reads no more */

/* A zeroed struct is empty. */
struct held {
	struct refusal refusals[HELD_MAX];
	size_t count;

	/* Owned; `refusals` borrow from these. */
	struct answer answers[HELD_MAX];
	char *sentences[HELD_MAX];
	struct complaint complaints[COMPLAINTS_MAX];
	size_t complaint_count;
};

/* Notes a file action, named `what`, whose `path` (borrowed) failed with the
 * errno `sys`. */
void held_path(struct held *h, const struct why *w, const char *what, const char *path,
	       uint32_t sys);

/* Notes the refusals that a command reports in its output; relative paths begin
 * at `cwd`. */
void held_output(struct held *h, const struct why *w, const char *what, const void *output,
		 size_t len, const char *cwd);

void held_tell(const struct held *h, struct observed *o);
void held_done(struct held *h);

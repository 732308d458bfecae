/* held -- what of an action was refused because of how the sandbox was made, as far as its
 * plan tells: why.h.  Paths are the inside's word; nothing of the host is looked at. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "policy/answer.h"
#include "sandbox/act/complaint.h"
#include "sandbox/act/observe.h"

struct why;

#define HELD_MAX 4 /* of one action; a model reads no more */

/* A zeroed one is empty. */
struct held {
	struct refusal refusals[HELD_MAX];
	size_t count;

	/* What they borrow. */
	struct answer answers[HELD_MAX];
	char *sentences[HELD_MAX];
	struct complaint complaints[COMPLAINTS_MAX];
	size_t complaint_count;
};

/* A file action, `what`, whose `path` (borrowed) failed with that errno. */
void held_path(struct held *h, const struct why *w, const char *what, const char *path,
	       uint32_t sys);

/* A command, which says so in its output; paths begin at `cwd`. */
void held_output(struct held *h, const struct why *w, const char *what, const void *output,
		 size_t len, const char *cwd);

void held_tell(const struct held *h, struct observed *o);
void held_done(struct held *h);

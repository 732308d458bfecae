/* lint -- what a linter of the rootfs says of an edit, in the process that asks it.
 *
 * It runs in a copy of the executor's memory, as whoever the edit is done for, in the
 * commands' cgroup and under the session's limits and filter, as undumpable as the
 * executor, and holds one pipe, as descriptors 0, 1 and 2 (spawn.h).  By the file's
 * ending it looks on the session's PATH for a linter, gives it the text on its stdin,
 * once as it is now and once as it was, and writes into the pipe what is to be said.
 * That is nothing where there is no linter for such files, or none that works.
 *
 * What is found is told where the text is new, and elsewhere where it was not found
 * before, with the same words in the same column.
 *
 * A linter is a program of the inside: how long it takes is for lints.h to see to; of
 * what it prints LINT_OUTPUT_MAX bytes are read and LINT_FINDINGS findings kept. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/frame.h"

struct buffer;

#define LINT_OUTPUT_MAX (256u << 10)
#define LINT_FINDINGS	100
/* What it may write into the pipe. */
#define LINT_TEXT_MAX (128u << 10)

/* What the process is given; all borrowed. */
struct lint_order {
	const char *path;      /* the file; of it only the ending counts */
	struct bytes old, new; /* its lines, as UTF-8 */
	char *const *env;      /* of the session */
};

/* Whether there may be a linter for such a file. */
bool lint_knows(const char *path);

/* Puts what is to be said where flake8 has said this of the old text and of the new. */
void lint_tell(const struct lint_order *o, struct bytes old_said, struct bytes new_said,
	       struct buffer *to);

/* Does it and exits; `order` is a struct lint_order. */
void lint_run(const void *order);

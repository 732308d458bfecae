/* lint -- runs a linter of the rootfs on an edit, in a worker process.
 *
 * The worker runs in a copy of the executor's memory, as the user of the edit, in the
 * commands' cgroup and under the session's limits and seccomp filter. Like the executor
 * it is not dumpable (prctl(2)), and holds one pipe, as descriptors 0, 1 and 2
 * (spawn.h). It chooses the linter by the file name's ending, finds it on the session's
 * PATH, and runs it with the edited text as stdin. If there are findings, it runs the
 * linter on the old text too, to tell which findings are new, and writes these into the
 * pipe. It writes nothing if there is no linter for such files, or none that works.
 *
 * A finding is reported if its line is new, or if the old text did not have the same
 * finding, with the same words in the same column.
 *
 * The linter is a program of the sandbox and not trusted: lints.h bounds its time;
 * LINT_OUTPUT_MAX bytes of its output are read, and LINT_FINDINGS findings kept. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/frame.h"

struct buffer;

#define LINT_OUTPUT_MAX (256u << 10)
#define LINT_FINDINGS	100
/* The most bytes that the worker writes into the pipe. */
#define LINT_TEXT_MAX (128u << 10)

/* The worker's input; all pointers are borrowed. */
struct lint_order {
	const char *path;      /* the file; only its ending is used */
	struct bytes old, new; /* the file's lines before and after the edit, as UTF-8 */
	char *const *env;      /* the session's environment */
};

/* Returns whether a linter is known for files with this path's ending. */
bool lint_knows(const char *path);

/* Writes the report for outputs of flake8 about the old text and the new one; for the
 * fuzzer. */
void lint_tell(const struct lint_order *o, struct bytes old_said, struct bytes new_said,
	       struct buffer *to);

/* Runs the linter, writes the report and exits; `order` is a struct lint_order. */
void lint_run(const void *order);

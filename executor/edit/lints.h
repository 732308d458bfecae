/* lints -- edits that were made, and whose answers wait for a linter.
 *
 * A worker process runs the linter (lint.h, workers.h), so no other request waits for
 * it.  The edit is answered when the worker has ended, was cancelled, or has had its
 * time, LINTS_MS.  Then the worker and the linter, which are one process group, are
 * killed.  Other processes that the linter started go on, like any process of the
 * sandbox.
 *
 * If the linter cannot be run (there are too many workers, fork(2) fails, the edit has no
 * session, or the sandbox is paused) the edit is answered at once, without findings. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"

struct editor_answer;
struct exec;
struct workers;

/* How many linters run at a time, and how long one may take. */
#define LINTS_MAX 16
#define LINTS_MS  5000

/* An edit that a linter is to check; all pointers are borrowed. */
struct lint_edit {
	const char *path;
	struct bytes old, new;
	const struct exec *exec; /* how commands of the edit's session are run */
};

/* Starts a linter, and takes over the answer, whose `lint_at` is the offset for the
 * findings. False: the linter cannot be run, and the answer is still the caller's. `now`
 * is the current time, in ms of all_processes_now(). */
bool lints_start(struct workers *s, const struct lint_edit *edit,
		 struct editor_answer *answer, int64_t now);

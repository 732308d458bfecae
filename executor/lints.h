/* lints -- edits that were made, and wait for what a linter says of them.
 *
 * The linter is asked by a process of its own (lint.h, workers.h), so nobody else waits
 * for it; the edit is answered when that has ended, was cancelled, or had its time,
 * LINTS_MS.  Then it and the linter, which are a process group, are killed.  What the
 * linter started beside that is a process of the sandbox like others.
 *
 * Where it cannot be asked (too many, no process, no session, everyone is paused) the
 * edit is answered at once, without a word of it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"

struct editor_answer;
struct exec;
struct workers;

/* At a time. */
#define LINTS_MAX 16
#define LINTS_MS  5000

/* What was edited; all borrowed. */
struct lint_edit {
	const char *path;
	struct bytes old, new;
	const struct exec *exec; /* whose: how its session is started */
};

/* Takes over the answer, of which `lint_at` says where the linter's words belong.
 * False: it cannot be asked, and the answer is still the caller's.  `now` as in
 * workers.h. */
bool lints_start(struct workers *s, const struct lint_edit *edit,
		 struct editor_answer *answer, int64_t now);

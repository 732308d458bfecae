/* lints -- edits that were made, and wait for what a linter says of them.
 *
 * The linter is asked by a process of its own (lint.h), so nobody else waits for it; the
 * edit is answered when that has ended, was cancelled, or had its time: LINTS_MS, which
 * stands still while everyone is paused. Then it and the linter, which are a process group,
 * are killed.  What the linter started beside that is a process of the sandbox like others.
 *
 * Where it cannot be asked (too many, no process, no session, everyone is paused) the
 * edit is answered at once, without a word of it.
 *
 * One turn of the executor's loop: lints_watch, poll(2) for no longer than lints_timeout,
 * lints_serve, lints_reaped for each child that is no command, lints_expire. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/frame.h"
#include "executor/editor.h"

struct everyone;
struct exec;
struct pollfd;
struct processes;
struct replies;
struct user;

/* At a time. */
#define LINTS_MAX 16
#define LINTS_MS  5000

struct lint_wait;

/* Zero but for what is borrowed. */
struct lints {
	struct lint_wait *all[LINTS_MAX]; /* owned */
	size_t count;
	struct replies *replies;     /* borrowed */
	struct processes *processes; /* borrowed; counts the descriptors */
	const struct user *user;     /* borrowed */
	const struct everyone *everyone; /* borrowed; whose time it is */
};

void lints_done(struct lints *s);

/* What was edited; all borrowed. */
struct lint_edit {
	const char *path;
	struct bytes old, new;
	const struct exec *exec; /* whose: how its session is started */
};

/* Takes over the answer, of which `lint_at` says where the linter's words belong.
 * False: it cannot be asked, and the answer is still the caller's. */
bool lints_start(struct lints *s, const struct lint_edit *edit,
		 struct editor_answer *answer);

/* True while it was not answered. */
bool lints_has(const struct lints *s, uint32_t id);
/* False: there is none of this id. */
bool lints_cancel(struct lints *s, uint32_t id);

/* At most LINTS_MAX. */
size_t lints_watch(const struct lints *s, struct pollfd *fds);
void lints_serve(struct lints *s, const struct pollfd *fds);
/* False: it was none of these. */
bool lints_reaped(struct lints *s, pid_t pid);

/* Milliseconds until something is due; -1: never.  Then lints_expire(). */
int lints_timeout(const struct lints *s);
void lints_expire(struct lints *s);

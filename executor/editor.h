/* editor -- MSG_EDIT: an agent's editor, in the words that its models know.
 *
 * docs/actions.md says what each command does and each text means; what is done to a
 * text is edit.h's, what was there before history.h's, how a file is opened and replaced
 * files.h's.  All of it is done here and now, as the command's user, and whatever goes
 * wrong is the text of the answer: only who we are afterwards can end the executor.
 * Where a linter is to be asked (EDIT_LINT), the edit is made here too, and lints.h
 * answers. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct edit_request;
struct err;
struct exec;
struct files;
struct history;
struct replies;
struct workers;

/* What is to be said. */
struct editor_answer {
	uint32_t id;
	struct buffer say, diff; /* owned */
	uint64_t cut;
	size_t lint_at; /* where in `say` the linter's words belong */
	bool is_binary; /* nothing is said but that */
};

/* The text, then the diff, then MSG_EDITED. */
void editor_answer(const struct editor_answer *a, struct replies *to);
void editor_answer_done(struct editor_answer *a);

/* What outlives an edit; all borrowed. */
struct editor {
	struct history *history;
	struct workers *workers; /* linters are asked by them */
	const struct exec *exec; /* how the session is started; NULL: there is none */
	int64_t now;		 /* as in workers.h */
};

/* -1: the executor must end, since it could not become itself again. */
int editor_edit(const struct files *f, const struct edit_request *r,
		const struct editor *to, struct err *e);

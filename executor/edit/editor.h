/* editor -- MSG_EDIT: a file editor for agents, with the commands and answers of
 * OpenHands' editor, which language models know.
 *
 * docs/actions.md describes each command and text. edit.h changes texts, undo.h
 * keeps earlier contents, files.h opens and replaces files.  The executor does all this
 * itself, as the command's user, and every failure becomes the text of the answer; the
 * executor must end only if it cannot become its own user again.  Where a linter is to
 * be asked (EDIT_LINT), the edit is made here too, and lints.h answers. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct edit_request;
struct err;
struct exec;
struct files;
struct undo;
struct send_queue;
struct workers;

/* An answer to MSG_EDIT, before it is sent. */
struct editor_answer {
	uint32_t id;
	struct buffer say, diff; /* owned */
	uint64_t cut;
	size_t lint_at; /* the offset in `say` where the linter's findings are to be
			 * put */
	bool is_binary; /* the file is binary: the answer is OUTCOME_BINARY alone,
			 * without text and diff */
};

/* Sends the text, then the diff, then MSG_EDITED. */
void editor_answer(const struct editor_answer *a, struct send_queue *to);
void editor_answer_done(struct editor_answer *a);

/* State that outlives one edit; all pointers are borrowed. */
struct editor {
	struct undo *undo;
	struct workers *workers; /* the linters' worker processes */
	const struct exec *exec; /* how the session runs commands, and so linters; NULL:
				  * there is no session */
	int64_t now;		 /* the current time, in ms of all_processes_now() */
};

/* Does one edit, and answers it. -1: the executor must end, since it could not become its
 * own user again. */
int editor_edit(const struct files *f, const struct edit_request *r,
		const struct editor *to, struct err *e);

#include "executor/edit/lints.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/edit/editor.h"
#include "executor/edit/lint.h"
#include "executor/process/all_processes.h"
#include "executor/process/workers.h"
#include "executor/terminal/text.h"
#include "protocol/message.h"

#define LATE "The linter was ended, since it took more than 5 seconds."

struct lint_wait {
	struct worker worker;
	struct editor_answer answer; /* owned, until the answer was sent */
};

static void wait_free(struct worker *w)
{
	struct lint_wait *l = (struct lint_wait *)w;

	editor_answer_done(&l->answer);
	free(l);
}

/* --- answers --------------------------------------------------------------- */

/* Sends the answer, with the linter's report inserted at `lint_at`, where OpenHands'
 * editor has it too. */
static void answer(const struct workers *s, struct editor_answer *a, struct bytes words)
{
	struct buffer whole;
	const uint8_t *say = buffer_data(&a->say);
	size_t len = buffer_len(&a->say);

	buffer_init(&whole, len + words.len + 2);
	/* the buffer was made large enough for the whole text */
	(void)buffer_append(&whole, say, a->lint_at);
	if (words.len > 0) {
		(void)buffer_append(&whole, "\n", 1);
		(void)buffer_append(&whole, words.data, words.len);
		(void)buffer_append(&whole, "\n", 1);
	}
	if (len > a->lint_at) /* `say` may be NULL, and NULL + 0 is undefined in C */
		(void)buffer_append(&whole, say + a->lint_at, len - a->lint_at);
	buffer_done(&a->say);
	a->say = whole;
	editor_answer(a, s->replies);
	editor_answer_done(a);
}

/* Answers an edit whose linter has ended. The worker's output is not trusted: the worker
 * has read a linter's output, which is hostile. */
static void answer_end(const struct workers *s, struct lint_wait *l)
{
	const struct buffer *got = &l->worker.got;
	size_t len = buffer_len(got), used;
	AUTO_FREE uint8_t *words = mem_new(3 * len + 1);

	len = len ? text_to_utf8(buffer_data(got), len, true, words, &used) : 0;
	answer(s, &l->answer, (struct bytes){ words, len });
}

/* Called when a worker has ended: answers its edit. A cancelled edit is answered, too,
 * since the file was changed. */
static void tell(const struct workers *s, struct worker *w, enum worker_end how)
{
	struct lint_wait *l = (struct lint_wait *)w;
	const char *words = how == WORKER_LATE ? LATE : "";

	if (how == WORKER_ENDED)
		return answer_end(s, l);
	answer(s, &l->answer, (struct bytes){ (const uint8_t *)words, strlen(words) });
}

/* --- start ------------------------------------------------------------------- */

static const struct worker_kind lint = {
	.tell = tell,
	.free = wait_free,
	.most = LINTS_MAX,
	.got_max = LINT_TEXT_MAX,
};

static int start(struct workers *s, struct lint_wait *l, const struct lint_edit *edit,
		 int64_t now)
{
	const struct lint_order order = { edit->path, edit->old, edit->new,
					  edit->exec->env };
	struct exec exec = *edit->exec;
	const struct worker_task task = { &exec, lint_run, &order, LINTS_MS };

	exec.flags = 0; /* the linter gets no terminal */
	exec.cwd = "/";
	return workers_start(s, &l->worker, &task, now);
}

bool lints_start(struct workers *s, const struct lint_edit *edit,
		 struct editor_answer *answer, int64_t now)
{
	if (!edit->exec || !lint_knows(edit->path) ||
	    all_processes_is_paused(s->all_processes))
		return false;
	struct lint_wait *l = mem_zeroed(1, sizeof(*l));
	l->worker.kind = &lint;
	l->worker.id = answer->id;
	if (start(s, l, edit, now) < 0) {
		wait_free(&l->worker);
		return false;
	}
	l->answer = *answer;
	*answer = (struct editor_answer){ 0 };
	return true;
}

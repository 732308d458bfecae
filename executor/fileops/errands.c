#include "executor/fileops/errands.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "executor/fileops/errand.h"
#include "executor/process/spawn.h"
#include "executor/process/workers.h"
#include "executor/wire/send_queue.h"
#include "protocol/action.h"
#include "protocol/message.h"

/* The time between SIGALRM, which asks for the results so far, and SIGKILL: it has to
 * suffice for reading a folder from a busy disk. */
#define LAST_WORDS_MS 2000

struct errand_child {
	struct worker worker;
	char *path, *cwd; /* owned */
	size_t most;	  /* the most bytes that the answer's text may have */
};

static void child_free(struct worker *w)
{
	struct errand_child *c = (struct errand_child *)w;

	free(c->path);
	free(c->cwd);
	free(c);
}

/* --- reports ----------------------------------------------------------------- */

static void say(const struct workers *s, uint32_t id, const struct returned *x,
		struct bytes text)
{
	struct reply a = { .id = id, .type = MSG_CONTENT };

	buffer_init(&a.end, SEND_QUEUE_END_MAX);
	/* cannot fail: the frame has at most three paths, for which the buffer has
	 * room */
	(void)action_put_returned(&a.end, id, x, NULL);
	a.bytes = mem_copy(text.data, text.len);
	a.len = text.len;
	send_queue_add(s->replies, &a);
}

static void say_failure(const struct workers *s, const struct errand_child *c,
			uint32_t outcome, int sys)
{
	const struct returned x = { .outcome = outcome,
				    .sys = (uint32_t)sys,
				    .path = c->path,
				    .cwd = c->cwd,
				    .stat.target = "" };

	say(s, c->worker.id, &x, (struct bytes){ 0 });
}

/* Reports an errand whose process wrote no valid result: it could not be started, its
 * time was over, or a signal ended it. */
static void say_nothing(const struct workers *s, const struct errand_child *c)
{
	struct failed failed;

	if (spawn_result(c->worker.status, &failed) == SPAWN_FAILED)
		say_failure(s, c, OUTCOME_ERROR, (int)failed.sys);
	else if (c->worker.was_asked)
		say_failure(s, c, OUTCOME_TIMED_OUT, 0);
	else
		say_failure(s, c, OUTCOME_ERROR, EINTR);
}

/* Reports the result that the process wrote before it ended. Its output is not trusted:
 * the process has read hostile files. */
static void say_end(const struct workers *s, const struct errand_child *c)
{
	const struct buffer *got = &c->worker.got;
	struct returned x;
	struct frame f;
	struct err e;

	if (frame_next(got, SEND_QUEUE_END_MAX, &f, &e) != 1 || f.type != MSG_RETURNED ||
	    f.id != c->worker.id || action_get_returned(&f, &x, &e) < 0)
		return say_nothing(s, c);
	size_t head = FRAME_HEADER + f.len, len = buffer_len(got) - head;
	len = len < c->most ? len : c->most;
	say(s, f.id, &x, (struct bytes){ buffer_data(got) + head, len });
}

static void tell(const struct workers *s, struct worker *w, enum worker_end how)
{
	const struct errand_child *c = (const struct errand_child *)w;

	if (how == WORKER_ENDED)
		return say_end(s, c);
	say_failure(s, c, how == WORKER_LATE ? OUTCOME_TIMED_OUT : OUTCOME_CANCELLED, 0);
}

/* --- start ------------------------------------------------------------------- */

static const struct worker_kind errand = {
	.tell = tell,
	.free = child_free,
	.most = ERRANDS_MAX,
	/* the most bytes that a process may write: a frame, and the longest text */
	.got_max = SEND_QUEUE_END_MAX + 2 * ERRAND_SIDE_MAX + 64,
	.last_words_ms = LAST_WORDS_MS,
};

void errands_start(struct workers *s, const struct errand_order *o,
		   void (*run)(const void *order), int64_t now)
{
	const struct errand_request *r = o->request;
	const struct exec exec = { .uid = r->place.uid, .gid = r->place.gid, .cwd = "/" };
	const struct worker_task task = { &exec, run, o, r->timeout_ms };
	struct errand_child *c = mem_zeroed(1, sizeof(*c));

	c->worker.kind = &errand;
	c->worker.id = o->id;
	c->path = text_copy(r->path);
	c->cwd = text_copy(r->place.cwd);
	c->most = action_errand_max(r->kind);
	c->worker.takes_back = r->kind == ERRAND_GIT_CLONE;
	if (workers_start(s, &c->worker, &task, now) == 0)
		return;
	say_failure(s, c, OUTCOME_ERROR, errno);
	child_free(&c->worker);
}

#include "executor/lints.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/message.h"
#include "base/own.h"
#include "executor/everyone.h"
#include "executor/lint.h"
#include "executor/processes.h"
#include "executor/spawn.h"
#include "executor/text.h"

/* Its pipe, and that of spawn.h. */
#define LINT_FDS 2

#define LATE "The linter was ended, since it took more than 5 seconds."

struct lint_wait {
	struct editor_answer answer; /* owned, while it was not given */
	pid_t pid;
	int out, status; /* owned */
	struct buffer got;
	int64_t due;	  /* in ms of everyone_now() */
	bool is_answered; /* only to be reaped still */
};

static void wait_free(struct lints *s, struct lint_wait *w)
{
	own_close(&w->out);
	own_close(&w->status);
	buffer_done(&w->got);
	editor_answer_done(&w->answer);
	free(w);
	processes_release(s->processes, LINT_FDS);
}

void lints_done(struct lints *s)
{
	for (size_t i = 0; i < s->count; i++)
		wait_free(s, s->all[i]);
	*s = (struct lints){ 0 };
}

/* --- answers --------------------------------------------------------------- */

/* Between the snippet and what stands behind it, as the reference has it. */
static void answer(struct lints *s, struct lint_wait *w, struct bytes words)
{
	struct editor_answer *a = &w->answer;
	struct buffer whole;
	const uint8_t *say = buffer_data(&a->say);
	size_t len = buffer_len(&a->say);

	buffer_init(&whole, len + words.len + 2);
	(void)buffer_append(&whole, say, a->lint_at); /* all of it fits */
	if (words.len > 0) {
		(void)buffer_append(&whole, "\n", 1);
		(void)buffer_append(&whole, words.data, words.len);
		(void)buffer_append(&whole, "\n", 1);
	}
	(void)buffer_append(&whole, say + a->lint_at, len - a->lint_at);
	buffer_done(&a->say);
	a->say = whole;
	editor_answer(a, s->replies);
	editor_answer_done(a);
	w->is_answered = true;
}

/* What it wrote is judged as if it were a stranger's: it has read what one wrote. */
static void answer_end(struct lints *s, struct lint_wait *w)
{
	size_t len = buffer_len(&w->got), used;
	AUTO_FREE uint8_t *words = mem_new(3 * len + 1);

	len = len ? text_to_utf8(buffer_data(&w->got), len, true, words, &used) : 0;
	answer(s, w, (struct bytes){ words, len });
}

/* Its group, which it may not lead yet, and itself; it is unreaped, so it exists. */
static void end(struct lint_wait *w)
{
	(void)kill(-w->pid, SIGKILL);
	(void)kill(w->pid, SIGKILL);
	own_close(&w->out);
}

static void give_up(struct lints *s, struct lint_wait *w, const char *words)
{
	end(w);
	answer(s, w, (struct bytes){ (const uint8_t *)words, strlen(words) });
}

/* --- a new one ------------------------------------------------------------- */

/* -1: it could not be made. */
static int start_process(const struct lints *s, struct lint_wait *w,
			 const struct lint_edit *edit)
{
	const struct lint_order order = { edit->path, edit->old, edit->new,
					  edit->exec->env };
	struct exec exec = *edit->exec;
	int ends[2];

	exec.flags = 0; /* no terminal */
	exec.cwd = "/";
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	w->out = ends[0];
	AUTO_CLOSE int theirs = ends[1];
	(void)fcntl(w->out, F_SETFL, O_NONBLOCK); /* valid arguments; theirs may block */
	const struct spawn how = { .exec = &exec,
				   .self = s->user,
				   .stdio = { theirs, theirs, theirs },
				   .cgroup = s->processes->cgroup.procs,
				   .instead = lint_run,
				   .what = &order };
	w->pid = spawn_command(&how, &w->status);
	return w->pid < 0 ? -1 : 0;
}

static bool may_start(const struct lints *s, const struct lint_edit *edit)
{
	return edit->exec && lint_knows(edit->path) && s->count < LINTS_MAX &&
	       !everyone_is_paused(s->everyone) &&
	       processes_reserve(s->processes, LINT_FDS);
}

bool lints_start(struct lints *s, const struct lint_edit *edit, struct editor_answer *answer)
{
	if (!may_start(s, edit))
		return false;
	struct lint_wait *w = mem_zeroed(1, sizeof(*w));
	w->out = w->status = -1;
	w->due = everyone_now(s->everyone) + LINTS_MS;
	buffer_init(&w->got, LINT_TEXT_MAX);
	if (start_process(s, w, edit) < 0) {
		wait_free(s, w);
		return false;
	}
	w->answer = *answer;
	*answer = (struct editor_answer){ 0 };
	s->all[s->count++] = w;
	return true;
}

/* --- those that are under way ---------------------------------------------- */

static struct lint_wait *find(const struct lints *s, uint32_t id)
{
	for (size_t i = 0; i < s->count; i++)
		if (!s->all[i]->is_answered && s->all[i]->answer.id == id)
			return s->all[i];
	return NULL;
}

bool lints_has(const struct lints *s, uint32_t id)
{
	return find(s, id);
}

/* The edit was made, and is answered. */
bool lints_cancel(struct lints *s, uint32_t id)
{
	struct lint_wait *w = find(s, id);

	if (w)
		give_up(s, w, "");
	return w;
}

size_t lints_watch(const struct lints *s, struct pollfd *fds)
{
	for (size_t i = 0; i < s->count; i++)
		fds[i] = (struct pollfd){ .fd = s->all[i]->out, .events = POLLIN };
	return s->count;
}

/* False when there is nothing more for now. */
static bool read_some(struct lint_wait *w)
{
	uint8_t *at = buffer_reserve(&w->got, 1);
	ssize_t n = at ? read(w->out, at, w->got.room - w->got.end) : 0;

	if (n > 0)
		buffer_added(&w->got, (size_t)n);
	if (!at) /* more than it may: it cannot be what we made */
		end(w);
	if (n == 0)
		own_close(&w->out);
	return n > 0;
}

void lints_serve(struct lints *s, const struct pollfd *fds)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i]->out >= 0 && fds[i].revents)
			(void)read_some(s->all[i]);
}

bool lints_reaped(struct lints *s, pid_t pid)
{
	for (size_t i = 0; i < s->count; i++) {
		struct lint_wait *w = s->all[i];
		if (w->pid != pid)
			continue;
		while (w->out >= 0 && read_some(w))
			;
		if (!w->is_answered)
			answer_end(s, w);
		wait_free(s, w);
		s->all[i] = s->all[--s->count];
		return true;
	}
	return false;
}

/* --- time ------------------------------------------------------------------ */

int lints_timeout(const struct lints *s)
{
	int64_t due = INT64_MAX;

	for (size_t i = 0; i < s->count; i++)
		if (!s->all[i]->is_answered && s->all[i]->due < due)
			due = s->all[i]->due;
	if (due == INT64_MAX)
		return -1;
	due -= everyone_now(s->everyone);
	if (due > 0 && everyone_is_paused(s->everyone))
		return -1; /* not before time goes on */
	return due < 0 ? 0 : (int)due;
}

void lints_expire(struct lints *s)
{
	int64_t now = s->count ? everyone_now(s->everyone) : 0;

	for (size_t i = 0; i < s->count; i++)
		if (!s->all[i]->is_answered && now >= s->all[i]->due)
			give_up(s, s->all[i], LATE);
}

#include "executor/process/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/own.h"
#include "executor/process/all_processes.h"
#include "executor/process/processes.h"
#include "executor/process/spawn.h"

/* How many descriptors of the executor a worker takes: its result pipe, and the status
 * pipe of spawn.h. */
#define WORKER_FDS 2

/* How many bytes are read at once from a worker's pipe: as many as a pipe holds. */
#define CHUNK (64u << 10)

/* Longer time-outs, in ms, count as no time-out, so that adding the present time cannot
 * overflow. */
#define TIMEOUT_MAX (UINT64_C(1) << 50)

/* Closes a worker's descriptors and frees its buffer.  The process may still exist; the
 * worker is forgotten when it was reaped. */
static void let_go(struct worker *w)
{
	own_close(&w->out);
	own_close(&w->status);
	buffer_done(&w->got);
}

static void worker_free(struct workers *s, struct worker *w)
{
	let_go(w);
	w->kind->free(w);
	processes_release(s->processes, WORKER_FDS);
}

void workers_done(struct workers *s)
{
	for (size_t i = 0; i < s->count; i++)
		worker_free(s, s->all[i]);
	*s = (struct workers){ 0 };
}

/* Kills the worker's process group, which may not exist yet, and the worker itself.  The
 * worker is not reaped yet, so its pid cannot have been reused. */
static void end(const struct worker *w)
{
	(void)kill(-w->pid, SIGKILL);
	(void)kill(w->pid, SIGKILL);
}

static void give_up(const struct workers *s, struct worker *w, enum worker_end how)
{
	end(w);
	w->kind->tell(s, w, how);
	w->is_reported = true;
	let_go(w);
}

/* --- start ------------------------------------------------------------------ */

static bool is_full(const struct workers *s, const struct worker_kind *kind)
{
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++)
		count += s->all[i]->kind == kind;
	return count >= kind->most || s->count == WORKERS_MAX;
}

static int64_t due_of(uint64_t timeout_ms, int64_t now)
{
	if (timeout_ms == 0 || timeout_ms > TIMEOUT_MAX)
		return INT64_MAX;
	return now + (int64_t)timeout_ms;
}

/* Starts the worker's process with its pipe.  Returns -1 with errno set. */
static int start_process(const struct workers *s, struct worker *w,
			 const struct worker_task *task)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	w->out = ends[0];
	AUTO_CLOSE int theirs = ends[1];
	(void)fcntl(w->out, F_SETFL, O_NONBLOCK); /* cannot fail; the worker's end of the
						   * pipe stays blocking */
	const struct spawn how = { .exec = task->exec,
				   .self = s->user,
				   .stdio = { theirs, theirs, theirs },
				   .cgroup = s->processes->cgroup.procs,
				   .instead = task->run,
				   .what = task->what };
	w->pid = spawn_command(&how, &w->status);
	if (w->pid < 0)
		own_close(&w->out);
	return w->pid < 0 ? -1 : 0;
}

int workers_start(struct workers *s, struct worker *w, const struct worker_task *task,
		  int64_t now)
{
	w->out = w->status = -1;
	w->due = due_of(task->timeout_ms, now);
	w->halt = (struct halt){ .due = now + HALT_EVERY_MS };
	buffer_init(&w->got, w->kind->got_max);
	if (is_full(s, w->kind) || !processes_reserve(s->processes, WORKER_FDS)) {
		errno = EAGAIN;
		return -1;
	}
	if (start_process(s, w, task) < 0) {
		processes_release(s->processes, WORKER_FDS);
		return -1;
	}
	s->all[s->count++] = w;
	return 0;
}

/* --- running workers --------------------------------------------------------- */

static struct worker *find(const struct workers *s, uint32_t id)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i]->id == id && !s->all[i]->is_reported)
			return s->all[i];
	return NULL;
}

bool workers_has(const struct workers *s, uint32_t id)
{
	return find(s, id);
}

/* Sends SIGALRM, which asks a worker for its results so far.  A worker that a pause has
 * stopped gets the signal when the pause ends. */
static void ask_for(const struct workers *s, struct worker *w, int64_t now)
{
	w->was_asked = true;
	w->due = now + w->kind->last_words_ms;
	(void)kill(w->pid, SIGALRM); /* the worker is not reaped yet, so its pid cannot
				      * have been reused */
	if (!all_processes_is_paused(s->all_processes))
		halt_end(w->pid);
}

bool workers_cancel(struct workers *s, uint32_t id, int64_t now)
{
	struct worker *w = find(s, id);

	if (!w)
		return false;
	w->is_cancelled = true;
	if (!w->takes_back)
		give_up(s, w, WORKER_CANCELLED);
	else if (!w->was_asked)
		ask_for(s, w, now);
	return true;
}

/* Reads once from a worker's pipe.  Returns false when there is nothing more to read for
 * now. */
static bool read_some(struct worker *w)
{
	size_t left = w->kind->got_max - buffer_len(&w->got);
	size_t len = left < CHUNK ? left : CHUNK;

	if (len == 0) { /* the worker has written more than the executor's code ever does,
			 * so its output is not trusted */
		end(w);
		own_close(&w->out);
		return false;
	}
	ssize_t n = read(w->out, buffer_reserve(&w->got, len), len);
	if (n > 0)
		buffer_added(&w->got, (size_t)n);
	if (n == 0)
		own_close(&w->out);
	return n > 0;
}

size_t workers_watch(const struct workers *s, struct pollfd *fds)
{
	for (size_t i = 0; i < s->count; i++)
		fds[i] = (struct pollfd){ .fd = s->all[i]->out, .events = POLLIN };
	return s->count;
}

/* Reads once from the pipe of each worker that has an event; further bytes are read in
 * the next turn of the loop. */
void workers_serve(struct workers *s, const struct pollfd *fds)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i]->out >= 0 && fds[i].revents)
			(void)read_some(s->all[i]);
}

bool workers_reaped(struct workers *s, pid_t pid)
{
	for (size_t i = 0; i < s->count; i++) {
		struct worker *w = s->all[i];
		if (w->pid != pid)
			continue;
		while (w->out >= 0 && read_some(w))
			;
		if (!w->is_reported)
			w->kind->tell(s, w,
				      w->is_cancelled ? WORKER_CANCELLED : WORKER_ENDED);
		worker_free(s, w);
		s->all[i] = s->all[--s->count];
		return true;
	}
	return false;
}

/* --- time ------------------------------------------------------------------ */

int64_t workers_due(const struct workers *s)
{
	int64_t due = INT64_MAX;

	for (size_t i = 0; i < s->count; i++)
		if (!s->all[i]->is_reported && s->all[i]->due < due)
			due = s->all[i]->due;
	return due;
}

enum worker_step worker_step(const struct worker *w, bool is_stopped, int64_t now)
{
	if (w->is_reported)
		return WORKER_GOES_ON;
	/* A stopped worker cannot report, so it is killed at once.  A worker that must
	 * undo its work still gets all of its time. */
	if (is_stopped && !w->takes_back && (w->was_asked || now >= w->due))
		return WORKER_IS_GIVEN_UP;
	if (now < w->due)
		return WORKER_GOES_ON;
	return w->was_asked || !w->kind->last_words_ms ? WORKER_IS_GIVEN_UP
						       : WORKER_IS_ASKED;
}

static void expire(const struct workers *s, struct worker *w, int64_t now)
{
	bool is_late = !w->is_reported && now >= w->due;

	switch (worker_step(w, is_late && halt_has(w->pid), now)) {
	case WORKER_GOES_ON:
		return;
	case WORKER_IS_ASKED:
		return ask_for(s, w, now);
	case WORKER_IS_GIVEN_UP:
		return give_up(s, w, w->is_cancelled ? WORKER_CANCELLED : WORKER_LATE);
	}
}

void workers_expire(struct workers *s, int64_t now)
{
	for (size_t i = 0; i < s->count; i++)
		expire(s, s->all[i], now);
}

/* --- stopped workers ---------------------------------------------------------- */

int64_t workers_look_due(const struct workers *s)
{
	int64_t due = INT64_MAX;

	for (size_t i = 0; i < s->count; i++)
		if (!s->all[i]->is_reported && s->all[i]->halt.due < due)
			due = s->all[i]->halt.due;
	return due;
}

static void look(const struct workers *s, struct worker *w, int64_t now)
{
	bool is_due = !w->is_reported && now >= w->halt.due;
	bool is_stopped = is_due && !all_processes_is_paused(s->all_processes) &&
			  halt_has(w->pid);

	if (!is_due || halt_step(&w->halt, is_stopped, now) == HALT_GOES_ON)
		return;
	halt_end(w->pid); /* continues the worker; it cannot be delayed for ever, since it
			   * has a deadline anyway */
	if (worker_step(w, is_stopped, now) == WORKER_IS_GIVEN_UP)
		give_up(s, w, w->is_cancelled ? WORKER_CANCELLED : WORKER_LATE);
}

void workers_look(struct workers *s, int64_t now)
{
	for (size_t i = 0; i < s->count; i++)
		look(s, s->all[i], now);
}

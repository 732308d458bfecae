#include "executor/errands.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/action.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/message.h"
#include "base/own.h"
#include "executor/errand.h"
#include "executor/everyone.h"
#include "executor/processes.h"
#include "executor/replies.h"
#include "executor/spawn.h"

/* Its pipe, and that of spawn.h. */
#define ERRAND_FDS 2

/* What a process may write: a frame and a text. */
#define GOT_MAX (REPLIES_END_MAX + ERRAND_TEXT_MAX)

/* Read at once; what a pipe holds. */
#define CHUNK (64u << 10)

/* From "tell what you have" to SIGKILL. */
#define LAST_WORDS_MS 500
/* Time-outs beyond this are none. */
#define TIMEOUT_MAX (UINT64_C(1) << 50)

struct errand_child {
	uint32_t id;
	pid_t pid;
	int out, status;   /* owned; -1 once it was told about */
	struct buffer got; /* what it has written */
	int64_t due;	   /* in ms of everyone_now(); INT64_MAX: never */
	bool was_asked;	   /* for its last words */
	bool is_told;	   /* only to be reaped still */
	char *path, *cwd;  /* owned */
};

static void child_free(struct errands *s, struct errand_child *c)
{
	own_close(&c->out);
	own_close(&c->status);
	buffer_done(&c->got);
	free(c->path);
	free(c->cwd);
	free(c);
	processes_release(s->processes, ERRAND_FDS);
}

void errands_done(struct errands *s)
{
	for (size_t i = 0; i < s->count; i++)
		child_free(s, s->all[i]);
	*s = (struct errands){ 0 };
}

/* --- what is said ------------------------------------------------------------ */

static void tell(struct errands *s, uint32_t id, const struct returned *x, struct bytes text)
{
	struct reply a = { .id = id, .type = MSG_CONTENT };

	buffer_init(&a.end, REPLIES_END_MAX);
	(void)action_put_returned(&a.end, id, x, NULL); /* fits: three paths */
	a.bytes = mem_copy(text.data, text.len);
	a.len = text.len;
	replies_add(s->replies, &a);
}

static void tell_failure(struct errands *s, const struct errand_child *c, uint32_t outcome,
			 int sys)
{
	const struct returned x = { .outcome = outcome, .sys = (uint32_t)sys, .path = c->path,
				    .cwd = c->cwd, .stat.target = "" };

	tell(s, c->id, &x, (struct bytes){ 0 });
}

/* Lets go of all but the process, which may not end at once. */
static void forget(struct errand_child *c)
{
	c->is_told = true;
	own_close(&c->out);
	own_close(&c->status);
	buffer_done(&c->got);
}

static void give_up(struct errands *s, struct errand_child *c, uint32_t outcome)
{
	(void)kill(c->pid, SIGKILL); /* it is unreaped, so it exists */
	tell_failure(s, c, outcome, 0);
	forget(c);
}

/* Nothing came of it: a step before it began failed, its time was over, or somebody
 * sent it a signal. */
static void tell_nothing(struct errands *s, const struct errand_child *c)
{
	struct failed failed;

	if (spawn_result(c->status, &failed) == SPAWN_FAILED)
		tell_failure(s, c, OUTCOME_ERROR, (int)failed.sys);
	else if (c->was_asked)
		tell_failure(s, c, OUTCOME_TIMED_OUT, 0);
	else
		tell_failure(s, c, OUTCOME_ERROR, EINTR);
}

/* It has ended.  What it wrote is judged as if it were a stranger's: it has looked at
 * hostile files. */
static void tell_end(struct errands *s, struct errand_child *c)
{
	const struct buffer *got = &c->got;
	struct returned x;
	struct frame f;
	struct err e;

	if (frame_next(got, REPLIES_END_MAX, &f, &e) != 1 || f.type != MSG_RETURNED ||
	    f.id != c->id || action_get_returned(&f, &x, &e) < 0)
		return tell_nothing(s, c);
	size_t head = FRAME_HEADER + f.len, len = buffer_len(got) - head;
	len = len < ERRAND_TEXT_MAX ? len : ERRAND_TEXT_MAX;
	tell(s, c->id, &x, (struct bytes){ buffer_data(got) + head, len });
}

/* --- a new one --------------------------------------------------------------- */

static int64_t due_of(const struct errands *s, uint64_t timeout_ms)
{
	if (timeout_ms == 0 || timeout_ms > TIMEOUT_MAX)
		return INT64_MAX;
	return everyone_now(s->everyone) + (int64_t)timeout_ms;
}

/* The process, with its pipe; -1 with errno set. */
static int start_process(const struct errands *s, struct errand_child *c,
			 const struct errand_request *r, const struct exec *as)
{
	const struct exec exec = { .uid = r->place.uid, .gid = r->place.gid, .cwd = "/" };
	const struct errand_order order = { c->id, r, as };
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	c->out = ends[0];
	AUTO_CLOSE int theirs = ends[1];
	(void)fcntl(c->out, F_SETFL, O_NONBLOCK); /* valid arguments; theirs may block */
	const struct spawn how = { .exec = &exec,
				   .self = s->user,
				   .stdio = { theirs, theirs, theirs },
				   .cgroup = s->processes->cgroup.procs,
				   .instead = s->run,
				   .what = &order };
	c->pid = spawn_command(&how, &c->status);
	return c->pid < 0 ? -1 : 0;
}

static struct errand_child *child_new(const struct errands *s, uint32_t id,
				      const struct errand_request *r)
{
	struct errand_child *c = mem_zeroed(1, sizeof(*c));

	c->id = id;
	c->out = c->status = -1;
	c->path = text_copy(r->path);
	c->cwd = text_copy(r->place.cwd);
	c->due = due_of(s, r->timeout_ms);
	buffer_init(&c->got, GOT_MAX);
	return c;
}

void errands_start(struct errands *s, uint32_t id, const struct errand_request *r,
		   const struct exec *as)
{
	const struct returned busy = { .outcome = OUTCOME_ERROR, .sys = EAGAIN,
				       .path = r->path, .cwd = r->place.cwd,
				       .stat.target = "" };

	if (s->count == ERRANDS_MAX || !processes_reserve(s->processes, ERRAND_FDS)) {
		tell(s, id, &busy, (struct bytes){ 0 });
		return;
	}
	struct errand_child *c = child_new(s, id, r);
	if (start_process(s, c, r, as) == 0) {
		s->all[s->count++] = c;
		return;
	}
	tell_failure(s, c, OUTCOME_ERROR, errno);
	child_free(s, c);
}

/* --- those that are under way -------------------------------------------------- */

static struct errand_child *find(const struct errands *s, uint32_t id)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i]->id == id && !s->all[i]->is_told)
			return s->all[i];
	return NULL;
}

bool errands_has(const struct errands *s, uint32_t id)
{
	return find(s, id);
}

bool errands_cancel(struct errands *s, uint32_t id)
{
	struct errand_child *c = find(s, id);

	if (c)
		give_up(s, c, OUTCOME_CANCELLED);
	return c;
}

/* False when there is nothing more for now. */
static bool read_some(struct errand_child *c)
{
	size_t left = GOT_MAX - buffer_len(&c->got), len = left < CHUNK ? left : CHUNK;

	if (len == 0) { /* more than it may: it cannot be what we made */
		(void)kill(c->pid, SIGKILL);
		own_close(&c->out);
		return false;
	}
	ssize_t n = read(c->out, buffer_reserve(&c->got, len), len);
	if (n > 0)
		buffer_added(&c->got, (size_t)n);
	if (n == 0)
		own_close(&c->out);
	return n > 0;
}

size_t errands_watch(struct errands *s, struct pollfd *fds)
{
	for (size_t i = 0; i < s->count; i++)
		fds[i] = (struct pollfd){ .fd = s->all[i]->out, .events = POLLIN };
	return s->count;
}

/* Once each: what is more comes with the next turn. */
void errands_serve(struct errands *s, const struct pollfd *fds)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i]->out >= 0 && fds[i].revents)
			(void)read_some(s->all[i]);
}

bool errands_reaped(struct errands *s, pid_t pid)
{
	for (size_t i = 0; i < s->count; i++) {
		struct errand_child *c = s->all[i];
		if (c->pid != pid)
			continue;
		while (c->out >= 0 && read_some(c))
			;
		if (!c->is_told)
			tell_end(s, c);
		child_free(s, c);
		s->all[i] = s->all[--s->count];
		return true;
	}
	return false;
}

/* --- time ---------------------------------------------------------------------- */

int errands_timeout(const struct errands *s)
{
	int64_t due = INT64_MAX;

	for (size_t i = 0; i < s->count; i++)
		if (!s->all[i]->is_told && s->all[i]->due < due)
			due = s->all[i]->due;
	if (due == INT64_MAX)
		return -1;
	due -= everyone_now(s->everyone);
	if (due > 0 && everyone_is_paused(s->everyone))
		return -1; /* not before time goes on */
	return due < 0 ? 0 : due > INT_MAX ? INT_MAX : (int)due;
}

void errands_expire(struct errands *s)
{
	int64_t now = s->count ? everyone_now(s->everyone) : 0;

	for (size_t i = 0; i < s->count; i++) {
		struct errand_child *c = s->all[i];
		if (c->is_told || now < c->due)
			continue;
		if (c->was_asked) {
			give_up(s, c, OUTCOME_TIMED_OUT);
			continue;
		}
		c->was_asked = true;
		c->due = now + LAST_WORDS_MS;
		(void)kill(c->pid, SIGALRM); /* it is unreaped, so it exists */
	}
}

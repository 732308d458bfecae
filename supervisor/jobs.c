#include "supervisor/jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/mem.h"
#include "base/own.h"
#include "protocol/action.h"
#include "sandbox/launch/instance.h"
#include "supervisor/capture.h"

/* The time in ms between SIGHUP and SIGKILL for a job whose client has disconnected. */
#define GRACE_MS 10000
/* The time limit in ms for looking up a user in the sandbox's files.  If a file system
 * does not answer, only the process that needs the user is delayed. */
#define LOOK_UP_MS 10000

void job_free(struct job *j)
{
	connection_fds_done(&j->fds);
	capture_free(j->capture);
	list_done(&j->argv);
	list_done(&j->env);
	free(j->cwd);
	free(j->user);
	buffer_done(&j->found);
	free(j->request);
	free(j);
}

static void waiter_free(struct waiter *w)
{
	free(w->request);
	free(w);
}

void jobs_done(struct jobs *js)
{
	for (struct job *j = js->first, *next; j; j = next) {
		next = j->next;
		job_free(j);
	}
	for (struct waiter *w = js->waiters, *next; w; w = next) {
		next = w->next;
		waiter_free(w);
	}
	*js = (struct jobs){ 0 };
}

/* Looks at the busy jobs first, since all messages of the executor are about these. */
struct job *jobs_find(const struct jobs *js, uint32_t id)
{
	if (id > js->highest)
		return NULL;
	for (struct job *j = js->busy; j; j = j->next_busy)
		if (j->id == id)
			return j;
	for (struct job *j = js->first; j; j = j->next)
		if (j->id == id)
			return j;
	return NULL;
}

/* Does nothing if the job is not busy. */
static void unlink_busy(struct jobs *js, const struct job *j)
{
	struct job **at = &js->busy, *before = NULL;

	while (*at && *at != j) {
		before = *at;
		at = &before->next_busy;
	}
	if (!*at)
		return;
	*at = j->next_busy;
	if (js->last_busy == j)
		js->last_busy = before;
}

void jobs_rest(struct jobs *js, struct job *j)
{
	unlink_busy(js, j);
	j->owner = NULL;
}

static void gone(struct jobs *js, struct job *j)
{
	if (js->on_gone)
		js->on_gone(js->context, j);
}

static void take_out(struct jobs *js, struct job *j)
{
	struct job **at = &js->first, *before = NULL;

	while (*at != j) {
		before = *at;
		at = &before->next;
	}
	*at = j->next;
	if (js->last == j)
		js->last = before;
	unlink_busy(js, j);
	if (js->passing == j)
		js->passing = NULL;
	gone(js, j);
	job_free(j);
}

int jobs_add(struct jobs *js, struct job *j, struct err *e)
{
	if (js->alive == JOBS_MAX)
		return err_set(e, ERR_LIMIT, "%d processes run already", JOBS_MAX);
	j->state = j->user ? JOB_NAMED : JOB_WAITING;
	if (js->last)
		js->last->next = j;
	else
		js->first = j;
	js->last = j;
	if (js->last_busy)
		js->last_busy->next_busy = j;
	else
		js->busy = j;
	js->last_busy = j;
	if (j->id > js->highest)
		js->highest = j->id;
	js->alive++;
	return 0;
}

/* --- requests ------------------------------------------------------------- */

static void send_signal(struct jobs *js, const struct job *j, int signo)
{
	struct err e;

	if (j->state == JOB_ASKED || j->state == JOB_RUNNING)
		if (channel_send_signal(&js->instance->channel, j->id, (uint32_t)signo,
					&e) < 0)
			instance_broke_protocol(js->instance, &e);
}

static void send_end(struct jobs *js, const struct job *j)
{
	struct err e;

	if (j->state == JOB_ASKED || j->state == JOB_RUNNING)
		if (channel_send_end(&js->instance->channel, j->id, &e) < 0)
			instance_broke_protocol(js->instance, &e);
}

/* Refuses a job whose request the channel cannot send.  Either arguments and
 * environment are too long for a frame, which is the client's fault; execve(2), too,
 * would answer E2BIG.  Or programs of this user have too many descriptors in flight
 * over unix sockets (ETOOMANYREFS, unix(7)); that is temporary, and no reason to end
 * the sandbox. */
static void refuse(struct jobs *js, struct job *j, int sys)
{
	const struct failed failed = {
		.stage = sys == ETOOMANYREFS ? EXEC_STAGE_FORK : EXEC_STAGE_EXECVE,
		.sys = sys == ETOOMANYREFS ? ETOOMANYREFS : E2BIG,
	};

	js->on_failed(js->context, j, &failed);
	js->alive--;
	take_out(js, j);
}

/* Sends the request to start one job.  Its descriptors are sent with the first byte
 * that is written after them, so the channel must be empty (channel.h); they must stay
 * open here until the kernel has passed them on. */
static void send_one(struct jobs *js, struct job *j, int64_t now)
{
	struct err e;

	j->state = JOB_ASKED;
	js->passing = j;
	if (j->timeout_ms) {
		j->deadline_ms = now + (int64_t)j->timeout_ms;
		j->exec.flags |= EXEC_TREE;
	}
	if (channel_send_exec(&js->instance->channel, j->id, &j->exec, j->fds.fds, &e) ==
	    0)
		return;
	if (e.kind == ERR_LIMIT)
		refuse(js, j, e.sys);
	else
		instance_broke_protocol(js->instance, &e);
}

/* The most users that are looked up at the same time.  Pid 1 accepts 16 errands
 * (executor/fileops/errands.h); up to 8 come from the dispatcher. */
#define LOOK_UPS_MAX 8

static size_t looked_up(const struct jobs *js)
{
	size_t count = 0;

	for (const struct job *j = js->busy; j; j = j->next_busy)
		count += j->state == JOB_LOOKED_UP;
	return count;
}

/* Sends the executor an errand that looks up a job's user.  The errand runs as root of
 * the sandbox if root is mapped, but only reads two files. */
static void look_up(struct jobs *js, struct job *j)
{
	AUTO_FREE char *name = text_copy(j->user);
	char *group = strchr(name, ':');
	struct err e;

	if (group)
		*group++ = '\0';
	const struct errand_request r = {
		.place = { j->exec.uid, j->exec.gid, "/" },
		.kind = ERRAND_ACCOUNT,
		.timeout_ms = LOOK_UP_MS,
		.path = "/etc",
		.other = name,
		.include = group ? group : "",
	};
	buffer_init(&j->found, ERRAND_ACCOUNT_MAX);
	j->state = JOB_LOOKED_UP;
	if (action_put_errand(&js->instance->channel.out, j->id, &r, &e) < 0 ||
	    channel_flush(&js->instance->channel, &e) < 0)
		instance_broke_protocol(js->instance, &e);
}

static bool is_free(const struct jobs *js)
{
	const struct channel *c = &js->instance->channel;

	return !instance_is_over(js->instance) && !js->is_closed && !js->paused_ms &&
	       channel_has_passed(c) && buffer_len(&c->out) == 0;
}

void jobs_send(struct jobs *js, int64_t now)
{
	if (js->passing && channel_has_passed(&js->instance->channel)) {
		connection_fds_done(&js->passing->fds);
		js->passing = NULL;
	}
	for (struct job *j = js->busy, *next; j && is_free(js); j = next) {
		next = j->next_busy;
		if (j->state == JOB_NAMED && looked_up(js) < LOOK_UPS_MAX)
			look_up(js, j);
		if (j->state != JOB_WAITING)
			continue;
		send_one(js, j, now);
		if (js->passing && channel_has_passed(&js->instance->channel))
			connection_fds_done(&js->passing->fds), js->passing = NULL;
	}
}

/* --- frames --------------------------------------------------------------- */

static int untimely(const struct frame *f, struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "it sent '%s' about process %u at the wrong time",
		       message_name(f->type), f->id);
}

/* Answers the waiter at *at; if may_tell() forbids that, jobs_tell() answers it later.
 * Returns the address of the pointer to the next waiter. */
static struct waiter **tell_waiter(struct jobs *js, struct waiter **at,
				   const struct job *j)
{
	struct waiter *w = *at;

	if (js->may_tell && !js->may_tell(js->context, w->client, j)) {
		js->held += !w->is_held;
		w->is_held = true;
		return &w->next;
	}
	*at = w->next;
	js->held -= w->is_held;
	js->on_waited(js->context, w, j);
	waiter_free(w);
	return at;
}

static void tell_waiters(struct jobs *js, const struct job *j)
{
	for (struct waiter **at = &js->waiters; *at;)
		at = (*at)->job == j->id ? tell_waiter(js, at, j) : &(*at)->next;
}

bool jobs_tell(struct jobs *js, const struct client *c)
{
	size_t held = js->held;

	if (held == 0)
		return false;
	for (struct waiter **at = &js->waiters; *at;)
		if ((*at)->client == c && (*at)->is_held)
			at = tell_waiter(js, at, jobs_find(js, (*at)->job));
		else
			at = &(*at)->next;
	return js->held != held;
}

/* Removes the job that ended first of those that are remembered. */
static void forget(struct jobs *js)
{
	struct job *j = js->first;

	while (j && j->state != JOB_ENDED)
		j = j->next;
	if (!j)
		return;
	js->ended--;
	gone(js, j);
	tell_waiters(js, j); /* after on_gone(), may_tell() no longer holds a waiter
			      * back */
	take_out(js, j);
}

/* Returns whether the request to start the job has been sent.  An answer of the
 * executor before that breaks the protocol.  The job's descriptors stay open until
 * then, since another file could get a closed number and would be passed instead. */
static bool is_asked(const struct jobs *js, const struct job *j)
{
	return j->state == JOB_ASKED &&
	       (js->passing != j || channel_has_passed(&js->instance->channel));
}

static int on_started(struct jobs *js, struct job *j, const struct frame *f,
		      struct err *e)
{
	if (!is_asked(js, j))
		return untimely(f, e);
	if (message_get_started(f, &j->pid, e) < 0)
		return -1;
	j->state = JOB_RUNNING;
	js->on_started(js->context, j);
	return 1;
}

static int on_failed(struct jobs *js, struct job *j, const struct frame *f, struct err *e)
{
	struct failed failed;

	if (!is_asked(js, j))
		return untimely(f, e);
	if (message_get_failed(f, &failed, e) < 0)
		return -1;
	js->on_failed(js->context, j, &failed);
	js->alive--;
	take_out(js, j);
	return 1;
}

static int on_exited(struct jobs *js, struct job *j, const struct frame *f, struct err *e)
{
	if (j->state != JOB_RUNNING)
		return untimely(f, e);
	if (message_get_exited(f, &j->exited, e) < 0)
		return -1;
	j->state = JOB_ENDED;
	j->deadline_ms = j->kill_ms = 0;
	js->alive--;
	js->on_ended(js->context, j);
	tell_waiters(js, j);
	if (++js->ended > JOBS_REMEMBERED)
		forget(js);
	return 1;
}

static int on_content(struct job *j, const struct frame *f, struct err *e)
{
	struct bytes text;

	if (j->state != JOB_LOOKED_UP)
		return untimely(f, e);
	if (action_get_text(f, &text, e) < 0)
		return -1;
	return buffer_append(&j->found, text.data, text.len)
		       ? 1
		       : err_set(e, ERR_PROTOCOL,
				 "it sent more of an account than one has");
}

/* Handles the result of a look-up.  If the job's client has disconnected meanwhile, the
 * job is dropped without an answer. */
static int on_returned(struct jobs *js, struct job *j, const struct frame *f,
		       struct err *e)
{
	struct returned x;

	if (j->state != JOB_LOOKED_UP)
		return untimely(f, e);
	if (action_get_returned(f, &x, e) < 0)
		return -1;
	if (j->owner && js->on_looked_up(js->context, j, &x)) {
		j->state = JOB_WAITING;
		return 1;
	}
	js->alive--;
	take_out(js, j);
	return 1;
}

int jobs_frame(struct jobs *js, const struct frame *f, struct err *e)
{
	struct job *j = jobs_find(js, f->id);

	if (!j || f->id == 0)
		return 0;
	switch (f->type) {
	case MSG_STARTED:
		return on_started(js, j, f, e);
	case MSG_FAILED:
		return on_failed(js, j, f, e);
	case MSG_EXITED:
		return on_exited(js, j, f, e);
	case MSG_CONTENT:
		return on_content(j, f, e);
	case MSG_RETURNED:
		return on_returned(js, j, f, e);
	default:
		return untimely(f, e);
	}
}

/* --- clients -------------------------------------------------------------- */

int jobs_wait(struct jobs *js, uint32_t id, struct client *c, char *request,
	      struct err *e)
{
	struct job *j = jobs_find(js, id);
	struct waiter *w;

	if (!j)
		return err_set(e, ERR_NOT_FOUND, "no process %u", id);
	w = mem_zeroed(1, sizeof(*w));
	*w = (struct waiter){
		.client = c, .request = request, .job = id, .next = js->waiters
	};
	js->waiters = w;
	if (j->state == JOB_ENDED)
		tell_waiters(js, j);
	return 0;
}

static void drop_waiters(struct jobs *js, const struct client *c)
{
	for (struct waiter **at = &js->waiters; *at;) {
		struct waiter *w = *at;
		if (w->client == c) {
			*at = w->next;
			js->held -= w->is_held;
			waiter_free(w);
		} else {
			at = &w->next;
		}
	}
}

void jobs_leave(struct jobs *js, const struct client *c, int64_t now)
{
	/* During a pause the grace begins at the pause's beginning: jobs_resume() adds
	 * the length of the pause to it, so that the job gets the whole grace. */
	const int64_t from = js->paused_ms ? js->paused_ms : now;

	drop_waiters(js, c);
	for (struct job *j = js->busy, *next; j; j = next) {
		next = j->next_busy;
		if (j->owner != c)
			continue;
		j->owner = NULL;
		js->owed -= j->owes_event;
		j->owes_event = false;
		if (j->is_detached || j->state == JOB_ENDED)
			continue;
		if (j->state == JOB_NAMED || j->state == JOB_WAITING) {
			js->alive--;
			take_out(js, j);
			continue;
		}
		send_signal(js, j, SIGHUP);
		j->kill_ms = from + GRACE_MS;
	}
}

int64_t jobs_due(const struct jobs *js)
{
	int64_t due = 0;

	for (const struct job *j = js->busy; j && !js->paused_ms; j = j->next_busy)
		due = clock_sooner(due, clock_sooner(j->deadline_ms, j->kill_ms));
	return due;
}

void jobs_pause(struct jobs *js, int64_t now)
{
	js->paused_ms = now;
}

void jobs_resume(struct jobs *js, int64_t now)
{
	int64_t ms = now - js->paused_ms;

	js->paused_ms = 0;
	for (struct job *j = js->busy; j; j = j->next_busy) {
		j->deadline_ms += j->deadline_ms ? ms : 0;
		j->kill_ms += j->kill_ms ? ms : 0;
	}
}

void jobs_expire(struct jobs *js, int64_t now)
{
	for (struct job *j = js->busy; j && !js->paused_ms; j = j->next_busy) {
		bool is_late = clock_is_due(j->deadline_ms, now);
		if (!is_late && !clock_is_due(j->kill_ms, now))
			continue;
		j->has_timed_out = is_late;
		j->deadline_ms = j->kill_ms = 0;
		send_end(js, j);
	}
}

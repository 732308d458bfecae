#include "sandbox/control/still.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/mem.h"
#include "base/message.h"
#include "base/own.h"
#include "base/pass.h"
#include "base/quote.h"
#include "policy/policy.h"
#include "sandbox/cgroup.h"
#include "sandbox/control/records.h"
#include "sandbox/control/rpc.h"
#include "sandbox/control/supervisor.h"
#include "sandbox/launch.h"
#include "sandbox/result.h"

/* Who is in the middle of something uninterruptible, a dead NFS say, keeps a reader
 * waiting no longer than this. */
#define STAND_MS 5000

void still_init(struct still *t)
{
	*t = (struct still){ .to = -1, .events = -1 };
}

static void stop_waiting(struct still *t)
{
	own_free(&t->request);
	own_close(&t->to);
	own_close(&t->events);
	t->due_ms = 0;
}

void still_done(struct still *t)
{
	stop_waiting(t);
	t->reader = NULL;
}

/* --- paused, and no longer ------------------------------------------------------ */

static bool has_cgroup(const struct supervisor *s)
{
	return s->launch->cgroup.procs >= 0;
}

static void hold(struct supervisor *s, bool is_held)
{
	struct err e;

	if (channel_send_hold(&s->guest.channel, is_held, &e) < 0)
		guest_broke_protocol(&s->guest, &e);
}

/* The executor, which is not in that cgroup, holds its clocks before anybody stands
 * still and until all go on. */
static int freeze(struct supervisor *s, bool is_frozen, struct err *e)
{
	if (is_frozen)
		hold(s, true);
	int done = cgroup_freeze(&s->launch->cgroup, is_frozen, e);
	if (is_frozen != (done == 0))
		hold(s, false);
	return done;
}

static void send_all(struct supervisor *s, int signo)
{
	struct err e;

	if (channel_send_signal(&s->guest.channel, 0, (uint32_t)signo, &e) < 0)
		guest_broke_protocol(&s->guest, &e);
	s->still.asked += signo == SIGSTOP;
}

static void let_time_go_on(struct supervisor *s)
{
	desk_postpone(&s->desk, s->now_ms - s->still.since_ms);
	jobs_resume(&s->jobs, s->now_ms);
}

static int set_paused(struct supervisor *s, bool is_paused, struct err *e)
{
	if (has_cgroup(s) && freeze(s, is_paused, e) < 0)
		return -1;
	if (!has_cgroup(s))
		send_all(s, is_paused ? SIGSTOP : SIGCONT);
	if (is_paused) {
		s->still.since_ms = s->now_ms;
		jobs_pause(&s->jobs, s->now_ms);
	} else {
		let_time_go_on(s);
	}
	supervisor_set_status(s, is_paused ? REGISTRY_PAUSED : REGISTRY_READY);
	return 0;
}

/* Before it is ready pid 1 may not know of it yet, and whoever made it would be told too
 * late, or never. */
static int check_state(const struct supervisor *s, struct err *e)
{
	if (!s->is_stopping && s->status != REGISTRY_STARTED)
		return 0;
	return err_set(e, ERR_BUSY, "the sandbox is %s",
		       s->is_stopping ? "stopping" : "not ready yet");
}

int still_pause(struct supervisor *s, struct err *e)
{
	if (check_state(s, e) < 0)
		return -1;
	if (s->status != REGISTRY_PAUSED)
		return set_paused(s, true, e);
	if (!s->still.is_for_reader)
		return err_set(e, ERR_USAGE, "the sandbox is paused already");
	s->still.is_for_reader = false; /* and it stays so */
	return 0;
}

/* A reader that waits is told; one that reads finds files that change. */
static void drop_reader(struct supervisor *s, const char *why)
{
	struct still *t = &s->still;
	struct err e;

	if (t->request) {
		(void)err_set(&e, ERR_BUSY, "%s", why);
		client_error(t->reader, t->request, RPC_FAILED, &e);
		t->reader->under_way--;
	}
	still_done(t);
	t->is_for_reader = false;
}

static int refuse_unprotected(const struct err *lost, struct err *e)
{
	(void)err_set(e, ERR_REFUSED, "%.600s, where nothing can be mounted from outside",
		      lost->text);
	return err_remedy(e, "make another sandbox; or, if the inside may write to it, hutch "
			     "unpause --force");
}

int still_unpause(struct supervisor *s, bool is_forced, struct err *e)
{
	if (s->status != REGISTRY_PAUSED)
		return err_set(e, ERR_USAGE, "the sandbox is not paused");
	if (s->still.lost.kind != ERR_NONE && !is_forced)
		return refuse_unprotected(&s->still.lost, e);
	drop_reader(s, "somebody has unpaused the sandbox");
	if (set_paused(s, false, e) < 0)
		return -1;
	if (s->still.lost.kind != ERR_NONE)
		sentry_give_up(&s->launch->sentry);
	s->still.lost.kind = ERR_NONE;
	return 0;
}

/* Everybody is stopped before anybody is told. */
void still_unprotected(void *supervisor, const struct err *why)
{
	struct supervisor *s = supervisor;
	AUTO_FREE char *message = quote_json(why->text);
	AUTO_FREE char *more = text_format("\"message\":%s", message);
	bool was_paused = s->status == REGISTRY_PAUSED;
	struct err e;

	s->still.lost = *why;
	s->still.is_for_reader = false;
	/* Not ready yet, or about to stop, it has no state to wait in. */
	if (!was_paused && (check_state(s, &e) < 0 || set_paused(s, true, &e) < 0))
		supervisor_end(s, "error", EXIT_HUTCH, NULL, why);
	guest_flush(&s->guest);
	supervisor_event(s, "unprotected", more);
	records_unprotected(s, why);
}

void still_end(struct supervisor *s)
{
	drop_reader(s, "the sandbox is stopping");
	if (s->status != REGISTRY_PAUSED)
		return;
	let_time_go_on(s);
	if (has_cgroup(s)) /* if it fails: they are killed in the end */
		(void)cgroup_freeze(&s->launch->cgroup, false, NULL);
}

/* --- a reader ------------------------------------------------------------------- */

static int wait_for_all(struct supervisor *s, struct err *e)
{
	struct still *t = &s->still;

	t->due_ms = s->now_ms + STAND_MS;
	if (!has_cgroup(s))
		return 0;
	t->events = cgroup_events(&s->launch->cgroup, e);
	return t->events < 0 ? -1 : 0;
}

int still_begin(struct supervisor *s, struct client *reader, char *request, int to,
		struct err *e)
{
	struct still *t = &s->still;
	bool was_paused = s->status == REGISTRY_PAUSED;

	if (t->reader)
		return err_set(e, ERR_BUSY, "another client takes a snapshot");
	if (check_state(s, e) < 0 || wait_for_all(s, e) < 0 ||
	    (!was_paused && set_paused(s, true, e) < 0)) {
		stop_waiting(t);
		return -1;
	}
	t->is_for_reader = !was_paused;
	t->reader = reader;
	t->request = request;
	t->to = to;
	reader->under_way++;
	return 0;
}

static void let_go(struct supervisor *s)
{
	struct err e;

	still_done(&s->still);
	/* If it fails it says so as its status, and whoever wonders may unpause it. */
	if (s->still.is_for_reader && s->status == REGISTRY_PAUSED)
		(void)set_paused(s, false, &e);
	s->still.is_for_reader = false;
}

void still_leave(struct supervisor *s, const struct client *c)
{
	if (s->still.reader == c)
		let_go(s);
}

int still_frame(struct supervisor *s, const struct frame *f, struct err *e)
{
	struct still *t = &s->still;
	uint32_t number;

	if (message_get_paused(f, &number, e) < 0)
		return -1;
	if (number <= t->stopped || number > t->asked)
		return err_set(e, ERR_PROTOCOL, "it stopped everybody for the %uth time",
			       number);
	t->stopped = number;
	return 0;
}

static int all_stand(const struct supervisor *s, struct err *e)
{
	if (has_cgroup(s))
		return cgroup_is_frozen(s->still.events, e);
	return s->still.stopped == s->still.asked;
}

static void answer(struct supervisor *s, int stand, struct err *e)
{
	struct still *t = &s->still;
	AUTO_FREE char *over = still_over(s);

	t->reader->under_way--;
	if (stand > 0 && still_give(s, t->to, e) == 0) {
		client_result(t->reader, t->request, over);
		stop_waiting(t);
		return;
	}
	client_error(t->reader, t->request, RPC_FAILED, e);
	let_go(s);
}

void still_look(struct supervisor *s)
{
	struct still *t = &s->still;
	struct err e;

	if (!t->request)
		return;
	int stand = all_stand(s, &e);
	if (stand == 0 && !clock_is_due(t->due_ms, s->now_ms))
		return;
	if (stand == 0)
		(void)err_set(&e, ERR_BUSY, "not everybody inside stood still within %d s",
			      STAND_MS / 1000);
	answer(s, stand, &e);
}

void still_watch(const struct still *t, struct pollfd *w)
{
	*w = (struct pollfd){ .fd = t->events, .events = POLLPRI };
}

/* --- what was written --------------------------------------------------------- */

int still_give(const struct supervisor *s, int to, struct err *e)
{
	if (pass_send(to, "", 1, &s->launch->sandbox.upper, 1) == 1)
		return 0;
	return err_sys(e, "send the folder over the descriptor beside the request");
}

static void add_quoted(FILE *to, const char *before, const char *text)
{
	AUTO_FREE char *quoted = quote_json(text);

	(void)fprintf(to, "%s%s", before, quoted); /* in memory */
}

char *still_over(const struct supervisor *s)
{
	const struct policy *p = s->launch->policy;
	const struct stock *stock = &s->launch->stock;
	const struct plan *plan = &s->launch->plan;
	bool is_stock = p->image == IMAGE_STORE;
	char *text = NULL;
	size_t len;
	FILE *to = mem_or_abort(open_memstream(&text, &len));

	add_quoted(to, "{\"image\":", is_stock ? stock->name : NULL);
	add_quoted(to, ",\"digest\":", is_stock ? stock->image.hex : NULL);
	AUTO_FREE char *ids = plan->has_ranges ? idmaps_print(&plan->ids) : NULL;
	add_quoted(to, ",\"ids\":", ids);
	(void)fprintf(to, ",\"lowers\":[");
	if (!is_stock)
		add_quoted(to, "", p->image_path);
	for (size_t i = 0; i < stock->lowers.count; i++)
		add_quoted(to, i ? "," : "", stock->lowers.items[i]);
	(void)fprintf(to, "]}");
	return mem_or_abort(fclose(to) == 0 ? text : NULL);
}

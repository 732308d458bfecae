#include "sandbox/launch/guest.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/own.h"
#include "protocol/message.h"
#include "sandbox/cgroup/watchdog.h"
#include "sandbox/launch/ports.h"
#include "sandbox/launch/spawn.h"
#include "sandbox/monitor/sentry.h"

/* How long an executor may go on after closing its channel. */
#define CLOSED_MS 2000

/* How long the end of a process takes that has closed its descriptors. */
#define SERVER_END_MS 2000

void guest_init(struct guest *g, int64_t now)
{
	channel_init(&g->channel, g->sandbox->channel);
	if (g->watched_memory)
		g->look_ms = now + WATCHDOG_MS;
}

void guest_done(struct guest *g)
{
	channel_done(&g->channel);
}

/* --- its end -------------------------------------------------------------- */

static void end(struct guest *g, enum guest_cause cause, const struct err *e)
{
	if (g->cause == GUEST_RUNS) {
		g->cause = cause;
		if (e)
			g->error = *e;
	}
	if (g->sandbox->pid > 0)
		(void)kill(g->sandbox->pid, SIGKILL); /* not reaped: still ours */
	/* A server that is stopped would hold processes that wait for its
	 * answer in the kernel. */
	fuse_kill(&g->sandbox->fuse);
	if (g->state < GUEST_ENDING)
		g->state = GUEST_ENDING;
}

void guest_end(struct guest *g)
{
	end(g, GUEST_ENDED, NULL);
}

void guest_broke_protocol(struct guest *g, struct err *e)
{
	(void)err_in(e, "the sandbox's executor broke the protocol and was ended");
	end(g, GUEST_BROKE_PROTOCOL, e);
}

static bool has_ended(const struct fuse *f)
{
	struct pollfd p = { .fd = f->pidfd, .events = POLLIN };

	return f->pid > 0 && poll(&p, 1, SERVER_END_MS) == 1;
}

/* The set-up fails with these errors when the server is gone; the server's own
 * error says more. */
static void explain_server(struct guest *g, struct err *cause)
{
	bool is_about = cause->sys == ENOTCONN || cause->sys == ECONNABORTED ||
			cause->sys == EPIPE || cause->sys == ECONNRESET;

	if (is_about && has_ended(&g->sandbox->fuse))
		(void)fuse_has_failed(&g->sandbox->fuse, cause);
}

/* If the server has not failed, the mount is gone, and so is pid 1, or will be. */
static void on_server_end(struct guest *g)
{
	struct err e;

	if (fuse_has_failed(&g->sandbox->fuse, &e))
		end(g, GUEST_LOST_ROOT, &e);
	else if (g->sandbox->pid > 0)
		(void)kill(g->sandbox->pid, SIGKILL); /* not reaped: still ours */
}

/* Reads the child's err, or the end of its socket, which a successful execveat
 * closes. */
static void on_failure(struct guest *g)
{
	struct err cause;
	enum spawn_news news = spawn_hear(g->sandbox, &cause);

	if (news == SPAWN_GOES_ON)
		return;
	if (news == SPAWN_GAVE_UP) {
		explain_server(g, &cause);
		end(g, GUEST_NOT_SET_UP, &cause);
	}
	own_close(&g->sandbox->failure);
}

/* If the deputy has ended, the calls that wait for it would wait for ever. */
static void on_deputy(struct guest *g, short events)
{
	struct err e;

	if (events & POLLOUT)
		deputy_flush(&g->sandbox->deputy);
	if (!(events & ~POLLOUT))
		return;
	deputy_explain(&g->sandbox->deputy, &e);
	end(g, GUEST_LOST_DEPUTY, &e);
}

/* Calls that were refused before pid 1 ended are told, too. */
static void on_refusals(struct guest *g, int64_t now)
{
	const struct refused_call *c;
	pid_t session;

	for (int i = 0; i < REFUSALS_TURN; i++)
		if ((c = refusals_take(&g->sandbox->refusals, &session, now)) && g->refused)
			g->refused(g->who, c, session);
}

/* --- the channel ---------------------------------------------------------- */

static int take_hello(struct guest *g, const struct frame *f, struct err *e)
{
	struct hello h;

	if (f->type != MSG_HELLO || g->state != GUEST_STARTING || f->id != 0)
		return err_set(e, ERR_PROTOCOL, "it sent '%s' at the wrong time",
			       message_name(f->type));
	if (message_get_hello(f, &h, e) < 0)
		return -1;
	if (h.version != PROTOCOL_VERSION)
		return err_set(e, ERR_PROTOCOL, "version %u, and not %u", h.version,
			       PROTOCOL_VERSION);
	g->state = GUEST_READY;
	if (g->ports)
		ports_begin(g->ports, &g->channel);
	return 0;
}

static int take_frame(struct guest *g, const struct frame *f, struct err *e)
{
	bool is_hello = g->state == GUEST_STARTING || f->type == MSG_HELLO;

	if (!message_is_from_executor(f->type))
		return err_set(e, ERR_PROTOCOL, "it sent a message of type %u", f->type);
	bool is_ports = g->ports && (f->type == MSG_FINISHED || f->type == MSG_CLOSED);
	if ((is_hello	? take_hello(g, f, e)
	     : is_ports ? ports_frame(g->ports, f, e)
			: g->take(g->who, f, e)) < 0)
		return -1;
	channel_took(&g->channel, f);
	return 0;
}

/* Hands on the frames that have come.  With `are_last` also those that their
 * owner is too full for: no more than a socket holds. */
static bool take_frames(struct guest *g, bool are_last)
{
	struct frame f;
	struct err e;
	bool has_some = false;
	int got = 0;

	while (g->cause == GUEST_RUNS && (are_last || !g->is_full || !g->is_full(g->who)) &&
	       (got = channel_next(&g->channel, &f, &e)) > 0) {
		if (take_frame(g, &f, &e) < 0)
			guest_broke_protocol(g, &e);
		has_some = true;
	}
	if (got < 0)
		guest_broke_protocol(g, &e);
	return has_some;
}

bool guest_take(struct guest *g)
{
	return take_frames(g, false);
}

void guest_flush(struct guest *g)
{
	struct err e;

	if (!guest_is_over(g) && channel_flush(&g->channel, &e) < 0)
		guest_broke_protocol(g, &e);
}

/* A channel closes a moment before the end of pid 1, which tells why; or an
 * executor means to go on without its supervisor, which it must not. */
static int fill(struct guest *g, int64_t now)
{
	struct err e;
	int state = channel_fill(&g->channel, &e);

	if (state < 0) {
		guest_broke_protocol(g, &e);
	} else if (state == CHANNEL_CLOSED && !g->is_closed) {
		g->is_closed = true;
		g->closed_ms = now + CLOSED_MS;
	}
	return state;
}

static void on_channel(struct guest *g, short events, int64_t now)
{
	if (events & POLLOUT)
		guest_flush(g);
	if (events & ~POLLOUT)
		(void)fill(g, now);
	(void)guest_take(g);
}

/* The executor's last frames may still be in the channel, and the child's err
 * in its socket, although poll reported the end first. */
static void on_end(struct guest *g, int64_t now)
{
	struct err e;

	if (wait4(g->sandbox->pid, &g->status, 0, &g->used) < 0)
		abort(); /* our own child, and SIGCHLD is not ignored */
	g->sandbox->pid = 0;
	for (int i = 0; i < SPAWN_NEWS_MAX && g->sandbox->failure >= 0; i++)
		on_failure(g);
	do {
		(void)take_frames(g, true);
	} while (g->cause == GUEST_RUNS && !g->is_closed && fill(g, now) == CHANNEL_READ);
	if (WIFSIGNALED(g->status))
		(void)err_set(&e, ERR_SYSTEM, "the sandbox was ended by signal %d",
			      WTERMSIG(g->status));
	else
		(void)err_set(&e, ERR_INTERNAL, "the sandbox's executor ended with code %d",
			      WEXITSTATUS(g->status));
	end(g, GUEST_DIED, &e);
	if (g->ports)
		ports_end(g->ports);
	g->state = GUEST_GONE;
}

/* --- the host --------------------------------------------------------------------- */

static void on_host(struct guest *g)
{
	struct err e;

	if (!sentry_look(g->sentry, &e))
		return;
	if (g->unprotected) {
		g->unprotected(g->who, &e);
		return;
	}
	(void)err_in(&e, "the sandbox was ended");
	end(g, GUEST_UNPROTECTED, &e);
}

/* --- the loop ------------------------------------------------------------- */

static bool is_watched(const struct guest *g)
{
	return g->sentry && !g->sentry->is_lost && !guest_is_over(g);
}

/* Ports carry data from the hello on, and not after the end, when no process is
 * inside. */
static bool carries(const struct guest *g)
{
	return g->ports && g->state == GUEST_READY;
}

static void carry(struct guest *g, bool has_events, int64_t now)
{
	struct err e;

	if (carries(g) && ports_work(g->ports, has_events, now, &e) < 0)
		guest_broke_protocol(g, &e);
}

void guest_watch(const struct guest *g, struct pollfd *w)
{
	const struct sandbox *box = g->sandbox;
	bool is_full = g->is_full && g->is_full(g->who);
	short events = channel_events(&g->channel);
	bool listens = !guest_is_over(g) && !g->is_closed;

	if (is_full)
		events = (short)(events & POLLOUT);
	w[GUEST_CHANNEL] = (struct pollfd){ .fd = listens && events ? box->channel : -1,
					    .events = events };
	w[GUEST_FAILURE] = (struct pollfd){ .fd = box->failure, .events = POLLIN };
	w[GUEST_SERVER] = (struct pollfd){ .fd = box->fuse.pid ? box->fuse.pidfd : -1,
					   .events = POLLIN };
	w[GUEST_REFUSALS] = refusals_watch(&box->refusals);
	w[GUEST_DEPUTY] = deputy_watch(&box->deputy);
	w[GUEST_PID] = (struct pollfd){ .fd = box->pid ? box->pidfd : -1, .events = POLLIN };
	w[GUEST_PORTS] = (struct pollfd){ .fd = carries(g) ? ports_fd(g->ports) : -1,
					  .events = POLLIN };
	w[GUEST_HOST] = (struct pollfd){ .fd = is_watched(g) ? g->sentry->fd : -1,
					 .events = POLLIN };
}

void guest_serve(struct guest *g, const struct pollfd *w, int64_t now)
{
	/* First: a process inside may write until it is stopped. */
	if (w[GUEST_HOST].revents)
		on_host(g);
	if (w[GUEST_FAILURE].revents)
		on_failure(g);
	if (w[GUEST_REFUSALS].revents)
		on_refusals(g, now);
	if (w[GUEST_DEPUTY].revents)
		on_deputy(g, w[GUEST_DEPUTY].revents);
	if (w[GUEST_CHANNEL].revents && !guest_is_over(g))
		on_channel(g, w[GUEST_CHANNEL].revents, now);
	carry(g, w[GUEST_PORTS].revents, now);
	if (w[GUEST_PID].revents)
		on_end(g, now);
	if (w[GUEST_SERVER].revents && g->sandbox->fuse.pid)
		on_server_end(g);
}

int64_t guest_due(const struct guest *g)
{
	if (g->state == GUEST_GONE)
		return 0;
	return clock_sooner(clock_sooner(g->closed_ms, g->look_ms),
			    clock_sooner(refusals_due(&g->sandbox->refusals),
					 carries(g) ? ports_due(g->ports) : 0));
}

/* Enforces --memory with --best-effort, where there is no cgroup. */
static void look_at_memory(struct guest *g, int64_t now)
{
	struct err e;

	g->look_ms = now + WATCHDOG_MS;
	if (watchdog_measure(g->sandbox->pid, g->watched_memory) <= g->watched_memory)
		return;
	(void)err_set(&e, ERR_LIMIT, "out of memory: the processes inside used more than %llu MiB "
				     "(--memory) when hutch looked; everything was ended",
		      (unsigned long long)g->watched_memory >> 20);
	end(g, GUEST_OUT_OF_MEMORY, &e);
}

void guest_expire(struct guest *g, int64_t now)
{
	struct err e;

	if (g->state == GUEST_GONE)
		return;
	refusals_expire(&g->sandbox->refusals, now);
	if (clock_is_due(g->look_ms, now) && !guest_is_over(g))
		look_at_memory(g, now);
	if (!clock_is_due(g->closed_ms, now))
		return;
	g->closed_ms = 0;
	(void)err_set(&e, ERR_PROTOCOL, "it closed its channel and lived on");
	guest_broke_protocol(g, &e);
}

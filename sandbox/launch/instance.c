#include "sandbox/launch/instance.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/own.h"
#include "egress/launch/egress.h"
#include "egress/launch/egress_news.h"
#include "egress/launch/egress_orders.h"
#include "protocol/message.h"
#include "sandbox/cgroup/watchdog.h"
#include "sandbox/kernel/diagnose.h"
#include "sandbox/launch/ports.h"
#include "sandbox/launch/spawn.h"
#include "sandbox/monitor/protect_watch.h"

/* How long an executor may go on running after it has closed its channel. */
#define CLOSED_MS 2000

/* How long a report waits for hutch-egress, which may have hung. */
#define SYNC_MS 5000

/* How long to wait for the end of the process that serves the root, once its descriptors
 * are closed. */
#define SERVER_END_MS 2000

/* Returns whether hutch-gate has not connected the sandbox's network yet. */
static bool awaits_network(const struct instance *g)
{
	return g->egress && egress_is_awaited(g->egress);
}

void instance_init(struct instance *g, int64_t now)
{
	channel_init(&g->channel, g->sandbox->channel);
	g->channel.is_held = awaits_network(g);
	if (g->watched_memory)
		g->look_ms = now + WATCHDOG_MS;
}

void instance_done(struct instance *g)
{
	channel_done(&g->channel);
}

/* --- its end -------------------------------------------------------------- */

static void end(struct instance *g, enum instance_cause cause, const struct err *e)
{
	if (g->cause == INSTANCE_RUNS) {
		g->cause = cause;
		if (e)
			g->error = *e;
	}
	if (g->sandbox->pid > 0)
		/* pid 1 is not reaped yet, so no other process can have its number */
		(void)kill(g->sandbox->pid, SIGKILL);
	/* The process that serves the root file system is killed too: if it is stopped,
	 * the kernel would keep processes inside waiting for its answer, and they could
	 * not die. */
	root_fuse_kill(&g->sandbox->fuse);
	if (g->state < INSTANCE_ENDING)
		g->state = INSTANCE_ENDING;
}

void instance_end(struct instance *g)
{
	end(g, INSTANCE_ENDED, NULL);
}

void instance_broke_protocol(struct instance *g, struct err *e)
{
	(void)err_in(e, "the sandbox's executor broke the protocol and was ended");
	end(g, INSTANCE_BROKE_PROTOCOL, e);
}

static bool has_ended(const struct root_fuse *f)
{
	struct pollfd p = { .fd = f->pidfd, .events = POLLIN };

	return f->pid > 0 && poll(&p, 1, SERVER_END_MS) == 1;
}

/* If the set-up failed with an error that may come from the end of the process that
 * serves the root, replaces that error by the process's own. */
static void explain_server(struct instance *g, struct err *cause)
{
	bool is_about = cause->sys == ENOTCONN || cause->sys == ECONNABORTED ||
			cause->sys == EPIPE || cause->sys == ECONNRESET;

	if (is_about && has_ended(&g->sandbox->fuse))
		(void)root_fuse_has_failed(&g->sandbox->fuse, cause);
}

/* Handles the end of the process that serves the root.  If that process did not fail,
 * its mount is gone: pid 1 has ended, or is killed here. */
static void on_server_end(struct instance *g)
{
	struct err e;

	if (root_fuse_has_failed(&g->sandbox->fuse, &e))
		end(g, INSTANCE_LOST_ROOT, &e);
	else if (g->sandbox->pid > 0)
		/* pid 1 is not reaped yet, so no other process can have its number */
		(void)kill(g->sandbox->pid, SIGKILL);
}

/* Reads the child's report about the sandbox's set-up: an error, or the end of the
 * socket.  A successful execveat(2) closes the child's end. */
static void on_failure(struct instance *g)
{
	struct err cause;
	enum spawn_news news = spawn_hear(g->sandbox, &cause);

	if (news == SPAWN_GOES_ON)
		return;
	if (news == SPAWN_GAVE_UP) {
		explain_server(g, &cause);
		end(g, INSTANCE_NOT_SET_UP, &cause);
	}
	own_close(&g->sandbox->failure);
}

/* Ends the sandbox if its broker (broker.h) has ended: system calls that wait for the
 * broker's answer would wait for ever. */
static void on_broker(struct instance *g, short events)
{
	struct err e;

	if (events & POLLOUT)
		broker_flush(&g->sandbox->broker);
	if (!(events & ~POLLOUT))
		return;
	broker_explain(&g->sandbox->broker, &e);
	end(g, INSTANCE_LOST_BROKER, &e);
}

/* Passes system calls that the filter has refused to the callback `refused`, also calls
 * from before the end of pid 1. */
static void on_denials(struct instance *g, int64_t now)
{
	const struct refused_call *c;
	pid_t session;

	for (int i = 0; i < DENIALS_TURN; i++)
		if ((c = denials_take(&g->sandbox->denials, &session, now)) && g->refused)
			g->refused(g->context, c, session);
}

/* Lets the report go that waits for hutch-egress. */
static void release(struct instance *g)
{
	if (g->sync == SYNC_ASKED)
		g->sync = SYNC_TOLD;
	g->sync_ms = 0;
}

/* Returns whether the frame has to wait for hutch-egress: what it says comes by another
 * socket than the frames, and a refused connection is told to the action that runs. */
static bool waits(struct instance *g, const struct frame *f)
{
	if (!g->egress || f->type != MSG_REPORT)
		return false;
	if (g->sync == SYNC_NONE) {
		if (!++g->sync_id)
			g->sync_id = 1;
		if (egress_order_sync(g->egress, g->sync_id, NULL) < 0)
			return false;
		g->sync = SYNC_ASKED;
		g->sync_ms = g->now + SYNC_MS;
	}
	return g->sync == SYNC_ASKED;
}

/* Passes on what hutch-egress has said. */
static void take_egress_news(struct instance *g, int64_t now)
{
	struct egress_news n;

	while (egress_next(g->egress, &n)) {
		if (g->egress_news)
			g->egress_news(g->context, &n, now);
		if (n.kind == EGRESS_NEWS_LOST ||
		    (n.kind == EGRESS_NEWS_SAID &&
		     json_member_uint(&n.value, "synced", 0) == g->sync_id))
			release(g);
		egress_news_done(&n);
	}
}

static struct pollfd watch_egress(const struct instance *g)
{
	if (!g->egress)
		return (struct pollfd){ .fd = -1 };
	const bool writes = egress_has_unsent(g->egress);
	return (struct pollfd){ .fd = egress_fd(g->egress),
				.events = (short)(POLLIN | (writes ? POLLOUT : 0)) };
}

static void on_egress(struct instance *g, int64_t now)
{
	egress_flush(g->egress);
	egress_fill(g->egress);
	take_egress_news(g, now);
}

/* Handles the report of hutch-gate about the network. */
static void on_network(struct instance *g)
{
	struct err e;

	if (egress_hear(g->egress, &e) < 0) {
		diagnose_setup(&e);
		end(g, INSTANCE_NOT_SET_UP, &e);
		return;
	}
	g->channel.is_held = awaits_network(g);
	instance_flush(g);
}

/* --- the channel ---------------------------------------------------------- */

static int take_hello(struct instance *g, const struct frame *f, struct err *e)
{
	struct hello h;

	if (f->type != MSG_HELLO || g->state != INSTANCE_STARTING || f->id != 0)
		return err_set(e, ERR_PROTOCOL, "it sent '%s' at the wrong time",
			       message_name(f->type));
	if (message_get_hello(f, &h, e) < 0)
		return -1;
	if (h.version != PROTOCOL_VERSION)
		return err_set(e, ERR_PROTOCOL, "version %u, and not %u", h.version,
			       PROTOCOL_VERSION);
	g->state = INSTANCE_READY;
	if (g->ports)
		ports_begin(g->ports, &g->channel);
	return 0;
}

static int take_frame(struct instance *g, const struct frame *f, struct err *e)
{
	bool is_hello = g->state == INSTANCE_STARTING || f->type == MSG_HELLO;

	if (!message_is_from_executor(f->type))
		return err_set(e, ERR_PROTOCOL, "it sent a message of type %u", f->type);
	bool is_ports = g->ports && (f->type == MSG_FINISHED || f->type == MSG_CLOSED);
	if ((is_hello	? take_hello(g, f, e)
	     : is_ports ? ports_frame(g->ports, f, e)
			: g->take(g->context, f, e)) < 0)
		return -1;
	channel_took(&g->channel, f);
	return 0;
}

/* Passes received frames to their handlers.  With `are_last`, `is_full` is ignored: no
 * more frames follow than a socket's buffer holds. */
static bool take_frames(struct instance *g, bool are_last)
{
	struct frame f;
	struct err e;
	bool has_some = false;
	int got = 0;

	while (g->cause == INSTANCE_RUNS &&
	       (are_last || !g->is_full || !g->is_full(g->context)) &&
	       (got = channel_next(&g->channel, &f, &e)) > 0) {
		if (!are_last && waits(g, &f))
			break;
		if (f.type == MSG_REPORT)
			g->sync = SYNC_NONE;
		if (take_frame(g, &f, &e) < 0)
			instance_broke_protocol(g, &e);
		has_some = true;
	}
	if (got < 0)
		instance_broke_protocol(g, &e);
	return has_some;
}

bool instance_take(struct instance *g)
{
	return take_frames(g, false);
}

void instance_flush(struct instance *g)
{
	struct err e;

	if (!instance_is_over(g) && channel_flush(&g->channel, &e) < 0)
		instance_broke_protocol(g, &e);
}

/* Reads from the channel.  If the executor has closed it, pid 1 usually ends a moment
 * later, and its exit status tells why.  An executor that goes on without its supervisor
 * is killed after CLOSED_MS. */
static int fill(struct instance *g, int64_t now)
{
	struct err e;
	int state = channel_fill(&g->channel, &e);

	if (state < 0) {
		instance_broke_protocol(g, &e);
	} else if (state == CHANNEL_CLOSED && !g->is_closed) {
		g->is_closed = true;
		g->closed_ms = now + CLOSED_MS;
	}
	return state;
}

static void on_channel(struct instance *g, short events, int64_t now)
{
	if (events & POLLOUT)
		instance_flush(g);
	if (events & ~POLLOUT)
		(void)fill(g, now);
	(void)instance_take(g);
}

/* Handles the end of pid 1.  poll(2) may report that end before the executor's last
 * frames in the channel, or the child's error in its socket, were read: both are read
 * first. */
static void on_end(struct instance *g, int64_t now)
{
	struct err e;

	if (wait4(g->sandbox->pid, &g->status, 0, &g->used) < 0)
		abort(); /* wait4(2) cannot fail: pid 1 is our own child, and SIGCHLD
			  * is not ignored */
	g->sandbox->pid = 0;
	for (int i = 0; i < SPAWN_NEWS_MAX && g->sandbox->failure >= 0; i++)
		on_failure(g);
	/* All refused connections are told before the last reports. */
	if (g->egress) {
		egress_finish(g->egress);
		take_egress_news(g, now);
	}
	do {
		(void)take_frames(g, true);
	} while (g->cause == INSTANCE_RUNS && !g->is_closed &&
		 fill(g, now) == CHANNEL_READ);
	if (WIFSIGNALED(g->status))
		(void)err_set(&e, ERR_SYSTEM, "the sandbox was ended by signal %d",
			      WTERMSIG(g->status));
	else
		(void)err_set(&e, ERR_INTERNAL,
			      "the sandbox's executor ended with code %d",
			      WEXITSTATUS(g->status));
	end(g, INSTANCE_DIED, &e);
	if (g->ports)
		ports_end(g->ports);
	g->state = INSTANCE_GONE;
}

/* --- the host --------------------------------------------------------------------- */

static void on_host(struct instance *g)
{
	struct err e;

	if (!protect_watch_look(g->protect_watch, &e))
		return;
	if (g->unprotected) {
		g->unprotected(g->context, &e);
		return;
	}
	(void)err_in(&e, "the sandbox was ended");
	end(g, INSTANCE_UNPROTECTED, &e);
}

/* --- the loop ------------------------------------------------------------- */

static bool is_watched(const struct instance *g)
{
	return g->protect_watch && !g->protect_watch->is_lost && !instance_is_over(g);
}

/* Tells whether published ports carry data: from the "hello" on, until the sandbox
 * ends. */
static bool carries(const struct instance *g)
{
	return g->ports && g->state == INSTANCE_READY;
}

static void carry(struct instance *g, bool has_events, int64_t now)
{
	struct err e;

	if (carries(g) && ports_work(g->ports, has_events, now, &e) < 0)
		instance_broke_protocol(g, &e);
}

void instance_watch(const struct instance *g, struct pollfd *w)
{
	const struct sandbox *box = g->sandbox;
	bool is_full = g->sync == SYNC_ASKED || (g->is_full && g->is_full(g->context));
	short events = channel_events(&g->channel);
	bool awaits = awaits_network(g);
	bool listens = !instance_is_over(g) && !g->is_closed && !awaits;

	if (is_full)
		events = (short)(events & POLLOUT);
	w[INSTANCE_CHANNEL] =
		(struct pollfd){ .fd = listens && events ? box->channel : -1,
				 .events = events };
	w[INSTANCE_FAILURE] = (struct pollfd){ .fd = box->failure, .events = POLLIN };
	w[INSTANCE_SERVER] = (struct pollfd){ .fd = box->fuse.pid ? box->fuse.pidfd : -1,
					   .events = POLLIN };
	w[INSTANCE_DENIALS] = denials_watch(&box->denials);
	w[INSTANCE_BROKER] = broker_watch(&box->broker);
	w[INSTANCE_PID] =
		(struct pollfd){ .fd = box->pid ? box->pidfd : -1, .events = POLLIN };
	w[INSTANCE_PORTS] = (struct pollfd){ .fd = carries(g) ? ports_fd(g->ports) : -1,
					  .events = POLLIN };
	w[INSTANCE_NETWORK] =
		(struct pollfd){ .fd = awaits ? g->egress->gate_control : -1,
				 .events = POLLIN };
	w[INSTANCE_EGRESS] = watch_egress(g);
	w[INSTANCE_HOST] =
		(struct pollfd){ .fd = is_watched(g) ? g->protect_watch->fd : -1,
				 .events = POLLIN };
}

void instance_serve(struct instance *g, const struct pollfd *w, int64_t now)
{
	g->now = now;
	/* A replaced protected file is handled first, since a process inside may write
	 * to the file until the process is stopped. */
	if (w[INSTANCE_HOST].revents)
		on_host(g);
	if (w[INSTANCE_FAILURE].revents)
		on_failure(g);
	if (w[INSTANCE_DENIALS].revents)
		on_denials(g, now);
	if (w[INSTANCE_BROKER].revents)
		on_broker(g, w[INSTANCE_BROKER].revents);
	if (w[INSTANCE_NETWORK].revents)
		on_network(g);
	if (w[INSTANCE_EGRESS].revents)
		on_egress(g, now);
	if (w[INSTANCE_CHANNEL].revents && !instance_is_over(g))
		on_channel(g, w[INSTANCE_CHANNEL].revents, now);
	carry(g, w[INSTANCE_PORTS].revents, now);
	if (w[INSTANCE_PID].revents)
		on_end(g, now);
	if (w[INSTANCE_SERVER].revents && g->sandbox->fuse.pid)
		on_server_end(g);
}

int64_t instance_due(const struct instance *g)
{
	if (g->state == INSTANCE_GONE)
		return 0;
	return clock_sooner(
		clock_sooner(g->closed_ms, g->look_ms),
		clock_sooner(clock_sooner(denials_due(&g->sandbox->denials), g->sync_ms),
			     carries(g) ? ports_due(g->ports) : 0));
}

/* Enforces --memory in a sandbox that runs without a cgroup, which --best-effort
 * allows. */
static void look_at_memory(struct instance *g, int64_t now)
{
	struct err e;

	g->look_ms = now + WATCHDOG_MS;
	if (watchdog_measure(g->sandbox->pid, g->watched_memory) <= g->watched_memory)
		return;
	(void)err_set(&e, ERR_LIMIT,
		      "out of memory: the processes inside used more than %llu MiB "
		      "(--memory) when hutch looked; everything was ended",
		      (unsigned long long)g->watched_memory >> 20);
	end(g, INSTANCE_OUT_OF_MEMORY, &e);
}

void instance_expire(struct instance *g, int64_t now)
{
	struct err e;

	if (g->state == INSTANCE_GONE)
		return;
	denials_expire(&g->sandbox->denials, now);
	if (clock_is_due(g->sync_ms, now))
		release(g);
	if (clock_is_due(g->look_ms, now) && !instance_is_over(g))
		look_at_memory(g, now);
	if (!clock_is_due(g->closed_ms, now))
		return;
	g->closed_ms = 0;
	(void)err_set(&e, ERR_PROTOCOL, "it closed its channel and lived on");
	instance_broke_protocol(g, &e);
}

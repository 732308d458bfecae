/* The loop of hutch-egress: one turn reads the clock, ends what has waited too long, and
 * handles what epoll(7) reports.  Lines of the supervisor come before frames of the gate,
 * so that a rule that was removed is removed for a connection that is asked for in the
 * same turn. */
#include "egress/upstream.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "egress/resolver.h"
#include "egress/upstream_loop.h"

#define EVENTS	   64
#define CROWDED_MS 50 /* until descriptors are sent again that the kernel refused */

struct turn {
	bool is_gate, is_supervisor; /* may be read */
	bool is_over;		     /* at once */
	bool has_ended; /* the gate: all that it had sent is handled before the end */
};

static int64_t date_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- the set of descriptors --------------------------------------------------------- */

static int add(int epoll, int fd, uint64_t mark, struct err *e)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = mark | (uint32_t)fd };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0
		       ? err_sys(e, "watch descriptor %d", fd)
		       : 0;
}

/* Changes what is watched for; `last` is what was. */
static void watch(const struct upstream *u, int fd, uint32_t *last,
		  struct epoll_event event)
{
	event.data.u64 |= (uint32_t)fd;
	if (event.events == *last)
		return;
	*last = event.events;
	(void)epoll_ctl(u->epoll, EPOLL_CTL_MOD, fd, &event); /* cannot fail: the
		descriptor is in the set */
}

/* Returns how many descriptors connections may have. */
static size_t count_fds(void)
{
	struct rlimit limit = { .rlim_cur = 0 };

	(void)getrlimit(RLIMIT_NOFILE, &limit); /* cannot fail: the arguments are valid */
	size_t most = limit.rlim_cur < UPSTREAM_FDS_MAX ? limit.rlim_cur
							: UPSTREAM_FDS_MAX;
	return most > UPSTREAM_FDS_SPARE ? most - UPSTREAM_FDS_SPARE : 0;
}

int upstream_init(struct upstream *u, int gate, int supervisor, struct err *e)
{
	u->stamp = date_ms;
	u->fds = count_fds();
	gate_link_init(&u->gate, gate);
	supervisor_link_init(&u->supervisor, supervisor);
	hosts_file_read(&u->hosts, "/etc/hosts");
	u->routes = host_addresses_open(e);
	u->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (u->routes < 0)
		return -1;
	if (u->epoll < 0)
		return err_sys(e, "epoll_create1");
	u->resolver = resolver_new(u->epoll, UPSTREAM_RESOLVER, e);
	if (!u->resolver)
		return -1;
	u->lookups.resolver = u->resolver;
	u->lookups.hosts = &u->hosts;
	if (add(u->epoll, gate, UPSTREAM_GATE, e) < 0 ||
	    (u->peers >= 0 && add(u->epoll, u->peers, UPSTREAM_PEERS, e) < 0))
		return -1;
	return add(u->epoll, supervisor, UPSTREAM_SUPERVISOR, e);
}

void upstream_done(struct upstream *u)
{
	while (u->count)
		upstream_remove(u, u->connections[0]);
	resolver_free(u->resolver);
	lookups_done(&u->lookups);
	asks_done(&u->asks);
	known_names_done(&u->known);
	hosts_file_done(&u->hosts);
	egress_rules_done(&u->rules);
	free(u->rates);
	gate_link_done(&u->gate);
	supervisor_link_done(&u->supervisor);
	own_close(&u->routes);
	own_close(&u->peers);
	own_close(&u->epoll);
}

/* --- one turn ----------------------------------------------------------------------- */

static int64_t due(const struct upstream *u)
{
	int64_t at = clock_sooner(lookups_due(&u->lookups), asks_due(&u->asks));

	if (u->gate.is_crowded)
		at = clock_sooner(at, u->now + CROWDED_MS);
	for (size_t i = 0; i < u->count; i++) {
		const struct connection *c = u->connections[i];
		if (c->state == CONNECTION_DIALING)
			at = clock_sooner(at, dialer_due(&c->dialer));
		else if (c->state == CONNECTION_CUT || c->state == CONNECTION_JOINING)
			at = clock_sooner(at, c->due);
	}
	return at;
}

static void tick(struct upstream *u)
{
	lookups_tick(&u->lookups, u->now);
	asks_tick(&u->asks, u->now);
	for (size_t i = u->count; i-- > 0;) {
		struct connection *c = u->connections[i];
		if (c->state == CONNECTION_DIALING &&
		    clock_is_due(dialer_due(&c->dialer), u->now)) {
			upstream_dial_step(u, c);
		} else if (c->state == CONNECTION_JOINING &&
			   clock_is_due(c->due, u->now)) {
			upstream_refuse(u, c, REASON_UPSTREAM_FAILED);
		} else if (c->state == CONNECTION_CUT && clock_is_due(c->due, u->now)) {
			/* The gate has not obeyed: its copy is of no use from now on. */
			(void)shutdown(c->fd, SHUT_RDWR);
			c->due = 0;
		}
	}
	upstream_settle(u);
}

/* Takes the lines that have come; the settings alone are left for later, while nothing
 * needs them. */
static int take_lines(struct upstream *u, struct err *e)
{
	if (!u->generation && !u->has_hello && supervisor_link_has_one(&u->supervisor))
		return 0;
	for (;;) {
		struct order o = { 0 };
		struct err why;
		int got = supervisor_link_next(&u->supervisor, &o, &why);
		if (got == 0)
			return 0;
		if (got < 0 && (why.kind == ERR_LIMIT || !u->generation)) {
			*e = why;
			return err_in(e, "the supervisor's line");
		}
		if (got > 0) {
			upstream_order(u, &o);
			order_done(&o);
			upstream_settle(u);
			continue;
		}
		upstream_reply_error(u, why.text);
	}
}

static int read_supervisor(struct upstream *u, struct turn *t, struct err *e)
{
	int result = supervisor_link_read(&u->supervisor, e);

	if (result < 0)
		return -1;
	t->is_over |= result == 0;
	return take_lines(u, e);
}

/* Handles some frames of those that have come.  Returns 1 if there may be more. */
static int take_frames(struct upstream *u, struct err *e)
{
	struct frame f;

	for (int i = 0; i < UPSTREAM_FRAMES; i++) {
		if (u->has_hello && !u->generation)
			return 0; /* the settings have not come yet */
		if (u->gate.queued > GATE_LINK_SEND_MAX)
			return 1; /* later, when the gate has read */
		int got = gate_link_next(&u->gate, &f, e);
		if (got <= 0)
			return got;
		if (upstream_frame(u, &f, e) < 0)
			return -1;
		gate_link_drop(&u->gate, &f);
	}
	return 1;
}

static int read_gate(struct upstream *u, struct turn *t, struct err *e)
{
	int result = gate_link_read(&u->gate, e);

	t->has_ended = result == 0;
	return result < 0 ? -1 : 0;
}

/* Replies to the supervisor's question when all that the gate had sent is handled: the
 * lines about it stand before the reply. */
static void reply_sync(struct upstream *u, bool has_more)
{
	if (!u->sync || has_more || !u->gate.is_dry)
		return;
	upstream_reply(u, "{\"synced\":%u}\n", u->sync);
	u->sync = 0;
}

static void handle(struct upstream *u, const struct epoll_event *event, struct turn *t)
{
	const int fd = (int)(uint32_t)event->data.u64;

	switch (event->data.u64 & ~0xffffffffull) {
	case UPSTREAM_RESOLVER:
		resolver_ready(u->resolver, fd, event->events);
		break;
	case UPSTREAM_ATTEMPT:
		upstream_dial_ready(u, fd);
		break;
	case UPSTREAM_PEERS:
		upstream_peer_ready(u);
		break;
	case UPSTREAM_GATE:
		t->is_gate = event->events & (EPOLLIN | EPOLLERR | EPOLLHUP);
		break;
	case UPSTREAM_SUPERVISOR:
		t->is_supervisor = event->events & (EPOLLIN | EPOLLERR | EPOLLHUP);
		break;
	}
}

/* Handles the failure of a write: the other end may have gone. */
static int not_sent(struct turn *t, const char *to, struct err *e)
{
	if (errno != EPIPE && errno != ECONNRESET)
		return err_sys(e, "write to the %s", to);
	t->is_over = true;
	return 0;
}

/* Sends what is queued, and watches for what the links need.  The gate comes first: when
 * the supervisor is told that rules are in force, a question for a name finds them in the
 * gate's socket (link_catch_up()).  If the gate has gone, the supervisor still gets the
 * last lines. */
static int flush(struct upstream *u, struct turn *t, struct err *e)
{
	const int to_gate = gate_link_send(&u->gate) < 0 ? not_sent(t, "gate", e) : 0;

	if (supervisor_link_send(&u->supervisor) < 0)
		return not_sent(t, "supervisor", e);
	if (to_gate < 0 || t->is_over)
		return to_gate;
	if (u->gate.queued > UPSTREAM_QUEUE_MAX)
		return err_set(e, ERR_LIMIT, "the gate does not read");
	const bool may_read = (u->generation || !u->has_hello) &&
			      gate_link_may_read(&u->gate);
	watch(u, u->supervisor.socket, &u->supervisor_events,
	      (struct epoll_event){
		      EPOLLIN | (supervisor_link_is_full(&u->supervisor) ? EPOLLOUT : 0u),
		      { .u64 = UPSTREAM_SUPERVISOR } });
	watch(u, u->gate.socket, &u->gate_events,
	      (struct epoll_event){ (may_read ? EPOLLIN : 0u) |
					    (gate_link_is_full(&u->gate) ? EPOLLOUT : 0u),
				    { .u64 = UPSTREAM_GATE } });
	return 0;
}

/* Returns the time-out of epoll_wait(2): 0 if there are frames to be handled, and
 * room for the answers. */
static int wait_ms(struct upstream *u, bool has_more)
{
	int own = clock_wait(due(u), u->now);
	int resolver = resolver_wait(u->resolver);

	if (has_more && u->gate.queued <= GATE_LINK_SEND_MAX)
		return 0;
	if (own < 0 || resolver < 0)
		return own < 0 ? resolver : own;
	return own < resolver ? own : resolver;
}

static int turn(struct upstream *u, bool *has_more, struct turn *t, struct err *e)
{
	struct epoll_event events[EVENTS];

	u->now = clock_ms();
	int count = epoll_wait(u->epoll, events, EVENTS, wait_ms(u, *has_more));
	if (count < 0 && errno != EINTR)
		return err_sys(e, "epoll_wait");
	u->now = clock_ms();
	resolver_tick(u->resolver);
	tick(u);
	for (int i = 0; i < count; i++)
		handle(u, &events[i], t);
	upstream_settle(u);
	if (t->is_supervisor && read_supervisor(u, t, e) < 0)
		return -1;
	if ((t->is_gate || u->sync) && gate_link_may_read(&u->gate) &&
	    read_gate(u, t, e) < 0)
		return -1;
	int more = take_frames(u, e);
	if (more < 0)
		return -1;
	if (u->has_hello && !u->generation) {
		if (take_lines(u, e) < 0)
			return -1;
		more = u->generation > 0;
	}
	upstream_settle(u);
	reply_sync(u, more > 0);
	*has_more = more > 0 || (u->sync && gate_link_may_read(&u->gate));
	return flush(u, t, e);
}

/* The gate takes this for the word that the process is confined. */
static void say_hello(struct upstream *u)
{
	struct buffer frame;

	buffer_init(&frame, FRAMES_MAX);
	if (frames_put_hello(&frame, NULL) < 0)
		abort(); /* a bug: it has no values */
	upstream_queue(u, &frame);
}

int upstream_run(struct upstream *u, struct err *e)
{
	bool has_more = false;

	say_hello(u);
	for (;;) {
		struct turn t = { 0 };
		if (turn(u, &has_more, &t, e) < 0) {
			upstream_reply_error(u, e->text);
			(void)supervisor_link_send(&u->supervisor); /* on failure the
				words on stderr are all there is */
			return -1;
		}
		if (t.is_over || (t.has_ended && !has_more))
			return 0;
	}
}

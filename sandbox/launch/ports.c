#include "sandbox/launch/ports.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/own.h"
#include "policy/policy.h"
#include "policy/port_spec.h"
#include "protocol/message.h"
#include "protocol/socket_splice.h"
#include "sandbox/launch/channel.h"

#define EVENTS_AT_ONCE 64
/* How long no connection is accepted after this process has run out of descriptors. */
#define DEAF_MS 100
/* How many descriptors a connection takes: its socket and the near ends of two pipes.
 * DIAL_FDS adds the far ends, until they have been passed into the sandbox. */
#define VISIT_FDS 3
#define DIAL_FDS  (VISIT_FDS + 2)
/* How long clients have, at the sandbox's end, to read the bytes that are still left for
 * them. */
#define WORDS_MS 1000
/* In the data of an epoll event, this bit marks the number of a port; without it the
 * data is the id of a visit. */
#define IS_PORT (1ull << 32)

/* A pipe that has carried more than WIDE_FROM bytes is enlarged to the most that an
 * ordinary user may set (pipe(7)), which doubles the throughput.  The kernel limits the
 * size of all pipes of a user together, including those of the user's other programs (64
 * MiB, pipe-user-pages-soft), so at most WIDE_MAX pipes are enlarged. */
#define WIDE_FROM (1u << 20)
#define WIDE_SIZE (1 << 20)
#define WIDE_MAX  8

struct visit {
	uint32_t id;
	uint32_t port; /* the number of the port that the client connected to */
	struct socket_splice splice;
	bool has_more;
	bool is_finish_said; /* "finish" was sent */
	bool is_finished;    /* "finished" was received */
	bool is_closed;	     /* "closed" was received */
	bool is_in_wide, is_out_wide;
	bool is_parted;	     /* hutch has closed its ends; the executor's "closed" has
			      * not come yet */
};

void ports_init(struct ports *p)
{
	*p = (struct ports){ .epoll = -1, .passing = { -1, -1 }, .fds_max = SIZE_MAX };
}

static void close_passing(struct ports *p)
{
	own_close(&p->passing[0]);
	own_close(&p->passing[1]);
}

void ports_done(struct ports *p)
{
	ports_end(p);
	for (size_t i = 0; i < p->count; i++)
		listener_done(&p->all[i].at);
	for (size_t i = 0; i < p->knock_count; i++)
		own_close(&p->knocks[i].fd);
	free(p->all);
	free(p->visits);
	own_close(&p->epoll);
	ports_init(p);
}

/* --- ports ------------------------------------------------------------------------ */

/* Makes what visits need, when the first one may come. */
static int prepare(struct ports *p, struct err *e)
{
	if (p->epoll < 0)
		p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll < 0)
		return err_sys(e, "epoll_create1");
	if (!p->visits)
		p->visits = mem_zeroed(PORT_CONNECTS_MAX, sizeof(struct visit *));
	return 0;
}

static int watch(struct ports *p, const struct port *port, struct err *e)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET,
				     .data.u64 = IS_PORT | port->number };

	if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, port->at.fd, &event) < 0)
		return err_sys(e, "watch %s", port->at.host);
	return 0;
}

int ports_add(struct ports *p, struct listener *at, uint16_t guest, struct err *e)
{
	struct port port = { .guest = guest,
			     .has_waiting = true,
			     .number = ++p->last_number };

	if (p->count == PORT_SPEC_MAX)
		return err_set(e, ERR_LIMIT,
			       "%d ports are published already, which is the most",
			       PORT_SPEC_MAX);
	for (size_t i = 0; i < p->count; i++)
		if (!strcmp(p->all[i].at.host, at->host))
			return err_set(e, ERR_EXISTS, "%s is published already",
				       at->host);
	port.at = *at;
	if (prepare(p, e) < 0 || watch(p, &port, e) < 0)
		return -1;
	*at = (struct listener){ .fd = -1 };
	p->has_paths = p->has_paths || port.at.host[0] == '/';
	p->all = mem_resize(p->all, p->count + 1, sizeof(port));
	p->all[p->count++] = port;
	return 0;
}

/* Opens either the ports that the user named or those to be found in a range.
 * ports_open() opens the named ones first, so that no range takes them. */
static int open_some(struct ports *p, const struct policy *policy, bool are_paths,
		     bool are_ranges, struct err *e)
{
	for (size_t i = 0; i < policy->publish_count; i++) {
		const struct port_spec *one = &policy->publishes[i];
		struct listener at;
		if ((one->path != NULL) != are_paths ||
		    (one->low != one->high) != are_ranges)
			continue;
		if (listener_open(one, &at, e) < 0)
			return -1;
		int added = ports_add(p, &at, one->guest, e);
		listener_done(&at);
		if (added < 0)
			return -1;
		p->all[p->count - 1].is_found = are_ranges;
	}
	return 0;
}

int ports_open(struct ports *p, const struct policy *policy, bool are_paths,
	       struct err *e)
{
	if (policy->publish_count == 0)
		return 0;
	return open_some(p, policy, are_paths, false, e) < 0
		       ? -1
		       : open_some(p, policy, are_paths, true, e);
}

void ports_tell(const struct ports *p, int to)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->all[i].is_found)
			note_print_to(to, "note: %s leads to port %u inside",
				      /* a failure is ignored: without this note, the
				       * ports work all the same */
				      p->all[i].at.host, p->all[i].guest);
}

static struct port *find_port(const struct ports *p, uint32_t number)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->all[i].number == number)
			return &p->all[i];
	return NULL;
}

void ports_begin(struct ports *p, struct channel *c)
{
	p->channel = c;
}

void ports_close(struct ports *p)
{
	p->is_closed = true;
}

/* --- visits ----------------------------------------------------------------------- */

static struct visit *find_visit(const struct ports *p, uint32_t id)
{
	for (size_t i = 0; i < p->visit_count; i++)
		if (p->visits[i]->id == id)
			return p->visits[i];
	return NULL;
}

static void forget(struct ports *p, struct visit *v)
{
	size_t i = 0;

	while (p->visits[i] != v)
		i++;
	p->visits[i] = p->visits[--p->visit_count];
	p->wide_count -= (unsigned)v->is_in_wide + v->is_out_wide;
	p->led_count -= !v->port;
	socket_splice_done(&v->splice);
	free(v);
}

static int say(struct ports *p, struct visit *v, enum message_type word, struct err *e)
{
	return v->is_closed ? 0 : channel_send_word(p->channel, word, v->id, e);
}

static int part(struct ports *p, struct visit *v, struct err *e)
{
	socket_splice_reset(&v->splice);
	v->is_parted = true;
	v->has_more = false;
	return say(p, v, MSG_HANGUP, e);
}

static bool is_widened(struct ports *p, int pipe, uint64_t carried)
{
	if (pipe < 0 || carried < WIDE_FROM || p->wide_count == WIDE_MAX ||
	    fcntl(pipe, F_SETPIPE_SZ, WIDE_SIZE) < 0)
		return false;
	p->wide_count++;
	return true;
}

static void widen(struct ports *p, struct visit *v)
{
	const struct socket_splice *c = &v->splice;

	v->is_in_wide = v->is_in_wide || is_widened(p, c->in, c->in_bytes);
	v->is_out_wide = v->is_out_wide || is_widened(p, c->out, c->out_bytes);
}

/* Moves a visit's bytes: in both directions, or those that the event tells of, which may
 * be NULL.  Frees the visit when "closed" has come and no bytes are left to move. */
static int run(struct ports *p, struct visit *v, const struct epoll_event *event,
	       struct err *e)
{
	enum socket_splice_state now = SOCKET_SPLICE_WAITS;
	int said = 0;

	if (!v->is_parted)
		now = event ? socket_splice_take(&v->splice, event)
			    : socket_splice_run(&v->splice);

	v->has_more = now == SOCKET_SPLICE_HAS_MORE;
	p->has_more = p->has_more || v->has_more;
	widen(p, v);
	if (now == SOCKET_SPLICE_BROKEN) {
		said = part(p, v, e);
	} else if (!v->is_parted && v->splice.out < 0 && !v->splice.is_unheard &&
		   !v->is_finish_said) {
		v->is_finish_said = true;
		said = say(p, v, MSG_FINISH, e);
	}
	if (v->is_closed && (v->is_parted || socket_splice_is_over(&v->splice)))
		forget(p, v);
	return said;
}

int ports_remove(struct ports *p, const char *host, struct err *e)
{
	size_t i = 0;

	while (i < p->count && strcmp(p->all[i].at.host, host) != 0)
		i++;
	if (i == p->count)
		return err_set(e, ERR_NOT_FOUND, "%.200s is not published", host);
	struct port gone = p->all[i];
	for (size_t n = p->visit_count; n-- > 0;) {
		struct visit *v = p->visits[n];
		if (v->port != gone.number || v->is_parted)
			continue;
		if (part(p, v, e) < 0)
			return -1;
		if (v->is_closed)
			forget(p, v);
	}
	/* The socket is removed from epoll explicitly: closing it here would not do that
	 * (epoll(7)) if the process that made the socket still holds it open. */
	(void)epoll_ctl(p->epoll, EPOLL_CTL_DEL, gone.at.fd, NULL);
	listener_done(&gone.at);
	memmove(&p->all[i], &p->all[i + 1], (--p->count - i) * sizeof(gone));
	return 0;
}

/* --- letting in ------------------------------------------------------------------- */

/* Returns an unused id for a visit.  Ids are given out in ascending order, so that it
 * takes long until a released id is used again. */
static uint32_t new_id(struct ports *p)
{
	do {
		p->last_id = (p->last_id + 1) & ~DIAL_ID;
	} while (find_visit(p, p->last_id | DIAL_ID));
	return p->last_id | DIAL_ID;
}

/* Makes two pipes: `ours` are the ends that stay in this process, `theirs` the ends that
 * are passed into the sandbox. */
static bool make_pipes(int ours[2], int theirs[2])
{
	int up[2], down[2];

	if (pipe2(up, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	if (pipe2(down, O_CLOEXEC | O_NONBLOCK) < 0) {
		own_close(&up[0]);
		own_close(&up[1]);
		return false;
	}
	ours[0] = down[0];
	ours[1] = up[1];
	theirs[0] = up[0];
	theirs[1] = down[1];
	return true;
}

/* Resets a connection that was accepted but cannot be passed on, for want of
 * descriptors. */
static int refuse(struct ports *p, struct visit *v, int64_t now)
{
	socket_splice_reset(&v->splice);
	free(v);
	close_passing(p);
	p->deaf_ms = now + DEAF_MS;
	return 0;
}

static int dial(struct ports *p, const struct port *port, int socket, int64_t now,
		struct err *e)
{
	const int yes = 1;
	struct visit *v = mem_zeroed(1, sizeof(*v));
	int ours[2] = { -1, -1 };

	v->id = new_id(p);
	v->port = port->number;
	/* setsockopt(2) fails for a unix socket, which has no TCP_NODELAY. */
	(void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	bool has_pipes = make_pipes(ours, p->passing);
	socket_splice_init(&v->splice, socket, ours[0], ours[1]);
	if (!has_pipes || !socket_splice_watch(&v->splice, p->epoll, v->id))
		return refuse(p, v, now);
	if (channel_send_dial(p->channel, v->id, port->guest, p->passing, e) < 0) {
		bool is_short = e->sys == ETOOMANYREFS;
		(void)refuse(p, v, now);
		return is_short ? 0 : -1;
	}
	p->visits[p->visit_count++] = v;
	p->led_count += !v->port;
	if (channel_has_passed(p->channel))
		close_passing(p);
	/* Most clients have sent their first bytes by now. */
	return run(p, v, NULL, e);
}

/* Accepts one connection of the port.  Returns 1 if there was a connection, 0 if there
 * was none, -1 if the channel to the executor is broken. */
static int admit(struct ports *p, struct port *port, int64_t now, struct err *e)
{
	int socket = listener_accept(&port->at);

	if (socket >= 0)
		return dial(p, port, socket, now, e) < 0 ? -1 : 1;
	/* EINVAL: the socket does not listen any more.  The process that made the socket
	 * still holds it, and may make it listen again. */
	if (errno == EAGAIN || errno == EINTR || errno == EINVAL)
		port->has_waiting = false;
	else if (errno != ECONNABORTED)
		p->deaf_ms = now + DEAF_MS;
	return errno == ECONNABORTED;
}

static bool may_admit(const struct ports *p)
{
	return p->channel && !p->is_closed && !p->deaf_ms &&
	       p->visit_count < PORT_CONNECTS_MAX &&
	       ports_visit_fds(p) + DIAL_FDS <= p->fds_max && channel_is_free(p->channel);
}

static bool has_waiting(const struct ports *p)
{
	if (p->knock_count)
		return true;
	for (size_t i = 0; i < p->count; i++)
		if (p->all[i].has_waiting)
			return true;
	return false;
}

size_t ports_visit_fds(const struct ports *p)
{
	return p->visit_count * VISIT_FDS;
}

void ports_allow(struct ports *p, size_t fds)
{
	bool might_admit = may_admit(p);

	p->fds_max = fds;
	if (!might_admit && may_admit(p) && has_waiting(p))
		p->has_more = true;
}

int ports_connect(struct ports *p, int *socket, uint16_t guest, struct err *e)
{
	if (p->is_closed)
		return err_set(e, ERR_GONE, "the sandbox takes no connection any more");
	if (p->knock_count == PORTS_KNOCKS_MAX)
		return err_set(e, ERR_LIMIT, "%d connections wait already",
			       PORTS_KNOCKS_MAX);
	if (prepare(p, e) < 0)
		return -1;
	p->knocks[p->knock_count++] = (struct knock){ fd_take(socket), guest };
	p->has_more = true;
	return 0;
}

/* Half of all places are left to the published ports, if there are any, so that other
 * sandboxes cannot shut these by connections that they hold. */
static bool may_lead(const struct ports *p)
{
	const size_t most = p->count ? PORT_CONNECTS_MAX / 2 : PORT_CONNECTS_MAX;

	return p->led_count < most && may_admit(p);
}

static int admit_knocks(struct ports *p, int64_t now, struct err *e)
{
	while (p->knock_count && may_lead(p)) {
		const struct knock k = p->knocks[0];
		const struct port port = { .guest = k.guest };
		memmove(&p->knocks[0], &p->knocks[1], --p->knock_count * sizeof(k));
		if (dial(p, &port, k.fd, now, e) < 0)
			return -1;
	}
	return 0;
}

static int admit_all(struct ports *p, int64_t now, struct err *e)
{
	if (p->passing[0] >= 0 && channel_has_passed(p->channel))
		close_passing(p);
	if (clock_is_due(p->deaf_ms, now))
		p->deaf_ms = 0;
	if (admit_knocks(p, now, e) < 0)
		return -1;
	/* The ports accept in turn: even when few connections can be accepted, a busy
	 * port does not starve the others. */
	for (size_t idle = 0; idle < p->count && may_admit(p);) {
		struct port *port = &p->all[p->turn++ % p->count];
		int got = port->has_waiting ? admit(p, port, now, e) : 0;
		if (got < 0)
			return -1;
		idle = got > 0 ? 0 : idle + 1;
	}
	return 0;
}

/* --- the loop --------------------------------------------------------------------- */

int ports_fd(const struct ports *p)
{
	return p->epoll;
}

size_t ports_count(const struct ports *p, const struct port *port)
{
	size_t count = 0;

	for (size_t i = 0; i < p->visit_count; i++)
		count += p->visits[i]->port == port->number && !p->visits[i]->is_parted;
	return count;
}

size_t ports_fds(const struct ports *p, int ret[PORTS_FDS])
{
	size_t count = 0;

	ret[count++] = p->epoll;
	for (size_t i = 0; i < p->count; i++)
		ret[count++] = p->all[i].at.fd;
	return count;
}

int64_t ports_due(const struct ports *p)
{
	return p->has_more ? PORTS_AT_ONCE : p->deaf_ms;
}

static int take_event(struct ports *p, const struct epoll_event *event, struct err *e)
{
	const uint64_t tag = event->data.u64;
	struct port *port = tag & IS_PORT ? find_port(p, (uint32_t)tag) : NULL;
	struct visit *v = tag & IS_PORT ? NULL : find_visit(p, (uint32_t)tag);

	if (port)
		port->has_waiting = true;
	return v && !v->has_more ? run(p, v, event, e) : 0;
}

/* Continues with the visits that have bytes left to move, but had used up their share of
 * the turn before. */
static int go_on(struct ports *p, struct err *e)
{
	p->has_more = false;
	for (size_t i = p->visit_count; i-- > 0;)
		if (p->visits[i]->has_more && run(p, p->visits[i], NULL, e) < 0)
			return -1;
	return 0;
}

/* Does its work even if no port is left: only here are p->has_more and p->deaf_ms
 * cleared, which make ports_due() return a time. */
int ports_work(struct ports *p, bool has_events, int64_t now, struct err *e)
{
	struct epoll_event events[EVENTS_AT_ONCE];

	if (p->has_more && go_on(p, e) < 0)
		return -1;
	int count = has_events ? epoll_pwait(p->epoll, events, EVENTS_AT_ONCE, 0, NULL)
			       : 0;
	for (int i = 0; i < count; i++)
		if (take_event(p, &events[i], e) < 0)
			return -1;
	return admit_all(p, now, e);
}

/* --- words from inside ------------------------------------------------------------ */

static int take_finished(struct ports *p, struct visit *v, struct err *e)
{
	if (v->is_finished)
		return err_set(e, ERR_PROTOCOL, "it finished a connection twice");
	v->is_finished = true;
	socket_splice_finish(&v->splice);
	return run(p, v, NULL, e);
}

/* Handles "closed", the executor's last message about a connection.  Bytes that the
 * server inside sent before the connection broke are passed on, as far as the client
 * takes them now. */
static int take_closed(struct ports *p, struct visit *v, uint32_t sys, struct err *e)
{
	v->is_closed = true;
	if (sys == 0 && (!v->is_finished || !v->is_finish_said))
		return err_set(e, ERR_PROTOCOL,
			       "it closed a connection that has not ended");
	if (sys == 0)
		return run(p, v, NULL, e);
	if (!v->is_parted)
		(void)socket_splice_run(&v->splice);
	socket_splice_reset(&v->splice);
	forget(p, v);
	return 0;
}

int ports_frame(struct ports *p, const struct frame *f, struct err *e)
{
	struct visit *v = find_visit(p, f->id);
	uint32_t sys = 0;
	int got = f->type == MSG_CLOSED ? message_get_closed(f, &sys, e)
					: message_get_word(f, e);

	if (got < 0)
		return -1;
	if (!v || v->is_closed)
		return err_set(e, ERR_PROTOCOL,
			       "it sent '%s' about an unknown connection",
			       message_name(f->type));
	return f->type == MSG_CLOSED ? take_closed(p, v, sys, e) : take_finished(p, v, e);
}

/* Passes on the bytes that are left of a visit that the server inside has finished.
 * Frees the visit when its client has taken all of them, or does not want them. */
static void hand_over(struct ports *p, struct visit *v)
{
	enum socket_splice_state now = SOCKET_SPLICE_BROKEN;

	if (v->is_finished && !v->is_parted)
		now = socket_splice_run(&v->splice);
	v->has_more = now == SOCKET_SPLICE_HAS_MORE;
	p->has_more = p->has_more || v->has_more;
	/* The kernel still sends the bytes in a socket's queue after the socket is
	 * closed. */
	if (now == SOCKET_SPLICE_WAITS && v->splice.in < 0)
		socket_splice_done(&v->splice);
	else if (now != SOCKET_SPLICE_BROKEN)
		return;
	socket_splice_reset(&v->splice);
	forget(p, v);
}

static void hand_over_all(struct ports *p)
{
	p->has_more = false;
	for (size_t i = p->visit_count; i-- > 0;)
		hand_over(p, p->visits[i]);
}

bool ports_part(struct ports *p, int64_t due, int64_t now)
{
	hand_over_all(p);
	if (p->visit_count > 0 && !clock_is_due(due, now))
		return false;
	while (p->visit_count > 0) {
		socket_splice_reset(&p->visits[0]->splice);
		forget(p, p->visits[0]);
	}
	return true;
}

/* Waits at most WORDS_MS until clients have taken their bytes.  This function has a poll
 * loop of its own; the caller's loop stands still meanwhile. */
void ports_end(struct ports *p)
{
	int64_t now = clock_ms();
	const int64_t due = now + WORDS_MS;
	struct epoll_event events[EVENTS_AT_ONCE];

	close_passing(p);
	while (!ports_part(p, due, now)) {
		int wait = p->has_more ? 0 : clock_wait(due, now);
		/* the events themselves do not matter: ports_part() tries all visits */
		(void)epoll_wait(p->epoll, events, EVENTS_AT_ONCE, wait);
		now = clock_ms();
	}
}

#include "executor/dials.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/process/processes.h"
#include "protocol/conduit.h"
#include "protocol/message.h"

#define EVENTS_AT_ONCE 64
#define FDS_OF_ONE     3 /* the socket and two pipes */

enum state { CONNECTING, OPEN, CLOSED };

struct dial {
	uint32_t id;
	enum state state;
	struct conduit conduit;
	uint16_t port;
	bool is_second;		/* ::1 is being tried */
	bool has_fds;		/* its descriptors were counted */
	bool has_more;
	bool is_finished_said;
	int sys;		/* CLOSED: the errno, or 0: in order */
};

void dials_init(struct dials *d, struct processes *processes)
{
	*d = (struct dials){ .epoll = -1, .processes = processes };
}

static void forget(struct dials *d, struct dial *x)
{
	if (x->has_fds)
		processes_release(d->processes, FDS_OF_ONE);
	conduit_done(&x->conduit);
	free(x);
}

void dials_done(struct dials *d)
{
	for (size_t i = 0; i < d->count; i++)
		forget(d, d->all[i]);
	free(d->all);
	own_close(&d->epoll);
	*d = (struct dials){ .epoll = -1 };
}

static struct dial *find(const struct dials *d, uint32_t id)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->all[i]->id == id)
			return d->all[i];
	return NULL;
}

bool dials_has(const struct dials *d, uint32_t id)
{
	return find(d, id) != NULL;
}

/* --- connecting ------------------------------------------------------------------- */

/* A non-blocking socket that is connecting to the port; -1 with errno set. */
static int connect_to(uint16_t port, bool is_second)
{
	const struct sockaddr_in first = { .sin_family = AF_INET, .sin_port = htons(port),
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in6 second = { .sin6_family = AF_INET6, .sin6_port = htons(port),
					     .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const int yes = 1;
	AUTO_CLOSE int fd = socket(is_second ? AF_INET6 : AF_INET,
				   SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	/* Bytes that were written at once are sent at once: their writer has chosen
	 * when to send. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	int got = is_second ? connect(fd, (const struct sockaddr *)&second, sizeof(second))
			    : connect(fd, (const struct sockaddr *)&first, sizeof(first));
	return got < 0 && errno != EINPROGRESS ? -1 : fd_take(&fd);
}

static void close_one(struct dials *d, struct dial *x, int sys)
{
	x->state = CLOSED;
	x->sys = sys;
	x->has_more = false;
	d->has_news = true;
	if (sys)
		conduit_reset(&x->conduit);
	else
		conduit_done(&x->conduit);
}

static bool watch(const struct dials *d, const struct dial *x, const struct conduit *c)
{
	return conduit_watch(c, d->epoll, x->id);
}

/* Tries ::1 if no server listens at 127.0.0.1: a server may have bound to "localhost"
 * and got ::1 alone.  If both refuse, the first one's error is reported. */
static void try_second(struct dials *d, struct dial *x, int sys)
{
	if (x->is_second || sys != ECONNREFUSED)
		return close_one(d, x, x->is_second ? ECONNREFUSED : sys);
	x->is_second = true;
	own_close(&x->conduit.socket);
	x->conduit.socket = connect_to(x->port, true);
	const struct conduit alone = { .socket = x->conduit.socket, .in = -1, .out = -1 };
	if (alone.socket < 0 || !watch(d, x, &alone))
		close_one(d, x, sys);
}

static void begin(struct dials *d, struct dial *x)
{
	if (d->epoll < 0)
		d->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (d->epoll < 0)
		return close_one(d, x, errno);
	x->conduit.socket = connect_to(x->port, false);
	if (x->conduit.socket < 0 && errno != ECONNREFUSED)
		return close_one(d, x, errno);
	if (!watch(d, x, &x->conduit))
		return close_one(d, x, errno);
	if (x->conduit.socket < 0)
		try_second(d, x, ECONNREFUSED);
}

void dials_start(struct dials *d, const struct dial_request *request)
{
	struct dial *x = mem_zeroed(1, sizeof(*x));

	x->id = request->id;
	x->port = (uint16_t)request->port;
	conduit_init(&x->conduit, -1, request->in, request->out);
	bool is_one_more = d->count < DIALS_MAX;
	x->has_fds = is_one_more && processes_reserve(d->processes, FDS_OF_ONE);
	if (d->count == d->room) {
		d->room = d->room ? d->room * 2 : 8;
		d->all = mem_resize(d->all, d->room, sizeof(*d->all));
	}
	d->all[d->count++] = x;
	if (x->has_fds)
		begin(d, x);
	else
		close_one(d, x, is_one_more ? EMFILE : EAGAIN);
}

/* --- moving ----------------------------------------------------------------------- */

static void run(struct dials *d, struct dial *x)
{
	enum conduit_state now = conduit_run(&x->conduit);

	x->has_more = now == CONDUIT_HAS_MORE;
	d->has_more = d->has_more || x->has_more;
	d->has_news = d->has_news || x->conduit.out < 0;
	if (now == CONDUIT_BROKEN)
		close_one(d, x, x->conduit.sys == EPIPE ? ECONNRESET : x->conduit.sys);
	else if (x->conduit.is_unheard)
		close_one(d, x, ECONNRESET);
	else if (conduit_is_over(&x->conduit))
		close_one(d, x, 0);
}

/* The socket is writable once connect(2) has succeeded or failed, and SO_ERROR has the
 * error. */
static bool is_connected(struct dials *d, struct dial *x)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(int), peer_len = sizeof(peer);
	int sys = 0;

	if (getsockopt(x->conduit.socket, SOL_SOCKET, SO_ERROR, &sys, &len) < 0)
		sys = errno;
	if (sys) {
		try_second(d, x, sys);
		return false;
	}
	/* The event may be one of the pipes', and then the socket may still be
	 * connecting. */
	return getpeername(x->conduit.socket, (struct sockaddr *)&peer, &peer_len) == 0;
}

static void serve(struct dials *d, struct dial *x)
{
	if (x->state == CONNECTING && is_connected(d, x))
		x->state = OPEN;
	if (x->state == OPEN)
		run(d, x);
}

void dials_finish(struct dials *d, uint32_t id)
{
	struct dial *x = find(d, id);

	if (!x || x->state == CLOSED)
		return;
	conduit_finish(&x->conduit);
	serve(d, x);
}

void dials_hang_up(struct dials *d, uint32_t id)
{
	struct dial *x = find(d, id);

	if (x && x->state != CLOSED)
		serve(d, x);
	if (x && x->state != CLOSED)
		close_one(d, x, ECONNRESET);
}

int dials_fd(const struct dials *d)
{
	return d->epoll;
}

bool dials_has_more(const struct dials *d)
{
	return d->has_more;
}

void dials_serve(struct dials *d)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int count = d->epoll < 0 ? 0 : epoll_pwait(d->epoll, events, EVENTS_AT_ONCE, 0, NULL);

	d->has_more = false;
	for (size_t i = 0; i < d->count; i++)
		if (d->all[i]->has_more)
			run(d, d->all[i]);
	for (int i = 0; i < count; i++) {
		struct dial *x = find(d, (uint32_t)events[i].data.u64);
		if (x && !x->has_more)
			serve(d, x);
	}
}

bool dials_are_told(const struct dials *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->all[i]->state == OPEN && d->all[i]->conduit.out >= 0)
			return false;
	return true;
}

/* --- reporting -------------------------------------------------------------------- */

static int report(struct dial *x, struct buffer *out, struct err *e)
{
	/* A broken connection has lost bytes, so its output has no proper end. */
	bool has_ended = x->state != CONNECTING && x->conduit.out < 0 && x->sys == 0;

	if (has_ended && !x->is_finished_said) {
		x->is_finished_said = true;
		if (message_put_word(out, MSG_FINISHED, x->id, e) < 0)
			return -1;
	}
	if (x->state != CLOSED)
		return 0;
	return message_put_closed(out, x->id, (uint32_t)x->sys, e);
}

int dials_report(struct dials *d, struct buffer *out, struct err *e)
{
	size_t kept = 0;
	int said = 0;

	for (size_t i = 0; d->has_news && i < d->count; i++) {
		struct dial *x = d->all[i];
		if (said == 0)
			said = report(x, out, e);
		if (x->state == CLOSED)
			forget(d, x);
		else
			d->all[kept++] = x;
	}
	if (d->has_news)
		d->count = kept;
	d->has_news = false;
	return said;
}

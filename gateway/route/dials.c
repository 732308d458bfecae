#include "gateway/route/dials.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd_pass.h"
#include "base/own.h"
#include "gateway/route/connector.h"

#define LIMIT_MS (1000 * CONNECTOR_SECONDS + 1000)

struct dial {
	struct dial *next;
	uint32_t ticket;
	int pod;
	bool is_sent;
	int64_t due;
	void *context;
	dial_done *done; /* NULL: it was cancelled */
};

/* Sends those whose turn has come. */
static void send_next(struct dials *d)
{
	for (struct dial *x = d->list; x && d->sent < CONNECTOR_AT_ONCE; x = x->next) {
		const struct connector_ask ask = { x->ticket, (uint32_t)x->pod };

		if (x->is_sent)
			continue;
		if (write(d->link.fd, &ask, sizeof(ask)) != sizeof(ask))
			return; /* it is sent with the next one, or expires */
		x->is_sent = true;
		d->sent++;
	}
}

/* Takes it off the list, and calls it. */
static void end(struct dials *d, struct dial **at, int fd)
{
	struct dial *x = *at;

	*at = x->next;
	d->sent -= x->is_sent;
	if (x->done)
		x->done(x->context, fd);
	else
		own_close(&fd);
	free(x);
	send_next(d);
}

static void on_link(void *context, uint32_t events)
{
	struct dials *d = context;
	struct connector_answer answer;
	int fd = -1;
	const ssize_t n = fd_pass_receive(d->link.fd, &answer, sizeof(answer), &fd);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR || n == FD_PASS_LOST))
		return; /* one that was lost expires */
	if (n != sizeof(answer)) {
		own_close(&fd);
		d->broken(d->context);
		return;
	}
	if (answer.ticket == 0)
		d->told(d->context);
	for (struct dial **at = &d->list; *at; at = &(*at)->next)
		if ((*at)->ticket == answer.ticket) {
			end(d, at, fd);
			return;
		}
	own_close(&fd);
}

int dials_init(struct dials *d, struct loop *l, int link, struct err *e)
{
	*d = (struct dials){ .loop = l, .link = { link, d, on_link } };
	return loop_watch(l, &d->link, EPOLLIN, e);
}

struct dial *dials_begin(struct dials *d, int pod, int64_t now, void *context,
			 dial_done *done)
{
	struct dial *x = calloc(1, sizeof(*x)), **at = &d->list;

	if (!x)
		abort();
	d->last += d->last == UINT32_MAX ? 2 : 1; /* 0 is none */
	*x = (struct dial){ .ticket = d->last,
			    .pod = pod,
			    .due = now + LIMIT_MS,
			    .context = context,
			    .done = done };
	while (*at)
		at = &(*at)->next;
	*at = x;
	send_next(d);
	return x;
}

void dials_cancel(struct dial *dial)
{
	if (dial)
		dial->done = NULL;
}

void dials_expire(struct dials *d, int64_t now)
{
	for (struct dial **at = &d->list; *at;) {
		if (now < (*at)->due) {
			at = &(*at)->next;
			continue;
		}
		end(d, at, -1);
		at = &d->list; /* the call may have changed the list */
	}
}

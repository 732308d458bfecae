/* The bytes of a client and its pod. */
#include "gateway/route/client.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/own.h"
#include "gateway/route/asks.h"
#include "gateway/route/dials.h"
#include "gateway/route/front.h"

#define AGAIN_MS 200 /* until a pod that is down is tried again */
#define TURN	 4   /* pieces of one direction, until others have their turn */

/* --- bytes that pass -------------------------------------------------------------- */

/* Takes from bytes of the client those that are its body.  Returns false where the body
 * is malformed. */
static bool take_body(struct client *c, const uint8_t *bytes, size_t len)
{
	size_t taken = 0;
	const enum http_verdict v = http_body_take(&c->body, bytes, len, &taken);

	(void)buffer_append(&c->up, bytes,
			    taken); /* `up` has room for the head and a piece */
	c->up_done = v == HTTP_DONE;
	return v != HTTP_REFUSED;
}

/* Returns false where the connection is of no use any more. */
static bool pass_up(struct client *c)
{
	struct front *f = c->front;

	for (int i = 0; i < TURN && !c->up_done && buffer_len(&c->up) == 0; i++) {
		const ssize_t n = read(c->in.fd, f->scratch, FRONT_SCRATCH);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (n == 0)
			return false; /* in the middle of a body */
		if (!take_body(c, f->scratch, (size_t)n))
			return false;
		if (!client_flush(&c->up, c->out.fd)) {
			buffer_consume(&c->up, buffer_len(&c->up));
			c->up_done = true; /* the pod may have answered before */
		}
	}
	return true;
}

/* The pod has closed, or broken off. */
static void end_of_pod(struct client *c, bool is_broken)
{
	const struct linger none = { .l_onoff = 1 };

	if (c->has_answer && !is_broken) {
		client_finish(c);
		return;
	}
	c->front->broken++;
	if (!c->has_answer) {
		AUTO_FREE char *text =
			text_format("Pod %s has broken off",
				    c->front->pods->items[c->decision.pod].name);
		client_refuse(c, c->decision.status, text);
		return;
	}
	/* A reset tells the client that the answer is not whole. */
	(void)setsockopt(c->in.fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	client_end(c);
}

/* Returns false where the client has ended by it. */
static bool pass_down(struct client *c)
{
	struct front *f = c->front;

	for (int i = 0; i < TURN && buffer_len(&c->down) == 0; i++) {
		const ssize_t n = read(c->out.fd, f->scratch, FRONT_SCRATCH);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0) {
			end_of_pod(c, n < 0);
			return false;
		}
		c->has_answer = true;
		client_end_turn(c); /* the pod has decided about the session */
		(void)buffer_append(&c->down, f->scratch, (size_t)n); /* it was empty */
		if (!client_flush(&c->down, c->in.fd)) {
			client_end(c);
			return false;
		}
	}
	return true;
}

static void on_pod(void *context, uint32_t events)
{
	struct client *c = context;

	if ((events & EPOLLOUT) && !client_flush(&c->up, c->out.fd)) {
		buffer_consume(&c->up, buffer_len(&c->up));
		c->up_done = true;
	}
	if (c->in_closed && buffer_len(&c->up) == 0)
		(void)shutdown(c->out.fd, SHUT_WR);
	if ((events & ~(uint32_t)EPOLLOUT) && !pass_down(c))
		return;
	client_watch(c);
}

/* A client that half-closes has said all, or is gone: the pod decides. */
static void half_close(struct client *c)
{
	c->in_closed = true;
	if (buffer_len(&c->up) == 0)
		(void)shutdown(c->out.fd, SHUT_WR);
}

void client_pass(struct client *c, uint32_t events)
{
	if (!client_flush(&c->down, c->in.fd) || (events & EPOLLERR) || !pass_up(c)) {
		client_end(c);
		return;
	}
	if (c->up_done && (events & (EPOLLRDHUP | EPOLLHUP)))
		half_close(c);
	if (buffer_len(&c->down) == 0 && !pass_down(c))
		return;
	client_watch(c);
}

/* --- to a pod --------------------------------------------------------------------- */

static void on_again(void *context)
{
	client_dial(context);
}

static void on_dialed(void *context, int fd)
{
	struct client *c = context;
	struct front *f = c->front;
	struct request r;

	c->dial = NULL;
	f->is_down[c->decision.pod] = fd < 0;
	if (fd < 0) {
		if (c->decision.kind == DECIDE_ANY)
			c->decision.pod = (c->decision.pod + 1) % (int)f->pods->count;
		c->again = (struct timer){ .context = c, .expired = on_again };
		loop_start(&f->loop, &c->again, AGAIN_MS);
		return;
	}
	const uint8_t *bytes = buffer_data(&c->asked);
	c->out = (struct watch){ fd, c, on_pod };
	request_init(&r, &c->head, bytes);
	request_write(&r, c->decision.body_max > 0, &c->up);
	http_body_init(&c->body, &c->head);
	if (!take_body(c, bytes + c->head.len, buffer_len(&c->asked) - c->head.len)) {
		client_refuse(c, 400, http_why_text(c->body.why));
		return;
	}
	buffer_done(&c->asked);
	client_enter(c, PHASE_PASS);
	c->is_coming = c->decision.kind == DECIDE_START;
	if (c->is_coming)
		f->coming[c->decision.pod]++;
	if (!client_flush(&c->up, fd)) {
		end_of_pod(c, true);
		return;
	}
	client_watch(c);
}

void client_dial(struct client *c)
{
	if (c->phase != PHASE_DIAL)
		client_enter(c, PHASE_DIAL);
	client_watch(c);
	c->dial = dials_begin(&c->front->dials, c->decision.pod, c->began, c, on_dialed);
}

void client_go_to(struct client *c, int pod)
{
	asks_end(c->asks);
	c->asks = NULL;
	c->decision.pod = pod;
	client_dial(c);
}

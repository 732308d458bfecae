#include "gateway/route/front.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "gateway/route/client.h"

#define SWEEP_MS 500   /* how often limits are looked at */
#define STOP_MS	 10000 /* how long a stop waits for requests under way */

/* --- connections ---------------------------------------------------------------- */

static void accept_from(struct front *f, struct watch *listener)
{
	const int on = 1;
	const int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		/* The kernel reports a connection that could not be taken in each turn:
		 * the loop would spin. */
		f->is_scarce = errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			       errno == ENOMEM;
		front_listen(f);
		return;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	client_begin(f, fd, listener == &f->listeners[1]);
	front_listen(f);
}

static void on_listener(void *context, uint32_t events)
{
	struct front *f = context;

	(void)events;
	accept_from(f, &f->listeners[0]);
}

static void on_inner_listener(void *context, uint32_t events)
{
	struct front *f = context;

	(void)events;
	accept_from(f, &f->listeners[1]);
}

void front_listen(struct front *f)
{
	const bool listens = !f->is_stopping && !f->is_scarce &&
			     f->count < f->connections;

	if (listens == f->is_listening)
		return;
	f->is_listening = listens;
	for (size_t i = 0; i < ARRAY_LEN(f->listeners); i++) {
		if (f->listeners[i].fd < 0)
			continue;
		if (listens)
			(void)loop_watch(&f->loop, &f->listeners[i], EPOLLIN, NULL);
		else
			loop_unwatch(&f->loop, &f->listeners[i]);
	}
}

void front_freed(struct front *f)
{
	f->is_scarce = false;
	front_listen(f);
}

/* --- figures -------------------------------------------------------------------- */

char *front_metrics(const struct front *f)
{
	struct list lines = { 0 };

	list_addf(&lines, "# TYPE hutch_route_requests_total counter");
	list_addf(&lines, "hutch_route_requests_total %llu",
		  (unsigned long long)f->requests);
	list_addf(&lines, "# TYPE hutch_route_refused_total counter");
	list_addf(&lines, "hutch_route_refused_total %llu",
		  (unsigned long long)f->refused);
	list_addf(&lines, "# TYPE hutch_route_unreachable_total counter");
	list_addf(&lines, "hutch_route_unreachable_total %llu",
		  (unsigned long long)f->unreachable);
	list_addf(&lines, "# TYPE hutch_route_broken_total counter");
	list_addf(&lines, "hutch_route_broken_total %llu", (unsigned long long)f->broken);
	list_addf(&lines, "# TYPE hutch_route_connections gauge");
	list_addf(&lines, "hutch_route_connections %u", f->count);
	list_addf(&lines, "# TYPE hutch_route_pod_up gauge");
	for (size_t i = 0; i < f->pods->count; i++)
		list_addf(&lines, "hutch_route_pod_up{pod=\"%s\"} %d",
			  f->pods->items[i].name, !f->is_down[i]);
	AUTO_FREE char *text = list_join(&lines, 0, "\n");
	list_done(&lines);
	return text_format("%s\n", text);
}

/* --- its loop ------------------------------------------------------------------- */

static void on_sweep(void *context)
{
	struct front *f = context;
	const int64_t now = clock_ms();

	dials_expire(&f->dials, now);
	clients_expire(f, now);
	front_freed(f); /* other processes may have freed what the system lacked */
	loop_start(&f->loop, &f->sweep, SWEEP_MS);
}

static void on_patience(void *context)
{
	struct front *f = context;

	f->is_over = true;
}

static void on_told(void *context)
{
	struct front *f = context;

	f->is_stopping = true;
	front_listen(f);
	loop_start(&f->loop, &f->patience, STOP_MS);
}

int front_begin(struct front *f, const int fds[2], int link, struct err *e)
{
	if (loop_init(&f->loop, e) < 0 || dials_init(&f->dials, &f->loop, link, e) < 0)
		return -1;
	f->dials.context = f;
	f->dials.told = on_told;
	f->dials.broken = on_patience;
	f->listeners[0] = (struct watch){ fds[0], f, on_listener };
	f->listeners[1] = (struct watch){ fds[1], f, on_inner_listener };
	f->sweep = (struct timer){ .context = f, .expired = on_sweep };
	f->patience = (struct timer){ .context = f, .expired = on_patience };
	front_listen(f);
	loop_start(&f->loop, &f->sweep, SWEEP_MS);
	return 0;
}

void front_end(struct front *f)
{
	clients_end(f);
	loop_done(&f->loop);
}

int front_run(struct front *f, const int fds[2], int link, struct err *e)
{
	if (front_begin(f, fds, link, e) < 0)
		return -1;
	while (!f->is_over && !(f->is_stopping && f->count == 0))
		if (loop_step(&f->loop, -1, e) < 0)
			return -1;
	front_end(f);
	return 0;
}

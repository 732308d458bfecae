#include "gateway/spawn_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/order.h"
#include "hutch.h"

#define ANSWER_MAX (160u << 10)
#define TEXT_MAX   (16u << 20) /* bytes of a text in a file */
#define QUEUE_MAX  (8u << 20)  /* bytes of requests that the socket has no room for */

struct spawn_wait {
	struct spawn_wait *next;
	uint64_t id;
	void *context;
	spawn_done *done;
};

struct spawn_packet {
	struct spawn_packet *next;
	int file; /* owned; -1: none */
	size_t len;
	char bytes[];
};

int spawn_answer_kind(const struct spawn_answer *a)
{
	for (int kind = HUTCH_NOT_FOUND; a->kind && kind <= HUTCH_FORKED; kind++)
		if (!strcmp(hutch_kind_name(kind), a->kind))
			return kind;
	return HUTCH_SYSTEM;
}

char *spawn_answer_text(const struct spawn_answer *a)
{
	char *text = NULL;
	size_t len;

	if (a->kind || a->fd < 0 ||
	    io_read_file(a->fd, "the answer", TEXT_MAX, &text, &len, NULL) < 0)
		return text_copy("");
	return text;
}

static void finish(struct spawn_wait **at, struct spawn_answer *a)
{
	struct spawn_wait *w = *at;

	*at = w->next;
	w->done(w->context, a);
	own_close(&a->fd);
	free(w);
}

static void take(struct spawn_link *l, size_t len, int fd)
{
	struct spawn_answer a = { .fd = fd, .text = l->packet };
	AUTO_JSON struct json *doc = json_parse(l->packet, len, NULL);
	struct json_at root, error;

	if (doc) {
		json_root(doc, "answer", &root);
		(void)json_member(&root, "said", &a.said);
		if (json_member(&root, "error", &error)) {
			a.kind = json_member_string(&error, "kind", "internal");
			a.message = json_member_string(&error, "message", "");
		}
		const uint64_t id = json_member_uint(&root, "id", 0);
		for (struct spawn_wait **at = &l->waits; *at; at = &(*at)->next) {
			if ((*at)->id != id)
				continue;
			finish(at, &a);
			return;
		}
	}
	own_close(&a.fd);
}

/* --- requests ------------------------------------------------------------------- */

/* Returns whether the packet was sent.  An error other than "no room" shows when the answer is
 * read: the spawner is gone. */
static bool try_send(const struct spawn_link *l, const char *bytes, size_t len, int file)
{
	return fd_pass_send(l->watch.fd, bytes, len, &file, file >= 0) >= 0 ||
	       (errno != EAGAIN && errno != ETOOMANYREFS);
}

static bool keep(struct spawn_link *l, const char *bytes, size_t len, int file)
{
	struct spawn_packet *p = NULL;

	if (l->queued + len <= QUEUE_MAX)
		p = malloc(sizeof(*p) + len);
	if (!p)
		return false;
	*p = (struct spawn_packet){ .file = -1, .len = len };
	if (file >= 0 && (p->file = fcntl(file, F_DUPFD_CLOEXEC, 0)) < 0) {
		free(p);
		return false;
	}
	memcpy(p->bytes, bytes, len);
	*l->last = p;
	l->last = &p->next;
	l->queued += len;
	(void)loop_watch(l->loop, &l->watch, EPOLLIN | EPOLLOUT, NULL);
	return true;
}

static void drop_first(struct spawn_link *l)
{
	struct spawn_packet *p = l->first;

	l->first = p->next;
	if (!l->first)
		l->last = &l->first;
	l->queued -= p->len;
	own_close(&p->file);
	free(p);
}

static void send_kept(struct spawn_link *l)
{
	while (l->first && try_send(l, l->first->bytes, l->first->len, l->first->file))
		drop_first(l);
	if (!l->first)
		(void)loop_watch(l->loop, &l->watch, EPOLLIN, NULL);
}

/* --- answers -------------------------------------------------------------------- */

static void on_link(void *context, uint32_t events)
{
	struct spawn_link *l = context;
	int fd;

	if (events & EPOLLOUT)
		send_kept(l);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	const ssize_t n = fd_pass_receive(l->watch.fd, l->packet, ANSWER_MAX, &fd);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		l->broken(l->context);
	else if (n == 1 && l->packet[0] == 's')
		l->told(l->context);
	else
		take(l, (size_t)n, fd < 0 ? -1 : fd);
}

int spawn_link_init(struct spawn_link *l, struct loop *loop, int fd, struct err *e)
{
	*l = (struct spawn_link){ .loop = loop, .packet = malloc(ANSWER_MAX) };
	l->watch = (struct watch){ fd, l, on_link };
	l->last = &l->first;
	if (!l->packet)
		return err_sys(e, "talk to the spawner");
	return loop_watch(loop, &l->watch, EPOLLIN, e);
}

void spawn_link_done(struct spawn_link *l)
{
	static const char gone[] = "the server is being stopped";

	while (l->first)
		drop_first(l);
	while (l->waits) {
		struct spawn_answer a = { .fd = -1,
					  .kind = "disconnected",
					  .message = gone };
		finish(&l->waits, &a);
	}
	loop_unwatch(l->loop, &l->watch);
	own_close(&l->watch.fd);
	free(l->packet);
}

void spawn_link_ask(struct spawn_link *l, struct order *o, void *context,
		    spawn_done *done)
{
	spawn_link_give(l, o, -1, context, done);
}

void spawn_link_give(struct spawn_link *l, struct order *o, int file, void *context,
		     spawn_done *done)
{
	struct spawn_wait *w = calloc(1, sizeof(*w));
	struct spawn_answer a = {
		.fd = -1,
		.kind = "limit",
		.message = "too many requests are under way: try again later"
	};
	struct buffer b;

	o->id = ++l->last_id;
	json_write_begin(&b);
	order_write(o, &b);
	AUTO_FREE char *json = json_write_end(&b);
	const size_t len = strlen(json);
	if (len > ORDER_MAX) {
		a.kind = "invalid";
		a.message = "the request is too large";
	}
	if (!w || len > ORDER_MAX ||
	    !((!l->first && try_send(l, json, len, file)) || keep(l, json, len, file))) {
		free(w);
		done(context, &a);
		return;
	}
	*w = (struct spawn_wait){ l->waits, o->id, context, done };
	l->waits = w;
}

#include "gateway/spawn_link.h"

#include <errno.h>
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

struct spawn_wait {
	struct spawn_wait *next;
	uint64_t id;
	void *context;
	spawn_done *done;
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

static void on_answer(void *context, uint32_t events)
{
	struct spawn_link *l = context;
	int fd;
	const ssize_t n = fd_pass_receive(l->watch.fd, l->packet, ANSWER_MAX, &fd);

	(void)events;
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
	l->watch = (struct watch){ fd, l, on_answer };
	if (!l->packet)
		return err_sys(e, "talk to the spawner");
	return loop_watch(loop, &l->watch, EPOLLIN, e);
}

void spawn_link_done(struct spawn_link *l)
{
	static const char gone[] = "the server is being stopped";

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
		.message = "the request is too large, or too many are under way"
	};
	struct buffer b;

	o->id = ++l->last_id;
	json_write_begin(&b);
	order_write(o, &b);
	AUTO_FREE char *json = json_write_end(&b);
	const size_t len = strlen(json);
	if (!w || len > ORDER_MAX ||
	    fd_pass_send(l->watch.fd, json, len, &file, file >= 0) < 0) {
		free(w);
		done(context, &a);
		return;
	}
	*w = (struct spawn_wait){ l->waits, o->id, context, done };
	l->waits = w;
}

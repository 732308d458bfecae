#include "mcp/maker.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "gateway/loop.h"
#include "mcp/job.h"
#include "mcp/server.h"
#include "mcp/setup.h"
#include "lib/error.h"

struct maker {
	struct server *server;
	struct hutch *box; /* owned */
	struct watch watch;
	bool is_looking; /* the name exists: is there a sandbox? */
};

static void close_box(struct maker *m)
{
	if (m->watch.fd >= 0)
		loop_unwatch(&m->server->loop, &m->watch);
	m->watch.fd = -1;
	hutch_close(m->box);
	m->box = NULL;
}

void maker_free(struct maker *m)
{
	if (!m)
		return;
	close_box(m);
	free(m);
}

/* Returns a call that waits, or NULL. */
static struct job *find_waiting(const struct server *s)
{
	for (struct job *j = s->jobs; j; j = j->next)
		if (j->waits_for_maker)
			return j;
	return NULL;
}

static void finish(struct server *s, const struct hutch_error *e)
{
	struct job *j;

	maker_free(s->maker);
	s->maker = NULL;
	while ((j = find_waiting(s)))
		job_go_on(j, e);
}

static int watch_box(struct maker *m, struct hutch_error *e)
{
	struct err local;

	m->watch.fd = hutch_fd(m->box, e);
	if (m->watch.fd < 0)
		return -1;
	if (loop_watch(&m->server->loop, &m->watch, EPOLLIN, &local) == 0)
		return 0;
	return error_of(e, &local);
}

static struct hutch_how how(const struct maker *m)
{
	return (struct hutch_how){ .size = sizeof(struct hutch_how),
				   .program = m->server->setup->hutch,
				   .notes = 2 };
}

static int create(struct maker *m, struct hutch_error *e)
{
	const struct hutch_how with = how(m);
	struct list words = { 0 };

	m->is_looking = false;
	setup_words(m->server->setup, NULL, m->server->name, &words);
	const int rc = hutch_create((const char *const *)words.items, &with, &m->box, e);
	list_done(&words);
	return rc < 0 ? -1 : watch_box(m, e);
}

static int look(struct maker *m, struct hutch_error *e)
{
	const struct hutch_how with = how(m);

	m->is_looking = true;
	return hutch_attach(m->server->name, &with, &m->box, e) < 0 ? -1
								    : watch_box(m, e);
}

/* Goes on when the handle has ended; `why` is the reason. */
static void go_on(struct maker *m, const struct hutch_error *why)
{
	const bool is_absent = why->kind == HUTCH_NOT_FOUND ||
			       why->kind == HUTCH_DISCONNECTED;
	struct server *s = m->server;
	struct hutch_error e;

	close_box(m);
	if (!m->is_looking && why->kind == HUTCH_EXISTS) {
		if (look(m, &e) < 0)
			finish(s, &e);
	} else if (m->is_looking && is_absent && server_rename(s)) {
		if (create(m, &e) < 0)
			finish(s, &e);
	} else {
		/* A sandbox that is being made has no socket yet: the calls wait for it. */
		finish(s, m->is_looking && why->kind == HUTCH_SYSTEM ? NULL : why);
	}
}

static void on_message(void *context, uint32_t events)
{
	struct maker *m = context;
	struct hutch_message *got;
	struct hutch_error e;

	(void)events;
	const int rc = hutch_next(m->box, 0, &got, &e);
	if (rc == 0)
		return;
	if (rc < 0) {
		go_on(m, &e);
		return;
	}
	const struct hutch_message read = *got;
	hutch_message_free(got);
	if (read.type == HUTCH_READY)
		finish(m->server, NULL);
	else if (read.type == HUTCH_ENDED)
		go_on(m, &read.error);
}

void maker_start(struct server *s)
{
	struct hutch_error e;

	if (s->maker)
		return;
	s->maker = mem_zeroed(1, sizeof(*s->maker));
	s->maker->server = s;
	s->maker->watch = (struct watch){ -1, s->maker, on_message };
	if (create(s->maker, &e) < 0)
		finish(s, &e);
}

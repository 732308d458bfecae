#include "mcp/maker.h"

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
};

void maker_free(struct maker *m)
{
	if (!m)
		return;
	if (m->watch.fd >= 0)
		loop_unwatch(&m->server->loop, &m->watch);
	hutch_close(m->box);
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
	/* Another server of the same command line may have been faster. */
	if (e && e->kind == HUTCH_EXISTS)
		e = NULL;
	while ((j = find_waiting(s)))
		job_go_on(j, e);
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
		finish(m->server, &e);
		return;
	}
	if (got->type == HUTCH_READY)
		finish(m->server, NULL);
	else if (got->type == HUTCH_ENDED)
		finish(m->server, &got->error);
	hutch_message_free(got);
}

static int begin(struct maker *m, struct hutch_error *e)
{
	const struct setup *setup = m->server->setup;
	const struct hutch_how how = { .size = sizeof(how),
				       .program = setup->hutch,
				       .notes = 2 };
	struct list words = { 0 };
	struct err local;

	setup_words(setup, NULL, m->server->name, &words);
	int rc = hutch_create((const char *const *)words.items, &how, &m->box, e);
	list_done(&words);
	if (rc < 0)
		return -1;
	m->watch.fd = hutch_fd(m->box, e);
	if (m->watch.fd < 0)
		return -1;
	if (loop_watch(&m->server->loop, &m->watch, EPOLLIN, &local) == 0)
		return 0;
	return error_of(e, &local);
}

void maker_start(struct server *s)
{
	struct hutch_error e;

	if (s->maker)
		return;
	s->maker = mem_zeroed(1, sizeof(*s->maker));
	s->maker->server = s;
	s->maker->watch = (struct watch){ -1, s->maker, on_message };
	if (begin(s->maker, &e) < 0)
		finish(s, &e);
}

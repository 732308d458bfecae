/* hutch events: prints past and future events of sandboxes. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/common/client.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/verbs.h"
#include "sandbox/launch/result.h"
#include "sandbox/state/registry_watch.h"

/* A sandbox whose events are read. */
struct source {
	struct client client;
	int request;	    /* the number of the request for events; 0: the request was
			     * answered */
	int64_t seen, next; /* `seen`: the number after the last printed event; `next`:
			     * the number after the last kept event */
	bool is_over;
};

struct listener {
	struct source **sources; /* owned: the sandboxes that are followed */
	size_t count;
	bool follows, is_json, shows_all;
	const char *name; /* the sandbox's name; NULL: the events of all sandboxes */
	struct registry_watch arrivals; /* tells of new sandboxes, if all are followed */
	struct err error; /* the error, if subscribing to a new sandbox failed */
};

/* --- shown ----------------------------------------------------------------- */

static bool is_head(struct json_view key)
{
	return json_view_is(key, "n") || json_view_is(key, "time") ||
	       json_view_is(key, "event");
}

/* Returns "TIME NAME EVENT KEY=VALUE ...", the values as JSON. */
static char *line_of(const char *name, struct json_view event)
{
	AUTO_FREE char *time = json_view_string(json_view_get(event, "time"));
	AUTO_FREE char *what = json_view_string(json_view_get(event, "event"));
	char *line = text_format("%s %s %s", time ? time : "-", name, what ? what : "-");
	struct json_view_place place = { 0 };

	while (json_view_step(event, &place)) {
		if (is_head(place.key))
			continue;
		AUTO_FREE char *key = json_view_string(place.key);
		AUTO_FREE char *before = line;
		line = text_format("%s %s=%.*s", before, key, (int)place.value.len,
				   place.value.text);
	}
	return line;
}

/* Prints the event as an object with the sandbox's name in front.  The event `plugin` has a
 * member `name` of its own, which becomes `plugin` here: no key may stand twice. */
static void print_object(const char *name, struct json_view event)
{
	struct json_view_place place = { 0 };

	(void)printf("{\"name\":\"%s\"", name);
	while (json_view_step(event, &place)) {
		if (json_view_is(place.key, "name"))
			(void)fputs(",\"plugin\"", stdout);
		else
			(void)printf(",%.*s", (int)place.key.len, place.key.text);
		(void)printf(":%.*s", (int)place.value.len, place.value.text);
	}
	(void)puts("}");
}

/* Prints one event.  Returns -1 if stdout could not be written. */
static int show(const struct listener *l, const struct source *s, const struct message *m)
{
	const struct json_view event = m->params;

	if (!json_view_is(m->method, "event") || json_view_type(event) != JSON_OBJECT)
		return 0;
	/* Each verb that looks at a sandbox is a client, this one too. */
	if (!l->is_json && !l->shows_all &&
	    json_view_is(json_view_get(event, "event"), "client"))
		return 0;
	if (l->is_json) {
		print_object(s->client.name, event);
	} else {
		AUTO_FREE char *line = line_of(s->client.name, event);
		AUTO_FREE char *safe = term_escape_line(line);
		(void)puts(safe);
	}
	return report_flush();
}

/* --- listening ------------------------------------------------------------- */

/* -1: an error. */
static int take(struct listener *l, struct source *s, const struct message *m,
		struct err *e)
{
	int64_t number;

	if (m->id == 0 && show(l, s, m) < 0)
		return report_unwritten(e);
	if (m->id == 0 && json_view_integer(json_view_get(m->params, "n"), &number))
		s->seen = number + 1;
	if (m->id && m->id == (unsigned)s->request) {
		if (m->error.text)
			return client_refused(&s->client, m->error, e);
		(void)json_view_integer(json_view_get(m->result, "next"), &s->next);
		s->request = 0;
	}
	s->is_over = !l->follows && !s->request && s->seen >= s->next;
	return 0;
}

static int serve(struct listener *l, struct source *s, struct err *e)
{
	struct message m;
	int got;

	while (!s->is_over && (got = client_next(&s->client, &m, e)) != 0)
		if (got < 0 || take(l, s, &m, e) < 0)
			return -1;
	if (s->client.is_closed)
		s->is_over = true; /* the sandbox has ended, and has sent an event
				    * about its end */
	return 0;
}

static void source_free(struct source *s)
{
	client_done(&s->client);
	free(s);
}

static void drop_finished(struct listener *l)
{
	size_t left = 0;

	for (size_t i = 0; i < l->count; i++)
		if (l->sources[i]->is_over)
			source_free(l->sources[i]);
		else
			l->sources[left++] = l->sources[i];
	l->count = left;
}

/* --- the sources of events ------------------------------------------------ */

/* Returns true if the sandbox is followed already, found by its id; updates the
 * name, since the sandbox may have been renamed. */
static bool is_known(struct listener *l, const struct client *c)
{
	for (size_t i = 0; i < l->count; i++) {
		struct client *known = &l->sources[i]->client;
		if (strcmp(known->id, c->id) != 0)
			continue;
		memcpy(known->name, c->name, sizeof(known->name));
		return true;
	}
	return false;
}

/* Subscribes to the events of a sandbox.  Returns 1 if they will come, 0 if the
 * listener follows this sandbox already, and -1 with an error. */
static int source_open(struct source *s, struct listener *l, const char *name,
		       struct err *e)
{
	if (client_open(&s->client, name, e) < 0 || client_greet(&s->client, e) < 0)
		return -1;
	if (is_known(l, &s->client))
		return 0;
	s->request = client_send(&s->client, "events.subscribe", "{\"since\":0}", e);
	return s->request < 0 ? -1 : 1;
}

static int subscribe(struct listener *l, const char *name, struct err *e)
{
	struct source *s = mem_zeroed(1, sizeof(*s));
	const int opened = source_open(s, l, name, e);

	if (opened <= 0) {
		source_free(s);
		return opened;
	}
	l->sources = mem_resize(l->sources, l->count + 1, sizeof(*l->sources));
	l->sources[l->count++] = s;
	return 0;
}

/* Subscribes to a sandbox when all are followed: a sandbox that has ended meanwhile
 * is then no error. */
static int subscribe_one_of_all(struct listener *l, const char *name, struct err *e)
{
	if (subscribe(l, name, e) == 0)
		return 0;
	return e->kind == ERR_NOT_FOUND || e->kind == ERR_GONE ? 0 : -1;
}

static void on_arrival(void *context, const char *name)
{
	struct listener *l = context;
	struct err e;

	if (subscribe_one_of_all(l, name, &e) < 0 && l->error.kind == ERR_NONE)
		l->error = e;
}

/* Returns the error that on_arrival() has stored in the listener. */
static int after_arrivals(const struct listener *l, int rc, struct err *e)
{
	if (rc < 0 || l->error.kind == ERR_NONE)
		return rc;
	*e = l->error;
	return -1;
}

static int follow_all(struct listener *l, struct err *e)
{
	if (registry_watch_open(&l->arrivals, e) < 0)
		return -1;
	return after_arrivals(l, registry_watch_list(&l->arrivals, on_arrival, l, e), e);
}

static int look_for_arrivals(struct listener *l, struct err *e)
{
	return after_arrivals(l, registry_watch_take(&l->arrivals, on_arrival, l, e), e);
}

static int subscribe_all(struct listener *l, struct err *e)
{
	struct registry_list all;
	int rc = 0;

	if (registry_list(false, &all, e) < 0)
		return -1;
	for (size_t i = 0; i < all.count && rc == 0; i++)
		if (all.items[i].status >= REGISTRY_STARTED) /* a sandbox that is
							      * starting has no socket
							      * yet */
			rc = subscribe_one_of_all(l, all.items[i].name, e);
	registry_list_done(&all);
	return rc;
}

static int begin(struct listener *l, struct err *e)
{
	if (l->name)
		return subscribe(l, l->name, e);
	return l->follows ? follow_all(l, e) : subscribe_all(l, e);
}

/* --- the loop -------------------------------------------------------------- */

/* Runs the loop's body once.  New bytes are read first, then new names are looked up,
 * and then the events are printed, so that events of a renamed sandbox show its new
 * name. */
static int turn(struct listener *l, struct err *e)
{
	AUTO_FREE struct pollfd *w = mem_zeroed(l->count + 2, sizeof(*w));
	const size_t count = l->count;

	w[count] = (struct pollfd){ .fd = l->arrivals.fd, .events = POLLIN };
	w[count + 1] = (struct pollfd){ .fd = STDOUT_FILENO };
	for (size_t i = 0; i < count; i++)
		w[i] = (struct pollfd){ .fd = l->sources[i]->client.fd,
					.events = POLLIN };
	if (poll(w, count + 2, -1) < 0)
		return errno == EINTR ? 0 : err_sys(e, "poll");
	if (w[count + 1].revents)
		return report_unread(e);
	for (size_t i = 0; i < count; i++)
		if (w[i].revents && client_fill(&l->sources[i]->client, e) < 0)
			return -1;
	if (l->arrivals.fd >= 0 && look_for_arrivals(l, e) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (w[i].revents && serve(l, l->sources[i], e) < 0)
			return -1;
	return 0;
}

static int run(struct listener *l, struct err *e)
{
	if (begin(l, e) < 0)
		return -1;
	/* The loop ends when all sandboxes have sent their kept events or have ended.
	 * With --follow and all sandboxes, it never ends. */
	while (l->count > 0 || l->arrivals.fd >= 0) {
		if (turn(l, e) < 0)
			return -1;
		drop_finished(l);
	}
	return 0;
}

static void listener_done(struct listener *l)
{
	for (size_t i = 0; i < l->count; i++)
		source_free(l->sources[i]);
	free(l->sources);
	registry_watch_done(&l->arrivals);
}

int events_main(char **argv)
{
	struct listener l = { .arrivals = { .fd = -1, .state = -1 } };
	const struct flag flags[] = {
		{ 'f', "follow", NULL, "and what comes; of all, also later ones",
		  &l.follows, NULL },
		{ 'a', "all", NULL, "clients that come and go, too", &l.shows_all, NULL },
		{ 0, "json", NULL, "all of them, an object a line", &l.is_json, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch events [-af] [--json] [NAME]",
		.about =
			"What has happened in a sandbox, or in all that live now: the last 1024 "
			"events.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	l.name = argv[0];
	int rc = run(&l, &e);
	listener_done(&l);
	return report_end(rc, &e);
}

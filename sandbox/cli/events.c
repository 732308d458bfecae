/* hutch events: what has happened in sandboxes, and what happens. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/visible.h"
#include "sandbox/cli/client.h"
#include "sandbox/cli/flags.h"
#include "sandbox/cli/report.h"
#include "sandbox/cli/verbs.h"
#include "sandbox/result.h"

/* One sandbox that is listened to. */
struct source {
	struct client client;
	int request;	    /* 0: it was answered */
	int64_t seen, next; /* one more than the last event's number; what was kept ends */
	bool is_over;
};

struct listener {
	struct source *sources; /* owned */
	size_t count, left;
	bool follows, is_json, has_names;
};

/* --- shown ----------------------------------------------------------------- */

static bool is_head(struct reply key)
{
	return reply_is(key, "n") || reply_is(key, "time") || reply_is(key, "event");
}

/* "TIME NAME EVENT KEY=VALUE ...", the values as JSON has them. */
static char *line_of(const char *name, struct reply event)
{
	AUTO_FREE char *time = reply_string(reply_get(event, "time"));
	AUTO_FREE char *what = reply_string(reply_get(event, "event"));
	char *line = text_format("%s %s %s", time ? time : "-", name, what ? what : "-");
	struct reply_place place = { 0 };

	while (reply_step(event, &place)) {
		if (is_head(place.key))
			continue;
		AUTO_FREE char *key = reply_string(place.key);
		AUTO_FREE char *before = line;
		line = text_format("%s %s=%.*s", before, key, (int)place.value.len,
				   place.value.text);
	}
	return line;
}

static void show(const struct listener *l, const struct source *s, const struct message *m)
{
	const struct reply event = m->params;

	if (!reply_is(m->method, "event") || reply_type(event) != REPLY_OBJECT)
		return;
	if (l->is_json) {
		/* Whose it is stands in front of what the event has. */
		(void)printf("{\"name\":\"%s\",%.*s\n", s->client.name, (int)event.len - 1,
			     event.text + 1);
	} else {
		AUTO_FREE char *line = line_of(s->client.name, event);
		AUTO_FREE char *safe = visible_line(line);
		(void)puts(safe);
	}
	(void)fflush(stdout);
}

/* --- listening ------------------------------------------------------------- */

static void over(struct listener *l, struct source *s)
{
	s->is_over = true;
	l->left--;
}

/* -1: something went wrong. */
static int take(struct listener *l, struct source *s, const struct message *m, struct err *e)
{
	int64_t number;

	if (m->id == 0)
		show(l, s, m);
	if (m->id == 0 && reply_integer(reply_get(m->params, "n"), &number))
		s->seen = number + 1;
	if (m->id && m->id == (unsigned)s->request) {
		if (m->error.text)
			return client_refused(&s->client, m->error, e);
		(void)reply_integer(reply_get(m->result, "next"), &s->next);
		s->request = 0;
	}
	if (!l->follows && !s->request && s->seen >= s->next)
		over(l, s);
	return 0;
}

static int serve(struct listener *l, struct source *s, struct err *e)
{
	struct message m;
	int got;

	if (client_fill(&s->client, e) < 0)
		return -1;
	while (!s->is_over && (got = client_next(&s->client, &m, e)) != 0)
		if (got < 0 || take(l, s, &m, e) < 0)
			return -1;
	if (!s->is_over && s->client.is_closed)
		over(l, s); /* with its sandbox, which it has said */
	return 0;
}

static int listen_to_all(struct listener *l, struct err *e)
{
	AUTO_FREE struct pollfd *w = mem_zeroed(l->count, sizeof(*w));

	while (l->left) {
		for (size_t i = 0; i < l->count; i++)
			w[i] = (struct pollfd){ .fd = l->sources[i].is_over
							      ? -1
							      : l->sources[i].client.fd,
						.events = POLLIN };
		if (poll(w, l->count, -1) < 0 && errno != EINTR)
			return err_sys(e, "poll");
		for (size_t i = 0; i < l->count; i++)
			if (w[i].fd >= 0 && w[i].revents && serve(l, &l->sources[i], e) < 0)
				return -1;
	}
	return 0;
}

/* One that has ended in between is no error, unless it was named. */
static int subscribe(struct listener *l, const char *name, struct err *e)
{
	struct source *s = &l->sources[l->count];

	*s = (struct source){ 0 };
	if (client_open(&s->client, name, e) < 0)
		return l->has_names || e->kind != ERR_NOT_FOUND ? -1 : 0;
	l->count++;
	l->left++;
	s->request = client_send(&s->client, "events.subscribe", "{\"since\":0}", e);
	if (s->request < 0 || client_greet(&s->client, e) < 0)
		return -1;
	return 0;
}

static int subscribe_all(struct listener *l, char *const *names, struct err *e)
{
	size_t count = 0;

	while (names[count])
		count++;
	l->sources = mem_zeroed(count, sizeof(*l->sources));
	for (size_t i = 0; i < count; i++)
		if (subscribe(l, names[i], e) < 0)
			return -1;
	return 0;
}

/* What came right behind the greeting is not told by poll. */
static int listen_first(struct listener *l, struct err *e)
{
	for (size_t i = 0; i < l->count; i++)
		if (serve(l, &l->sources[i], e) < 0)
			return -1;
	return listen_to_all(l, e);
}

static int live_names(struct list *ret, struct err *e)
{
	struct registry_list all;

	if (registry_list(false, &all, e) < 0)
		return -1;
	for (size_t i = 0; i < all.count; i++)
		list_add(ret, all.items[i].name);
	registry_list_done(&all);
	return 0;
}

static int run(struct listener *l, char *const *names, struct err *e)
{
	char *const none[] = { NULL };
	struct list all = { 0 };

	l->has_names = names[0] != NULL;
	int rc = l->has_names ? 0 : live_names(&all, e);
	if (rc == 0)
		rc = subscribe_all(l, l->has_names ? names : all.items ? all.items : none, e);
	list_done(&all);
	if (rc == 0)
		rc = listen_first(l, e);
	for (size_t i = 0; i < l->count; i++)
		client_done(&l->sources[i].client);
	free(l->sources);
	return rc;
}

int events_main(char **argv)
{
	struct listener l = { 0 };
	const struct flag flags[] = {
		{ 'f', "follow", NULL, "and what comes, until the sandboxes end", &l.follows, NULL },
		{ 0, "json", NULL, "an object a line", &l.is_json, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch events [-f] [--json] [NAME]",
		.about = "What has happened in a sandbox, or in all that live now: the last 1024 "
			 "events.",
		.flags = flags, .count = ARRAY_LEN(flags), .operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (run(&l, argv, &e) == 0)
		return 0;
	report_error(&e);
	return EXIT_HUTCH;
}

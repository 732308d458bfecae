/* hutch net NAME log: the events that are about connections, and questions as they come. */
#include "cli/net_log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/common/client.h"
#include "cli/common/report.h"

struct reading {
	const struct net_log *log;
	struct client client;
	int request;	    /* the number of the request for events; 0: it was answered */
	int64_t seen, next; /* the numbers after the last event that came, and after the
			     * last one that is kept */
};

/* --- lines -------------------------------------------------------------------------- */

static char *text_of(struct json_view object, const char *key)
{
	char *text = json_view_string(json_view_get(object, key));

	return text ? text : text_copy("-");
}

static char *refused_line(struct json_view event)
{
	AUTO_FREE char *time = text_of(event, "time"), *what = text_of(event, "what");
	AUTO_FREE char *rule = text_of(event, "rule"), *remedy = text_of(event, "remedy");
	int64_t count = 1;

	(void)json_view_integer(json_view_get(event, "count"), &count);
	AUTO_FREE char *times = count == 1
					? text_copy("")
					: text_format(", %lld times", (long long)count);
	return text_format("%s refused: %s%s (%s; %s)", time, what, times, rule, remedy);
}

/* Returns the line of an event, allocated; NULL: the event is not about connections. */
static char *event_line(struct json_view event)
{
	const struct json_view kind = json_view_get(event, "event");
	AUTO_FREE char *time = text_of(event, "time");
	int64_t rules = 0, cut = 0;

	if (json_view_is(kind, "refused") &&
	    json_view_is(json_view_get(event, "layer"), "network"))
		return refused_line(event);
	if (json_view_is(kind, "egress-lost"))
		return text_format("%s lost: no connection is made any more", time);
	if (!json_view_is(kind, "net"))
		return NULL;
	(void)json_view_integer(json_view_get(event, "rules"), &rules);
	(void)json_view_integer(json_view_get(event, "cut"), &cut);
	return text_format("%s rules: %lld; connections that were cut: %lld", time,
			   (long long)rules, (long long)cut);
}

static char *question_line(const struct reading *r, struct json_view question)
{
	AUTO_FREE char *name = text_of(question, "name");
	int64_t id = 0, port = 0;

	(void)json_view_integer(json_view_get(question, "id"), &id);
	(void)json_view_integer(json_view_get(question, "port"), &port);
	return text_format(
		"question %lld: %s port %lld (hutch net %s answer %lld yes|no)",
		(long long)id, name, (long long)port, r->client.name, (long long)id);
}

static int show(const struct reading *r, const struct message *m)
{
	const bool is_question = json_view_is(m->method, "net.ask");
	AUTO_FREE char *line = is_question ? question_line(r, m->params)
					   : event_line(m->params);

	if (!line)
		return 0;
	if (r->log->is_json) {
		(void)printf("{%s%.*s\n", is_question ? "\"event\":\"net.ask\"," : "",
			     (int)m->params.len - 1, m->params.text + 1);
	} else {
		AUTO_FREE char *safe = term_escape_line(line);
		(void)puts(safe);
	}
	return report_flush();
}

/* --- the loop ----------------------------------------------------------------------- */

static int take(struct reading *r, const struct message *m, struct err *e)
{
	int64_t number;

	if (m->id && m->id == (unsigned)r->request) {
		if (m->error.text)
			return client_refused(&r->client, m->error, e);
		(void)json_view_integer(json_view_get(m->result, "next"), &r->next);
		r->request = 0;
	}
	if (m->id || json_view_type(m->params) != JSON_OBJECT)
		return 0;
	if (json_view_integer(json_view_get(m->params, "n"), &number))
		r->seen = number + 1;
	return show(r, m) < 0 ? report_unwritten(e) : 0;
}

static bool is_over(const struct reading *r)
{
	return r->client.is_closed ||
	       (!r->log->follows && !r->request && r->seen >= r->next);
}

static int read_all(struct reading *r, struct err *e)
{
	struct pollfd w[] = { { .fd = r->client.fd, .events = POLLIN },
			      { .fd = STDOUT_FILENO } };
	struct message m;
	int got;

	for (;;) {
		while ((got = client_next(&r->client, &m, e)) != 0)
			if (got < 0 || take(r, &m, e) < 0)
				return -1;
		if (is_over(r))
			return 0;
		const int ready = poll(w, ARRAY_LEN(w), -1);
		if (ready < 0 && errno != EINTR)
			return err_sys(e, "poll");
		if (ready > 0 && w[1].revents)
			return report_unread(e);
		if (client_fill(&r->client, e) < 0)
			return -1;
	}
}

/* Only a reader that goes on answers questions, or says to its user how to. */
static int subscribe(struct reading *r, struct err *e)
{
	r->request = client_send(
		&r->client, "events.subscribe",
		r->log->follows ? "{\"since\":0,\"asks\":true}" : "{\"since\":0}", e);
	return r->request < 0 ? -1 : 0;
}

int net_log_print(const struct net_log *log, struct err *e)
{
	struct reading r = { .log = log };
	struct json_view list;

	if (client_open(&r.client, log->name, e) < 0)
		return -1;
	/* an error where there are no rules, which would have no events either */
	int result = client_call(&r.client, "net.list", NULL, &list, e);
	if (result == 0)
		result = subscribe(&r, e);
	if (result == 0)
		result = read_all(&r, e);
	client_done(&r.client);
	return result;
}

#include "gateway/relay/mcp_relay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "gateway/relay/mcp_merge.h"
#include "gateway/relay/mcp_message.h"
#include "gateway/relay/mcp_names.h"

/* A request of the client's whose answers are merged. */
struct gather {
	char *id;	/* owned: the client's id */
	size_t waiting; /* how many calls are under way for it */
	int64_t due;
	struct mcp_merge merge;
};

/* A request that the relay has passed on, with its own number as the id. */
struct call {
	struct call *next;
	uint64_t number;
	size_t from, to; /* MCP_CLIENT, or a server */
	char *id;	 /* owned: the id that it had; NULL: it is part of a gather */
	struct gather *gather; /* owned by the last of its calls; NULL: there is none */
	unsigned pages;	       /* of a list: how many were asked for before */
};

struct server {
	struct buffer line; /* what it wrote, without whole lines */
	size_t looked_at;   /* bytes of `line` that have no line end */
	bool has_ended;
};

/* A line that waits. */
struct waiting {
	struct waiting *next;
	struct mcp_line line;
};

struct mcp_relay {
	struct mcp_names names;
	struct server servers[MCP_SERVERS_MAX];
	struct call *calls;
	size_t call_count;
	uint64_t last; /* the number of the last call */
	struct waiting *first, **last_waiting;
	size_t bytes_waiting;
};

struct mcp_relay *mcp_relay_new(const char *const *names, size_t count)
{
	struct mcp_relay *r = mem_zeroed(1, sizeof(*r));

	r->names = (struct mcp_names){ names, count };
	r->last_waiting = &r->first;
	for (size_t i = 0; i < count; i++)
		buffer_init(&r->servers[i].line, MCP_LINE_MAX);
	return r;
}

static void gather_free(struct gather *g)
{
	free(g->id);
	mcp_merge_done(&g->merge);
	free(g);
}

/* Frees a call that is in no list any more, and its gather with the last of its calls. */
static void call_free(struct call *c)
{
	if (c->gather && --c->gather->waiting == 0)
		gather_free(c->gather);
	free(c->id);
	free(c);
}

void mcp_relay_free(struct mcp_relay *r)
{
	struct mcp_line line;

	if (!r)
		return;
	while (mcp_relay_next(r, &line))
		free(line.text);
	for (struct call *c = r->calls, *next; c; c = next) {
		next = c->next;
		call_free(c);
	}
	for (size_t i = 0; i < r->names.count; i++)
		buffer_done(&r->servers[i].line);
	free(r);
}

/* --- lines that wait --------------------------------------------------------- */

/* Takes over the text, a whole message. */
static void send_line(struct mcp_relay *r, size_t to, char *text)
{
	if (to != MCP_CLIENT && r->servers[to].has_ended) {
		free(text);
		return;
	}
	struct waiting *w = mem_zeroed(1, sizeof(*w));
	w->line = (struct mcp_line){ to, text, strlen(text) };
	r->bytes_waiting += w->line.len;
	*r->last_waiting = w;
	r->last_waiting = &w->next;
}

bool mcp_relay_next(struct mcp_relay *r, struct mcp_line *ret)
{
	struct waiting *w = r->first;

	if (!w)
		return false;
	*ret = w->line;
	r->bytes_waiting -= w->line.len;
	r->first = w->next;
	if (!r->first)
		r->last_waiting = &r->first;
	free(w);
	return true;
}

size_t mcp_relay_waiting(const struct mcp_relay *r)
{
	return r->bytes_waiting;
}

bool mcp_relay_has_ended(const struct mcp_relay *r, size_t server)
{
	return r->servers[server].has_ended;
}

bool mcp_relay_is_over(const struct mcp_relay *r)
{
	size_t ended = 0;

	for (size_t i = 0; i < r->names.count; i++)
		ended += r->servers[i].has_ended;
	return ended == r->names.count;
}

/* --- calls ------------------------------------------------------------------- */

static void text_of_number(uint64_t number, char ret[24])
{
	(void)snprintf(ret, 24, "%" PRIu64, number);
}

/* Makes a call; NULL: there are too many. */
static struct call *call_new(struct mcp_relay *r, size_t from, size_t to)
{
	if (r->call_count == MCP_CALLS_MAX)
		return NULL;
	struct call *c = mem_zeroed(1, sizeof(*c));
	*c = (struct call){ r->calls, ++r->last, from, to, NULL, NULL, 0 };
	r->calls = c;
	r->call_count++;
	return c;
}

/* Takes a call out of the list. */
static void unlink_call(struct mcp_relay *r, struct call *c)
{
	struct call **at = &r->calls;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	r->call_count--;
}

static struct call *call_find(const struct mcp_relay *r, uint64_t number, size_t to)
{
	for (struct call *c = r->calls; c; c = c->next)
		if (c->number == number && c->to == to)
			return c;
	return NULL;
}

/* Ends a part of a merged answer, which is given with the last part. */
static void end_part(struct mcp_relay *r, struct call *c)
{
	struct gather *g = c->gather;

	unlink_call(r, c);
	if (g->waiting == 1)
		send_line(r, MCP_CLIENT, mcp_merge_answer(&g->merge, g->id));
	call_free(c);
}

/* Ends a call without an answer. */
static void fail_call(struct mcp_relay *r, struct call *c, const char *why)
{
	if (c->gather) {
		end_part(r, c);
		return;
	}
	unlink_call(r, c);
	send_line(r, c->from, mcp_error(c->id, MCP_FAILED, why));
	call_free(c);
}

/* Passes a request on to the one that has to answer it; `params` is JSON in place of its
 * own, or NULL. */
static void pass_on(struct mcp_relay *r, size_t from, size_t to,
		    const struct mcp_message *m, const char *params)
{
	char number[24];
	AUTO_FREE char *id = mcp_source(&m->id);
	bool is_gone = to != MCP_CLIENT && r->servers[to].has_ended;
	struct call *c = is_gone ? NULL : call_new(r, from, to);

	if (!c) {
		send_line(r, from,
			  mcp_error(id, MCP_FAILED,
				    is_gone ? "the MCP server has ended"
					    : "too many requests are under way"));
		return;
	}
	c->id = text_copy(id);
	text_of_number(c->number, number);
	const struct mcp_swap swaps[] = { { "id", number }, { "params", params }, { 0 } };
	char *text = mcp_object(&m->root, swaps);
	mcp_one_line(text);
	send_line(r, to, text);
}

static void pass_notice(struct mcp_relay *r, size_t to, const struct mcp_message *m)
{
	char *text = mcp_source(&m->root);

	mcp_one_line(text);
	send_line(r, to, text);
}

/* Passes an answer back, with the id that the request had. */
static void answer(struct mcp_relay *r, struct call *c, const struct mcp_message *m)
{
	const struct mcp_swap swaps[] = { { "id", c->id }, { 0 } };
	char *text = mcp_object(&m->root, swaps);

	mcp_one_line(text);
	unlink_call(r, c);
	send_line(r, c->from, text);
	call_free(c);
}

/* A side has given up a request of its own: the other side is told, and its answer, if it
 * still comes, belongs to no call. */
static void cancel(struct mcp_relay *r, size_t from, const struct mcp_message *m)
{
	struct json_at asked;

	if (!json_member(&m->params, "requestId", &asked))
		return;
	AUTO_FREE char *id = mcp_source(&asked);
	for (struct call *c = r->calls, *next; c; c = next) {
		const char *its = c->gather ? c->gather->id : c->id;
		char number[24];
		next = c->next;
		if (c->from != from || strcmp(its, id) != 0)
			continue;
		text_of_number(c->number, number);
		const struct mcp_swap swaps[] = { { "requestId", number }, { 0 } };
		AUTO_FREE char *params = mcp_object(&m->params, swaps);
		send_line(r, c->to, mcp_request(NULL, m->method, params));
		unlink_call(r, c);
		call_free(c);
	}
}

/* --- the client -------------------------------------------------------------- */

/* Adds a call to a gather, and sends it. */
static void ask_part(struct mcp_relay *r, struct gather *g, size_t to, unsigned pages,
		     const char *method, const char *params)
{
	char number[24];
	struct call *c = call_new(r, MCP_CLIENT, to);

	if (!c)
		return;
	c->gather = g;
	c->pages = pages;
	g->waiting++;
	text_of_number(c->number, number);
	send_line(r, to, mcp_request(number, method, params));
}

static void ask_all(struct mcp_relay *r, const struct mcp_merging *how,
		    const struct mcp_message *m, int64_t now)
{
	struct gather *g = mem_zeroed(1, sizeof(*g));
	AUTO_FREE char *params = m->params.value ? mcp_source(&m->params) : NULL;

	g->id = mcp_source(&m->id);
	g->due = now + MCP_PATIENCE_MS;
	mcp_merge_init(&g->merge, how, r->names.count, MCP_LINE_MAX);
	for (size_t i = 0; i < r->names.count; i++)
		if (!r->servers[i].has_ended)
			ask_part(r, g, i, 0, m->method, params);
	if (g->waiting > 0)
		return;
	send_line(r, MCP_CLIENT, mcp_merge_answer(&g->merge, g->id));
	gather_free(g);
}

/* The methods that are about a name or an address. */
static const struct {
	const char *method, *member;
	char *(*own)(const struct mcp_names *n, const char *name, size_t *ret_server);
} named[] = {
	{ "prompts/get", "name", mcp_names_in },
	{ "resources/read", "uri", mcp_names_uri_in },
	{ "resources/subscribe", "uri", mcp_names_uri_in },
	{ "resources/unsubscribe", "uri", mcp_names_uri_in },
	{ "tools/call", "name", mcp_names_in },
};

/* Passes a request on to the server that its name begins with. */
static void ask_named(struct mcp_relay *r, size_t how, const struct mcp_message *m)
{
	const char *name = json_member_string(&m->params, named[how].member, "");
	size_t server;
	AUTO_FREE char *own = named[how].own(&r->names, name, &server);

	if (!own) {
		AUTO_FREE char *id = mcp_source(&m->id);
		AUTO_FREE char *why = text_format("no MCP server has %.300s", name);
		send_line(r, MCP_CLIENT, mcp_error(id, MCP_BAD_PARAMS, why));
		return;
	}
	AUTO_FREE char *quoted = json_write_quoted(own);
	const struct mcp_swap swaps[] = { { named[how].member, quoted }, { 0 } };
	AUTO_FREE char *params = m->params.value ? mcp_object(&m->params, swaps) : NULL;
	pass_on(r, MCP_CLIENT, server, m, params);
}

static void on_request(struct mcp_relay *r, const struct mcp_message *m, int64_t now)
{
	const struct mcp_merging *how = mcp_merging_of(m->method);
	AUTO_FREE char *id = mcp_source(&m->id);
	size_t i = 0;

	if (r->names.count == 1) {
		pass_on(r, MCP_CLIENT, 0, m, NULL);
		return;
	}
	if (how) {
		ask_all(r, how, m, now);
		return;
	}
	while (i < ARRAY_LEN(named) && strcmp(named[i].method, m->method) != 0)
		i++;
	if (i < ARRAY_LEN(named))
		ask_named(r, i, m);
	else if (!strcmp(m->method, "ping"))
		send_line(r, MCP_CLIENT, mcp_result(id, "{}"));
	else
		send_line(r, MCP_CLIENT,
			  mcp_error(id, MCP_UNKNOWN_METHOD, "Method not found"));
}

static bool is_cancel(const struct mcp_message *m)
{
	return !strcmp(m->method, "notifications/cancelled");
}

static void on_posted(struct mcp_relay *r, const struct mcp_message *m, int64_t now)
{
	struct call *c;

	if (m->kind == MCP_REQUEST) {
		on_request(r, m, now);
	} else if (m->kind == MCP_RESPONSE) {
		c = call_find(r, mcp_message_number(m), MCP_CLIENT);
		if (c)
			answer(r, c, m);
	} else if (is_cancel(m)) {
		cancel(r, MCP_CLIENT, m);
	} else {
		for (size_t i = 0; i < r->names.count; i++)
			pass_notice(r, i, m);
	}
}

bool mcp_relay_post(struct mcp_relay *r, const char *text, size_t len, int64_t now)
{
	struct mcp_message m;
	bool is_good = mcp_message_read(&m, text, len) != MCP_BAD;

	if (is_good)
		on_posted(r, &m, now);
	mcp_message_done(&m);
	return is_good;
}

/* --- servers ----------------------------------------------------------------- */

/* Adds an answer to the merged one, and asks for the next page of a list. */
static void add_part(struct mcp_relay *r, struct call *c, const struct mcp_message *m)
{
	struct gather *g = c->gather;
	AUTO_FREE char *next =
		m->result.value ? mcp_merge_add(&g->merge, &r->names, c->to, &m->result)
				: NULL;

	if (next && c->pages + 1 < MCP_PAGES_MAX)
		ask_part(r, g, c->to, c->pages + 1, mcp_merge_method(&g->merge), next);
	end_part(r, c);
}

static void on_response(struct mcp_relay *r, size_t server, const struct mcp_message *m)
{
	struct call *c = call_find(r, mcp_message_number(m), server);

	if (c && c->gather)
		add_part(r, c, m);
	else if (c)
		answer(r, c, m);
}

/* A line that cannot be read, and would be a message: if a single request waits for the
 * server, the line is its answer. */
static void on_bad_line(struct mcp_relay *r, size_t server, const char *text, size_t len)
{
	struct call *only = NULL;

	if (len == 0 || *text != '{')
		return;
	for (struct call *c = r->calls; c; c = c->next) {
		if (c->to != server)
			continue;
		if (only)
			return;
		only = c;
	}
	if (only)
		fail_call(r, only,
			  "the MCP server has sent an answer that is no valid JSON");
}

static void on_line(struct mcp_relay *r, size_t server, const char *text, size_t len)
{
	struct mcp_message m;

	switch (mcp_message_read(&m, text, len)) {
	case MCP_REQUEST:
		pass_on(r, server, MCP_CLIENT, &m, NULL);
		break;
	case MCP_RESPONSE:
		on_response(r, server, &m);
		break;
	case MCP_NOTICE:
		if (is_cancel(&m))
			cancel(r, server, &m);
		else
			pass_notice(r, MCP_CLIENT, &m);
		break;
	case MCP_BAD:
		on_bad_line(r, server, text, len);
		break;
	}
	mcp_message_done(&m);
}

/* Takes the whole lines out of the server's buffer. */
static void take_lines(struct mcp_relay *r, size_t server)
{
	struct server *s = &r->servers[server];
	const char *text, *end;

	while (!s->has_ended) {
		text = (const char *)buffer_data(&s->line);
		end = memchr(text + s->looked_at, '\n',
			     buffer_len(&s->line) - s->looked_at);
		if (!end)
			break;
		on_line(r, server, text, (size_t)(end - text));
		buffer_consume(&s->line, (size_t)(end - text) + 1);
		s->looked_at = 0;
	}
	s->looked_at = buffer_len(&s->line);
}

void mcp_relay_heard(struct mcp_relay *r, size_t server, const void *bytes, size_t len)
{
	struct server *s = &r->servers[server];

	if (s->has_ended)
		return;
	if (!buffer_append(&s->line, bytes, len)) {
		mcp_relay_ended(r, server);
		return;
	}
	take_lines(r, server);
}

void mcp_relay_ended(struct mcp_relay *r, size_t server)
{
	struct server *s = &r->servers[server];

	if (s->has_ended)
		return;
	s->has_ended = true;
	buffer_done(&s->line);
	s->looked_at = 0;
	for (struct call *c = r->calls, *next; c; c = next) {
		next = c->next;
		if (c->to == server) {
			fail_call(r, c, "the MCP server has ended");
		} else if (c->from == server) {
			unlink_call(r, c);
			call_free(c);
		}
	}
}

/* --- time -------------------------------------------------------------------- */

int64_t mcp_relay_due(const struct mcp_relay *r)
{
	int64_t due = 0;

	for (const struct call *c = r->calls; c; c = c->next)
		if (c->gather && (due == 0 || c->gather->due < due))
			due = c->gather->due;
	return due;
}

void mcp_relay_tick(struct mcp_relay *r, int64_t now)
{
	for (struct call *c = r->calls, *next; c; c = next) {
		next = c->next;
		if (c->gather && c->gather->due <= now)
			end_part(r, c);
	}
}

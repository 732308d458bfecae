#include "actions/dedup.h"

#include <stdlib.h>
#include <string.h>

#include "actions/action.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

struct entry {
	char *client, *timestamp; /* owned */
	uint64_t id;
	uint64_t print[2]; /* a hash of the input line that asked for the action */
	char *line;	   /* owned; the answer's line; NULL: the action has not ended */
	size_t len;
};

/* The largest id and the latest timestamp of a client's actions whose answers were
 * dropped. */
struct client {
	char *name; /* owned */
	bool has_lost;
	uint64_t id;
	char *timestamp; /* owned */
};

struct dedup {
	struct entry *entries; /* owned; the actions, in the order in which they came */
	size_t count, room;
	size_t kept, bytes; /* the number of kept answers, and the sum of their bytes */
	struct client clients[DEDUP_CLIENTS];
	size_t client_count;
};

struct dedup *dedup_new(void)
{
	struct dedup *a = mem_zeroed(1, sizeof(*a));
	return a;
}

static void entry_done(struct entry *e)
{
	free(e->client);
	free(e->timestamp);
	free(e->line);
}

void dedup_free(struct dedup *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->count; i++)
		entry_done(&a->entries[i]);
	for (size_t i = 0; i < a->client_count; i++) {
		free(a->clients[i].name);
		free(a->clients[i].timestamp);
	}
	free(a->entries);
	free(a);
}

/* Hashes a line to 128 bits: FNV-1a, and a variant of it. A client can construct two
 * lines with the same hash, but only gets a wrong answer to its own action. */
static void fingerprint(const char *line, size_t len, uint64_t ret[2])
{
	ret[0] = 0xcbf29ce484222325;
	ret[1] = 0x84222325cbf29ce4 ^ len;
	for (size_t i = 0; i < len; i++) {
		ret[0] = (ret[0] ^ (unsigned char)line[i]) * 0x100000001b3;
		ret[1] = (ret[1] ^ (unsigned char)line[i]) * 0x9e3779b97f4a7c15;
	}
}

static struct entry *find(struct dedup *a, const struct action *x)
{
	for (size_t i = 0; i < a->count; i++) {
		struct entry *e = &a->entries[i];
		if (e->id == x->id && !strcmp(e->client, x->client) &&
		    !strcmp(e->timestamp, x->timestamp))
			return e;
	}
	return NULL;
}

static struct client *find_client(struct dedup *a, const char *name)
{
	for (size_t i = 0; i < a->client_count; i++)
		if (!strcmp(a->clients[i].name, name))
			return &a->clients[i];
	if (a->client_count == DEDUP_CLIENTS)
		return NULL;
	struct client *c = &a->clients[a->client_count++];
	c->name = text_copy(name);
	return c;
}

/* Returns whether the action may have been done before. Timestamps of one client compare
 * as texts (RFC 3339, ISO 8601). A client's clock may go back, and its ids may start
 * again, but hardly both at once. */
static bool is_too_old(const struct client *c, const struct action *x)
{
	return c->has_lost && x->id <= c->id && strcmp(x->timestamp, c->timestamp) <= 0;
}

static void add(struct dedup *a, const struct action *x, const uint64_t print[2])
{
	if (a->count == a->room) {
		a->room = a->room ? a->room * 2 : 16;
		a->entries = mem_resize(a->entries, a->room, sizeof(*a->entries));
	}
	a->entries[a->count++] = (struct entry){
		.client = text_copy(x->client), .timestamp = text_copy(x->timestamp),
		.id = x->id, .print = { print[0], print[1] },
	};
}

enum answer_state dedup_look(struct dedup *a, const struct action *x, const char *line,
			       size_t len, const char **ret_line)
{
	const struct entry *e = find(a, x);
	uint64_t print[2];

	fingerprint(line, len, print);
	if (e && (e->print[0] != print[0] || e->print[1] != print[1]))
		return ANSWER_OTHER_BODY;
	if (e) {
		*ret_line = e->line;
		return e->line ? ANSWER_KEPT : ANSWER_UNDER_WAY;
	}
	const struct client *c = find_client(a, x->client);
	if (!c)
		return ANSWER_TOO_MANY;
	if (is_too_old(c, x))
		return ANSWER_TOO_OLD;
	add(a, x, print);
	return ANSWER_NEW;
}

static void let_go(struct dedup *a, size_t i)
{
	struct entry *e = &a->entries[i];
	struct client *c = find_client(a, e->client); /* never NULL: dedup_look() added
						       * the client */

	if (!c->has_lost || e->id > c->id)
		c->id = e->id;
	if (!c->has_lost || strcmp(e->timestamp, c->timestamp) > 0) {
		free(c->timestamp);
		c->timestamp = text_copy(e->timestamp);
	}
	c->has_lost = true;
	a->kept--;
	a->bytes -= e->len;
	entry_done(e);
	memmove(e, e + 1, (--a->count - i) * sizeof(*e));
}

static void let_go_of_the_oldest(struct dedup *a)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->entries[i].line)
			return let_go(a, i);
}

void dedup_keep(struct dedup *a, const struct action *x, const char *line, size_t len)
{
	struct entry *e = find(a, x);

	if (!e || e->line)
		return;
	e->line = mem_new(len + 1);
	memcpy(e->line, line, len);
	e->line[len] = '\0';
	e->len = len;
	a->kept++;
	a->bytes += len;
	while (a->kept > DEDUP_KEPT || (a->bytes > DEDUP_BYTES && a->kept > 1))
		let_go_of_the_oldest(a);
}

void dedup_forget(struct dedup *a, const char *client)
{
	size_t count = 0;

	for (size_t i = 0; i < a->count; i++) {
		struct entry *e = &a->entries[i];
		if (strcmp(e->client, client) != 0) {
			a->entries[count++] = *e;
			continue;
		}
		a->kept -= e->line != NULL;
		a->bytes -= e->len;
		entry_done(e);
	}
	a->count = count;
	for (size_t i = 0; i < a->client_count; i++)
		if (!strcmp(a->clients[i].name, client)) {
			free(a->clients[i].name);
			free(a->clients[i].timestamp);
			a->clients[i] = a->clients[--a->client_count];
			a->clients[a->client_count] = (struct client){ 0 };
			return;
		}
}

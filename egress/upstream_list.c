#include "base/json_write.h"
#include "base/own.h"
#include "egress/tcp_bytes.h"
#include "egress/upstream.h"

/* The most bytes of a connection in JSON: a name, an address, and five numbers. */
#define ROW_MAX (FRAMES_NAME_MAX + ADDRESS_TEXT_MAX + 200)

static bool is_newer(const struct connection *a, const struct connection *b)
{
	return a->began != b->began ? a->began > b->began : a->id > b->id;
}

/* The newest connections, the newest first. */
struct newest {
	const struct connection *items[UPSTREAM_LIST_MAX];
	size_t count;
};

static void put_newest(struct newest *n, const struct connection *c)
{
	if (n->count == UPSTREAM_LIST_MAX && is_newer(n->items[n->count - 1], c))
		return;
	size_t at = n->count < UPSTREAM_LIST_MAX ? n->count++ : n->count - 1;
	for (; at > 0 && is_newer(c, n->items[at - 1]); at--)
		n->items[at] = n->items[at - 1];
	n->items[at] = c;
}

/* Returns how many connections are open. */
static size_t find_open(const struct upstream *u, struct newest *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < u->count; i++) {
		if (u->connections[i]->state != CONNECTION_OPEN)
			continue;
		put_newest(ret, u->connections[i]);
		count++;
	}
	return count;
}

/* `date`: the present time, in ms since 1970. */
static void put_row(const struct upstream *u, const struct connection *c, int64_t date,
		    struct buffer *b)
{
	const struct tcp_bytes bytes = tcp_bytes_of(c->fd);
	char address[ADDRESS_TEXT_MAX];

	json_write_open(b, NULL, "{");
	json_write_number(b, "id", c->id);
	json_write_text(b, "name", c->goal.name.len ? c->goal.name.text : NULL);
	json_write_text(b, "address",
			c->peer.family ? address_print(&c->peer, address) : NULL);
	json_write_number(b, "port", c->goal.port);
	json_write_number(b, "since", date - (u->now - c->began));
	json_write_number(b, "up", (int64_t)bytes.up);
	json_write_number(b, "down", (int64_t)bytes.down);
	json_write_close(b, "}");
}

void upstream_list(struct upstream *u)
{
	struct newest newest = { .count = 0 };
	const size_t open = find_open(u, &newest);
	const int64_t date = u->stamp();
	const size_t room = supervisor_link_room(&u->supervisor);
	struct buffer b;

	buffer_init(&b, SUPERVISOR_LINK_SEND_MAX);
	json_write_open(&b, NULL, "{");
	json_write_open(&b, "connections", "{");
	json_write_number(&b, "open", (int64_t)open);
	json_write_open(&b, "newest", "[");
	for (size_t i = 0; i < newest.count; i++)
		if (buffer_len(&b) + 2 * (size_t)ROW_MAX < room)
			put_row(u, newest.items[i], date, &b);
	json_write_close(&b, "]");
	json_write_close(&b, "}}\n");
	(void)supervisor_link_reply(&u->supervisor, (const char *)buffer_data(&b),
				    buffer_len(&b)); /* there is room for it */
	buffer_done(&b);
}

#include <stdlib.h>

#include "base/json_write.h"
#include "base/own.h"
#include "egress/tcp_bytes.h"
#include "egress/upstream.h"

/* The most bytes of a connection in JSON: a name, an address, and five numbers. */
#define ROW_MAX (FRAMES_NAME_MAX + ADDRESS_TEXT_MAX + 200)

static int newest_first(const void *a, const void *b)
{
	const struct connection *x = *(struct connection *const *)a;
	const struct connection *y = *(struct connection *const *)b;

	if (x->began != y->began)
		return x->began < y->began ? 1 : -1;
	return (x->id < y->id) - (x->id > y->id);
}

static size_t find_open(const struct upstream *u, struct connection **ret)
{
	size_t count = 0;

	for (size_t i = 0; i < u->count; i++)
		if (u->connections[i]->state == CONNECTION_OPEN)
			ret[count++] = u->connections[i];
	qsort(ret, count, sizeof(struct connection *), newest_first);
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
	struct connection *open[UPSTREAM_MAX];
	const size_t count = find_open(u, open);
	const int64_t date = u->stamp();
	const size_t room = supervisor_link_room(&u->supervisor);
	struct buffer b;

	buffer_init(&b, SUPERVISOR_LINK_SEND_MAX);
	json_write_open(&b, NULL, "{");
	json_write_open(&b, "connections", "{");
	json_write_number(&b, "open", (int64_t)count);
	json_write_open(&b, "newest", "[");
	for (size_t i = 0; i < count && i < UPSTREAM_LIST_MAX; i++)
		if (buffer_len(&b) + 2 * (size_t)ROW_MAX < room)
			put_row(u, open[i], date, &b);
	json_write_close(&b, "]");
	json_write_close(&b, "}}\n");
	(void)supervisor_link_reply(&u->supervisor, (const char *)buffer_data(&b),
				    buffer_len(&b)); /* there is room for it */
	buffer_done(&b);
}

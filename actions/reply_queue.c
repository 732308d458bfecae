#include "actions/reply_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

struct letter {
	struct buffer line; /* owned; the observation's line */
	unsigned holds;
};

struct parcel {
	struct letter *letter; /* one of the letter's references, which this parcel
			        * holds */
	char *id;	       /* owned; the id of the client's JSON-RPC request; NULL:
			        * there is none */
	struct parcel *next;
};

struct letter *letter_new(struct buffer *line)
{
	struct letter *l = mem_zeroed(1, sizeof(*l));

	l->line = *line;
	l->holds = 1;
	*line = (struct buffer){ 0 };
	return l;
}

void letter_release(struct letter *l)
{
	if (--l->holds > 0)
		return;
	buffer_done(&l->line);
	free(l);
}

static void drop_first(struct reply_queue *o)
{
	struct parcel *p = o->first;

	o->bytes -= buffer_len(&p->letter->line);
	o->first = p->next;
	if (!o->first)
		o->last = NULL;
	letter_release(p->letter);
	free(p->id);
	free(p);
}

void reply_queue_done(struct reply_queue *o)
{
	while (o->first)
		drop_first(o);
}

void reply_queue_put(struct reply_queue *o, struct letter *l, char *id)
{
	struct parcel *p = mem_zeroed(1, sizeof(*p));

	l->holds++;
	o->bytes += buffer_len(&l->line);
	p->letter = l;
	p->id = id;
	if (o->last)
		o->last->next = p;
	else
		o->first = p;
	o->last = p;
}

/* Appends the whole line to `out`; false: there is no room, and nothing was appended. */
static bool write_parcel(const struct parcel *p, struct buffer *out)
{
	const uint8_t *line = buffer_data(&p->letter->line);
	size_t len = buffer_len(&p->letter->line);

	if (!p->id)
		return buffer_append(out, line, len);
	AUTO_FREE char *start =
		text_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", p->id);
	if (!buffer_reserve(out, strlen(start) + len + 1))
		return false;
	(void)buffer_append(out, start, strlen(start));
	(void)buffer_append(out, line, len - 1); /* without its newline: the end of the
						  * JSON-RPC response follows, with a
						  * newline */
	return buffer_append(out, "}\n", 2);
}

bool reply_queue_deliver(struct reply_queue *o, struct buffer *out)
{
	struct parcel *p = o->first;

	if (!p || !write_parcel(p, out))
		return false;
	drop_first(o);
	return true;
}

bool reply_queue_is_empty(const struct reply_queue *o)
{
	return !o->first;
}

#include "sandbox/act/outbox.h"

#include <stdlib.h>

#include "base/mem.h"

struct parcel {
	struct buffer line; /* owned */
	unsigned times;	    /* to go */
	struct parcel *next;
};

static void drop_first(struct outbox *o)
{
	struct parcel *p = o->first;

	o->first = p->next;
	if (!o->first)
		o->last = NULL;
	buffer_done(&p->line);
	free(p);
}

void outbox_done(struct outbox *o)
{
	while (o->first)
		drop_first(o);
}

void outbox_put(struct outbox *o, struct buffer *line, unsigned times)
{
	struct parcel *p = mem_zeroed(1, sizeof(*p));

	p->line = *line;
	p->times = times;
	*line = (struct buffer){ 0 };
	if (o->last)
		o->last->next = p;
	else
		o->first = p;
	o->last = p;
}

bool outbox_deliver(struct outbox *o, struct buffer *out)
{
	struct parcel *p = o->first;

	if (!p || !buffer_append(out, buffer_data(&p->line), buffer_len(&p->line)))
		return false;
	if (--p->times == 0)
		drop_first(o);
	return true;
}

bool outbox_is_empty(const struct outbox *o)
{
	return !o->first;
}

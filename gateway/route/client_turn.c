/* The turns of requests that start one session. */
#include "gateway/route/client.h"

#include <string.h>

#include "gateway/route/front.h"

static bool is_alike(const struct client *a, const struct client *b)
{
	return a->decision.session && b->decision.session &&
	       !strcmp(a->decision.session, b->decision.session);
}

bool client_take_turn(struct client *c)
{
	if (!c->decision.session || c->has_turn)
		return true;
	for (const struct client *x = c->front->clients; x; x = x->next)
		if (x->has_turn && is_alike(x, c))
			return false;
	c->has_turn = true;
	return true;
}

static void on_turn(void *context)
{
	client_ask(context);
}

/* The next client begins by a timer, since this call may come from a walk over all clients. */
void client_end_turn(struct client *c)
{
	struct client *next = NULL;

	if (!c->has_turn)
		return;
	c->has_turn = false;
	loop_stop(&c->front->loop, &c->again); /* the turn may have come just now */
	for (struct client *x = c->front->clients; x; x = x->next)
		if (x != c && x->phase == PHASE_TURN && is_alike(x, c))
			next = x; /* the list begins with the youngest */
	if (!next)
		return;
	next->has_turn = true;
	next->again = (struct timer){ .context = next, .expired = on_turn };
	loop_start(&c->front->loop, &next->again, 0);
}

/* dials -- the connections to pods that the front has asked its connector for
 * (connector.h).
 *
 * No more than CONNECTOR_AT_ONCE are under way; the others wait their turn. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "gateway/loop.h"

struct err;
struct dial;

struct dials {
	struct loop *loop;
	struct watch link; /* borrowed */
	struct dial *list; /* owned */
	uint32_t last;	   /* the last ticket */
	unsigned sent;
	void *context;
	void (*told)(void *context);   /* the front is to stop */
	void (*broken)(void *context); /* the connector is gone */
};

/* Takes the connection, -1: the pod is not there. */
typedef void dial_done(void *context, int fd);

int dials_init(struct dials *d, struct loop *l, int link, struct err *e);

/* Asks for a connection; `done` is called once, and never before the return. */
struct dial *dials_begin(struct dials *d, int pod, int64_t now, void *context,
			 dial_done *done);
/* `done` is not called any more. */
void dials_cancel(struct dial *dial);

/* Ends those that have no answer in time: the connector's child was killed. */
void dials_expire(struct dials *d, int64_t now);

/* pods -- the pods to which hutch-route leads, by name.
 *
 * The list is complete: the operator names each pod, also one that is down.  A router
 * that learnt the pods from a name service could not tell a pod that is being moved from
 * one that never was, and would give a client a second sandbox for its session. */
#pragma once
#include <stddef.h>

#include "gateway/box_id.h"

struct err;

#define PODS_MAX 256

struct pod {
	char name[BOX_ID_POD_MAX + 1];
	char *host, *port; /* owned: a name or an address, and a number */
};

struct pods {
	struct pod *items; /* owned */
	size_t count;
};

void pods_done(struct pods *p);

/* Adds the pods of one word:
 *
 *	NAME=ADDRESS:PORT	one pod at this address
 *	NAME			one pod at NAME.SERVICE
 *	NAME-A..B		NAME-A to NAME-B, as a StatefulSet names its pods
 *
 * `service` is HOST:PORT, or NULL: then only the first form is allowed. */
int pods_add(struct pods *p, const char *word, const char *service, struct err *e);

/* Refuses a `service` that is no HOST:PORT. */
int pods_check_service(const char *service, struct err *e);

/* Returns the index of the pod of this name, or -1. */
int pods_find(const struct pods *p, const char *name, size_t len);

/* pools -- where the pools are (hutch-pool(1)).
 *
 * As with sandboxes the state folder is the registry, and a held lock is liveness:
 *
 *	.pools/NAME/	one pool; flock(2)ed by its keeper alone
 *	    pool.sock	where it is asked (docs/control.md, "Pools")
 *
 * It becomes visible with its lock held and its socket listening.  What nobody locks was
 * left by a keeper that was killed, and whoever comes across it removes it.  A name that
 * begins with a dot is none of a sandbox, so nothing of this is one.
 *
 * A keeper: pools_create ... pools_remove.  A client: pools_connect, pools_list. */
#pragma once
#include <stdbool.h>

#include "sandbox/registry.h"

struct err;
struct list;

#define POOLS_FOLDER ".pools"
#define POOLS_SOCKET "pool.sock"

/* A sandbox is called POOL-xxxxxxxx until somebody names it. */
#define POOLS_DIGITS   8
#define POOLS_NAME_MAX (REGISTRY_NAME_MAX - 1 - POOLS_DIGITS)

/* [A-Za-z0-9][A-Za-z0-9_.-]{0,53} */
int pools_check_name(const char *name, struct err *e);

struct pools_place {
	char name[POOLS_NAME_MAX + 1]; /* "": none */
	int state, pools; /* owned */
	int folder;	  /* owned; its lock */
	int listener;	  /* owned; not blocking */
};

void pools_init(struct pools_place *p);

/* The name of a pool that lives is ERR_EXISTS. */
int pools_create(const char *name, struct pools_place *ret, struct err *e);
/* The name is free then. */
void pools_remove(struct pools_place *p);
void pools_done(struct pools_place *p);

/* How long a keeper may take to let somebody in. */
#define POOLS_CONNECT_MS 10000

/* A connection to its keeper, blocking, within `wait_ms`: a descriptor, or -1.  No such
 * pool: ERR_NOT_FOUND. */
int pools_connect(const char *name, int wait_ms, struct err *e);

/* One of that name lives. */
bool pools_has(const char *name);

/* The names of those that live, in order; what was left over is removed on the way. */
int pools_list(struct list *ret, struct err *e);

/* pools -- the registry of the pools (hutch-pool(1)).
 *
 * As with sandboxes, the state folder is the registry, and a pool is alive if a
 * process holds its lock.  That process, hutch-pool, is the pool's keeper:
 *
 *	.pools/NAME/	one pool; flock(2)ed by its keeper alone
 *	    pool.sock	where clients ask it (docs/control.md, "Pools")
 *
 * A pool becomes visible with its lock held and its socket listening.  A
 * folder that no process locks was left by a keeper that was killed; the
 * next process that comes across it removes it.  No sandbox's name begins
 * with a dot, so .pools is never taken for a sandbox.
 *
 * A keeper: pools_create ... pools_remove.  A client: pools_connect, pools_list. */
#pragma once
#include <stdbool.h>

#include "sandbox/state/registry.h"

struct err;
struct list;

#define POOLS_FOLDER ".pools"
#define POOLS_SOCKET "pool.sock"

/* A pool's sandbox is called POOL-xxxxxxxx until a client gives it a name. */
#define POOLS_DIGITS   8
#define POOLS_NAME_MAX (REGISTRY_NAME_MAX - 1 - POOLS_DIGITS)

/* A valid name is [A-Za-z0-9][A-Za-z0-9_.-]{0,53}; the error for any other is
 * ERR_USAGE. */
int pools_check_name(const char *name, struct err *e);

struct pools_place {
	char name[POOLS_NAME_MAX + 1]; /* the pool's name; "": there is no pool */
	int state, pools; /* owned */
	int folder;	  /* owned; holds the pool's lock */
	int listener;	  /* owned; non-blocking */
};

void pools_init(struct pools_place *p);

/* Makes the folder of a pool.  ERR_EXISTS: a live pool has that name. */
int pools_create(const char *name, struct pools_place *ret, struct err *e);
/* Removes the pool's folder; the name is free afterwards. */
void pools_remove(struct pools_place *p);
void pools_done(struct pools_place *p);

/* The time in ms in which a pool's keeper must accept a connection. */
#define POOLS_CONNECT_MS 10000

/* Connects to the pool's keeper within `wait_ms`.  Returns a blocking
 * descriptor, or -1; ERR_NOT_FOUND: there is no such pool. */
int pools_connect(const char *name, int wait_ms, struct err *e);

/* Returns whether a pool of that name is alive. */
bool pools_has(const char *name);

/* Lists the names of the live pools, in order, and removes the remains of dead
 * ones. */
int pools_list(struct list *ret, struct err *e);

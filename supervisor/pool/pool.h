/* pool -- keeps sandboxes ready and hands them out to clients (hutch-pool(1)).
 *
 * Each pool has one process, the keeper, with one poll(2) loop and no thread; there is
 * no common daemon.  A lease (supervisor/lease.h) ties each waiting sandbox to the
 * keeper.  The keeper's end of the lease is a connection to the sandbox on which the
 * keeper never writes.  To hand the sandbox out, it passes the descriptor to a client
 * (SCM_RIGHTS) and closes its own; the client's first message then makes the client the
 * lease's holder.  So
 *
 * 	no sandbox is handed out twice, since there is only one such descriptor
 * 	no client waits for a sandbox, since the descriptor is connected already
 * 	the keeper notices the death of a waiting sandbox: the connection is readable
 * 	when the keeper ends, even by SIGKILL, waiting sandboxes end, and no others
 * 	if a client dies before it has read the answer, the kernel closes the descriptor
 * 	    in the answer, so the sandbox ends too
 *
 * 	pool.c		the loop: waiting sandboxes, and those that are being made
 * 	pace.c		when the next one may be made
 * 	pool_clients.c	connections of clients: their requests, and the answers
 * 	pool_spawn.c	makes one sandbox
 *
 * Only the loop reads the clock: `now` is the time of the present turn, in ms of
 * clock.h. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/list.h"
#include "sandbox/state/pools.h"
#include "supervisor/connection.h"
#include "supervisor/peer.h"
#include "supervisor/pool/pace.h"
#include "supervisor/pool/pool_spawn.h"

#define POOL_SIZE_MAX	  512
#define POOL_SIZE_DEFAULT 4
#define POOL_SPAWNS_MAX	  16  /* the most sandboxes that are made at the same time; if
			       * there are fewer CPUs, their number */
#define POOL_CLIENTS_MAX	  256 /* the most connections of clients */
#define POOL_LINE_MAX	  4096

/* A sandbox that waits to be handed out. */
struct waiting {
	int lease; /* owned; the connection to the sandbox, which ends when it is
		    * closed */
	int64_t since_ms;
	char name[REGISTRY_NAME_MAX + 1];
};

/* A connection of a client.  The client's next request is handled only when the
 * previous one was answered. */
struct pool_client {
	struct connection conn;
	char *asks; /* owned: the id of a `take` or `stop` that is not answered yet;
		     * NULL: none */
	bool is_stop, has_hello, is_closing;
	uint64_t number;   /* number of the `take`; lower numbers are served first */
	int64_t due_ms;	   /* when the `take` fails if no sandbox is ready; 0: never */
};

struct pool {
	struct pools_place place;
	struct list words; /* options for hutch create */
	char *program;	   /* owned: the path of hutch-supervise */
	char *created;	   /* owned; when the pool was made, as text */
	size_t size, together;
	int signals; /* owned; a signalfd(2) */
	int lease;   /* owned: the connection of --lease, with which the pool ends; -1:
		      * none */
	int ready;   /* owned: a pipe for the outcome of the first sandbox; -1: the
		      * outcome was written */
	struct rlimit files;
	struct peer_self self;

	struct waiting waiting[POOL_SIZE_MAX]; /* the oldest first */
	size_t waiting_count;
	struct pool_spawn spawns[POOL_SPAWNS_MAX];
	size_t making;
	bool has_more;	    /* the next turn must not wait, since another sandbox can be
			     * made now */
	struct pace pace;
	struct err trouble; /* the latest failure; kind ERR_NONE: the latest sandbox
			     * could be made */
	struct err why;	    /* why the pool ends before its first sandbox was ready */
	uint64_t made, taken, failed, lost;

	struct pool_client *clients[POOL_CLIENTS_MAX]; /* owned; the connected clients */
	size_t client_count;
	uint64_t number;
	int64_t deaf_ms; /* no connection is accepted before this time, since no
			  * descriptor was free */

	bool is_ending;
	int64_t end_ms;
};

/* Serves clients until the pool is stopped.  The caller has created `place`.  All
 * descriptors are taken over. */
void pool_run(struct pool *p);

/* --- between its parts ---------------------------------------------------------- */

/* Returns the sandbox that has waited longest and is alive; NULL: there is none. */
struct waiting *pool_oldest(struct pool *p, int64_t now);
/* To be called when that sandbox was handed out. */
void pool_taken(struct pool *p, int64_t now);
void pool_stop(struct pool *p, int64_t now);
/* Returns when the loop must do something next, pool_expire() included; 0: never. */
int64_t pool_due(const struct pool *p);
/* Gives up those sandboxes that take too long to make. */
void pool_expire(struct pool *p, int64_t now);
/* Returns whether the pool was stopped, and all its sandboxes have ended or had enough
 * time for that. */
bool pool_is_over(const struct pool *p, int64_t now);
/* Returns whether a `take` should fail: no sandbox waits or is being made, because of
 * failures. */
bool pool_is_in_trouble(const struct pool *p);

void pool_clients_accept(struct pool *p, int64_t now);
void pool_clients_watch(const struct pool *p, struct pollfd *w);
void pool_clients_serve(struct pool *p, const struct pollfd *w);
/* Handles what clients have sent and answers requests that can be answered now. */
void pool_clients_work(struct pool *p, int64_t now);
/* Returns the earliest of the clients' deadlines; 0: there is none. */
int64_t pool_clients_due(const struct pool *p);
/* To be called when the pool has ended: answers the clients that have stopped it, and
 * closes all connections. */
void pool_clients_part(struct pool *p);

/* pool -- keeps sandboxes ready, and hands them out (hutch-pool(1)).
 *
 * One process for each pool, its keeper: one poll(2), no thread, no daemon
 * above it.  Each waiting sandbox is tied to the keeper by a lease
 * (supervisor/lease.h), whose end here is a connection to the sandbox.
 * The keeper never writes to that connection: it hands the sandbox out by
 * passing the connection on (SCM_RIGHTS), and the first client that writes to
 * it has the sandbox.  So
 *
 *	no sandbox is handed out twice: there is one such descriptor, and it is gone
 *	no client waits for a sandbox: the passed descriptor is connected already
 *	a sandbox that dies while it waits is noticed: its connection can be read
 *	the keeper's end, by SIGKILL too, ends those that wait and no others
 *	nothing is left if a client dies with its answer unread: the kernel closes the
 *	    descriptor that is on its way, and with it the lease
 *
 *	pool.c		the loop: waiting sandboxes, and those being made
 *	pace.c		when the next one is made
 *	pool_clients.c	connections: requests in, sandboxes out
 *	pool_spawn.c		makes one sandbox
 *
 * `now` is the time of the loop's turn, in ms of clock.h: only the loop reads
 * the clock. */
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
#define POOL_SPAWNS_MAX	  16  /* sandboxes made at a time; as many as there are CPUs,
			       * if these are fewer */
#define POOL_CLIENTS_MAX	  256 /* the most connections of clients */
#define POOL_LINE_MAX	  4096

/* A sandbox that no client has taken yet. */
struct waiting {
	int lease; /* owned; the connection that keeps the sandbox alive */
	int64_t since_ms;
	char name[REGISTRY_NAME_MAX + 1];
};

/* A connection.  One request of it is under way at a time; later ones are read
 * when that is answered. */
struct pool_client {
	struct connection conn;
	char *asks; /* owned: the id of a take or stop; NULL: none is under way */
	bool is_stop, has_hello, is_closing;
	uint64_t number;   /* the number of the take: the lowest number is served first */
	int64_t due_ms;	   /* the take waits until then; 0: for ever */
};

struct pool {
	struct pools_place place;
	struct list words; /* options for hutch create */
	char *program;	   /* owned: the path of hutch-supervise */
	char *created;	   /* owned; when the pool was made, as text */
	size_t size, together;
	int signals; /* owned; a signalfd(2) */
	int lease;   /* owned: the pool ends with this connection; -1: none */
	int ready;   /* owned: gets the outcome when the first sandbox is ready or has
		      * failed; -1: has got it */
	struct rlimit files;
	struct peer_self self;

	struct waiting waiting[POOL_SIZE_MAX]; /* the oldest first */
	size_t waiting_count;
	struct pool_spawn spawns[POOL_SPAWNS_MAX];
	size_t making;
	bool has_more;	    /* another sandbox can be made at once */
	struct pace pace;
	struct err trouble; /* the latest failure; kind ERR_NONE: the latest sandbox was
			     * made */
	struct err why;	    /* why the pool ends without having had a sandbox */
	uint64_t made, taken, failed, lost;

	struct pool_client *clients[POOL_CLIENTS_MAX]; /* owned; the connected clients */
	size_t client_count;
	uint64_t number;
	int64_t deaf_ms; /* no connection is accepted until then: there was no descriptor
			  * left */

	bool is_ending;
	int64_t end_ms;
};

/* Serves clients until the pool is stopped.  `place` must have been made; all
 * descriptors are taken over. */
void pool_run(struct pool *p);

/* --- between its parts ---------------------------------------------------------- */

/* Returns the oldest waiting sandbox that is alive; NULL: there is none. */
struct waiting *pool_oldest(struct pool *p, int64_t now);
/* Notes that the oldest waiting sandbox was handed out. */
void pool_taken(struct pool *p, int64_t now);
void pool_stop(struct pool *p, int64_t now);
/* Returns when pool_expire() or the next turn has something to do; 0: never. */
int64_t pool_due(const struct pool *p);
/* Gives up on spawns that are too late. */
void pool_expire(struct pool *p, int64_t now);
/* Returns whether the pool was stopped, and all sandboxes have ended or the time for
 * that is over. */
bool pool_is_over(const struct pool *p, int64_t now);
/* Returns whether a take cannot be answered, and will not be soon. */
bool pool_is_in_trouble(const struct pool *p);

void pool_clients_accept(struct pool *p, int64_t now);
void pool_clients_watch(const struct pool *p, struct pollfd *w);
void pool_clients_serve(struct pool *p, const struct pollfd *w);
/* Does all for the clients that can be done now. */
void pool_clients_work(struct pool *p, int64_t now);
/* Returns the earliest of the clients' deadlines; 0: there is none. */
int64_t pool_clients_due(const struct pool *p);
/* Called when the pool has ended: answers the clients that asked for that end, and
 * closes all connections. */
void pool_clients_part(struct pool *p);

/* lookups -- the names that are being looked up, and those that were lately: one question
 * upstream for all that wait for the same name, and none for an answer that is still
 * good.
 *
 * The guest asks for a name, and then connects to it; the connection uses the addresses
 * that the question has found, if their TTL allows.  There are at most LOOKUPS_MAX names,
 * so that a flood of names costs bounded memory; an old answer makes room.
 *
 * No function calls back: lookups_has_news() says that answers have come, and each waiter
 * looks at its own lookup. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "egress/resolved.h"

#define LOOKUPS_MAX	256
#define LOOKUPS_MS	10000 /* for an answer */
#define LOOKUPS_KEEP_MS 60000 /* the longest time that an answer is good for */
#define LOOKUPS_NONE_MS 1000  /* the same for a name without address */

struct hosts_file;
struct lookups;
struct resolver;

struct lookup {
	struct lookups *all;
	char name[HOST_NAME_BYTES_MAX + 1];
	bool is_pending; /* there is no answer yet */
	bool is_asked;	 /* the resolver will call back */
	unsigned users;	 /* waiters */
	int64_t due;	 /* pending: when it fails; else: until when it is good */
	int64_t asked_at;
	struct resolved found; /* unless it is pending */
};

struct lookups {
	struct lookup *items[LOOKUPS_MAX]; /* owned; NULL: free */
	struct resolver *resolver;	   /* borrowed */
	const struct hosts_file *hosts;	   /* borrowed */
	int64_t now; /* of the last call, for answers that come within
					    * the resolver */
	bool has_news;
};

/* Returns the lookup of a name, with or without an answer; NULL: too many are pending.
 * Each success needs one lookups_release(). */
struct lookup *lookups_get(struct lookups *l, const char *name, int64_t now);
void lookups_release(struct lookup *item);

/* Returns whether an answer has come since the last call. */
bool lookups_has_news(struct lookups *l);

/* Ends what has waited too long, and notes the time for answers that the resolver is
 * going to have: to be called at the begin of each turn. */
void lookups_tick(struct lookups *l, int64_t now);
/* Returns when lookups_tick() has something to end; 0: never. */
int64_t lookups_due(const struct lookups *l);

/* Frees all; the resolver must have been freed before. */
void lookups_done(struct lookups *l);

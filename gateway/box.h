/* box -- the sandboxes of hutch-serve, as its front knows them.
 *
 * A sandbox has a supervisor of its own and does not end with the server: a server that starts
 * finds those with its label again.  The front has a connection to a sandbox from its first use
 * on, by the spawner. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/box_id.h"
#include "gateway/keys.h"
#include "gateway/loop.h"
#include "gateway/order.h"
#include "gateway/spawn_link.h"
#include "hutch.h"

struct serve;

#define BOX_SESSION_MAX 128
#define BOXES_MAX	4096

enum box_kind {
	BOX_ACTIONS, /* the action server of OpenHands V0, which is hutch's executor */
	BOX_MAIN,    /* the main process of its image */
	BOX_PLAIN,   /* made by the native API, or for E2B */
	BOX_KINDS
};

enum box_state { BOX_STARTING, BOX_RUNNING, BOX_PAUSED, BOX_FAILED, BOX_ENDED };

struct box;

/* Called once: `why` is NULL where the sandbox can be used. */
typedef void box_ready(void *context, struct box *b, const struct hutch_error *why);
typedef void box_answer(void *context, const struct hutch_message *m);

struct box {
	struct boxes *all;
	struct box *next;
	char id[BOX_ID_MAX + 1]; /* its name, and that of the sandbox */
	char session[BOX_SESSION_MAX + 1];
	enum box_kind kind;
	enum box_state state;
	struct hutch_error why; /* FAILED, ENDED: the reason */
	unsigned epoch;		/* of its key: how often it was resumed */
	struct hutch *handle;	/* owned; NULL: not connected */
	struct watch watch;
	bool is_opening, is_removed;
	bool is_stopped; /* PAUSED without processes: it is started again at its use */
	char *info;		    /* owned: the last answer to `info`; NULL: none */
	struct box_wait *waits;	    /* owned */
	struct box_tag *tags;	    /* owned: calls without an answer yet */
	struct box_stream *streams; /* owned: those that want the output of processes */
	unsigned deliveries;	    /* under way, in which no stream is freed */
	unsigned busy;		    /* calls under way, which keep it from being paused */
	unsigned holds; /* others that point to it, which keep it from being freed */
	int64_t used_ms;	    /* when the last one ended */
	void *extra;	   /* what a protocol keeps about it; NULL: nothing */
	void (*extra_free)(void *extra); /* called when the sandbox is forgotten */
};

struct boxes {
	const struct serve *serve;
	struct loop *loop;
	struct spawn_link *link;
	struct box *first;
	size_t count;
	struct timer sweep;
};

void boxes_init(struct boxes *all, const struct serve *s, struct loop *l,
		struct spawn_link *link);

/* Asks the spawner for those that are there; `done` is called when they are known. */
void boxes_find(struct boxes *all, void *context, void (*done)(void *context));

/* How many have not ended. */
size_t boxes_alive(const struct boxes *all);

struct box *box_by_id(struct boxes *all, const char *id, size_t len);
struct box *box_by_session(struct boxes *all, const char *session);

/* While it is held it stays in memory, also if it has ended. */
void box_hold(struct box *b);
void box_release(struct box *b);

/* Makes a sandbox; o->name, its labels for `kind` and `session` are set here.  NULL: there are
 * BOXES_MAX, or as many as the operator allows (boxes_alive()).  It can be used when box_use() says so. */
struct box *box_create(struct boxes *all, enum box_kind kind, const char *session,
		       struct order *o);

/* Calls `ready` when the sandbox is connected and not paused, which it is made to be; at once
 * where it is. */
void box_use(struct box *b, void *context, box_ready *ready);
/* The same for a sandbox that may stay paused. */
void box_reach(struct box *b, void *context, box_ready *ready);

/* A tag for a call of libhutch: `done` gets the answer, also the error where the sandbox ends
 * before.  If the call fails, box_untag() takes the tag back. */
void *box_tag(struct box *b, void *context, box_answer *done);
void box_untag(void *tag);

/* Output and end of a process (exec.start) go to `take`, from now until box_unfollow(). */
struct box_stream *box_follow(struct box *b, int64_t process, void *context,
			      box_answer *take);
void box_unfollow(struct box *b, struct box_stream *s);

/* Pauses it, or lets it go on; `done` may be called before the return. */
void box_pause(struct box *b, void *context, box_ready *done);
void box_resume(struct box *b, void *context, box_ready *done);
/* Ends it, and forgets it when that is done; `done` is called before it is forgotten. */
void box_remove(struct box *b, void *context, box_ready *done);

/* Forgets one that could not be made. */
void box_drop(struct box *b);

/* Its key, that clients send. */
void box_key(const struct box *b, char ret[KEYS_BOX]);
const char *box_state_name(const struct box *b); /* "running", ... */

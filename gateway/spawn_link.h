/* spawn_link -- the front's side of its socket to the spawner (order.h). */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "gateway/loop.h"
#include "policy/json/json.h"

struct err;
struct order;

/* An answer of the spawner's. */
struct spawn_answer {
	const char *kind, *message; /* of an error; NULL: there is none */
	struct json_at said;	    /* the value of `said`; "no value": there is none */
	const char *text;	    /* the text of the answer, for json_source() */
	int fd;			    /* the descriptor that came with it, which the callee
				     * takes by setting -1; -1: none */
};

/* Reads the text in the file that came with it, allocated; "" where there is none. */
char *spawn_answer_text(const struct spawn_answer *a);

/* The kind of its error, an enum hutch_kind; HUTCH_SYSTEM where it is none of these. */
int spawn_answer_kind(const struct spawn_answer *a);

typedef void spawn_done(void *context, struct spawn_answer *a);

struct spawn_packet;
struct spawn_wait;

struct spawn_link {
	struct loop *loop;
	struct watch watch;
	uint64_t last_id;
	struct spawn_wait *waits; /* owned: requests under way */
	/* Owned: requests that the socket had no room for, in order. */
	struct spawn_packet *first, **last;
	size_t queued;		  /* their bytes */
	char *packet;		  /* owned: room for an answer */
	void *context;
	void (*told)(void *context);   /* the server is to stop */
	void (*broken)(void *context); /* the spawner is gone */
};

int spawn_link_init(struct spawn_link *l, struct loop *loop, int fd, struct err *e);
void spawn_link_done(struct spawn_link *l);

/* Sends a request, whose id is set here, or keeps it until the socket has room; `done` is called
 * once with the answer, also where the request cannot be sent.  A client is to try again later
 * where the kind of the error is "limit". */
void spawn_link_ask(struct spawn_link *l, struct order *o, void *context,
		    spawn_done *done);

/* The same with a file, which stays the caller's. */
void spawn_link_give(struct spawn_link *l, struct order *o, int file, void *context,
		     spawn_done *done);

/* asks -- one question that is put to all pods at once.
 *
 *	asks_begin
 *	`done` is called once, when each pod has answered or cannot be reached, or when
 *	`is_enough` says so of an answer; asks_end() at any time, also in `done`
 *
 * An answer has a bound.  An answer that breaks off or is no HTTP counts as none. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "gateway/loop.h"
#include "gateway/route/request.h"

struct asks;
struct dial;
struct front;

struct ask {
	struct asks *all;
	int pod;
	struct dial *dial; /* NULL: none is under way */
	struct timer again;
	struct watch watch; /* fd: owned */
	size_t sent;
	struct buffer said;
	bool is_over;
	unsigned status; /* 0: there is no answer */
	size_t body_at;	 /* the offset of the body in `said` */
};

struct asks {
	struct front *front;
	struct buffer question;
	struct ask *items; /* owned: one for each pod */
	size_t count, waiting;
	bool is_patient; /* pods that cannot be reached are tried until asks_end() */
	void *context;
	bool (*is_enough)(const struct ask *a); /* NULL: none is */
	void (*done)(void *context);
};

/* The question is `target` with the key of this request. */
struct asks *asks_begin(struct front *f, const struct request *r, struct span target,
			bool is_patient, void *context,
			bool (*is_enough)(const struct ask *a),
			void (*done)(void *context));
/* Accepts NULL. */
void asks_end(struct asks *a);

/* The body of an answer, and one of its fields. */
struct span ask_body(const struct ask *a);
struct span ask_field(const struct ask *a, const char *name);

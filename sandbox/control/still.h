/* still -- everything inside stands still: because somebody has paused it, or for somebody
 * who reads what was written to the root (docs/control.md, pause and snapshot).
 *
 * With a cgroup the kernel freezes it, and nobody inside can tell; without one pid 1 sends
 * signals.  Either takes a moment, which a pause does not wait for, and a reader does.
 *
 *	state		leaves it when
 *	no reader	still_begin()				-> WAITING
 *	WAITING		all stand: it gets the folder		-> READING
 *	both		its connection ends, or somebody unpauses or stops the
 *			sandbox; it goes on, unless it was paused before */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct client;
struct frame;
struct supervisor;

struct still {
	int64_t since_ms; /* of the pause, in ms of clock.h */
	uint32_t asked, stopped; /* SIGSTOPs that pid 1 was asked for, and has sent to all */
	struct client *reader;	 /* borrowed; NULL: none */
	char *request;		 /* owned: WAITING: its id */
	int to;			 /* owned: WAITING: where the folder is to be sent */
	bool is_for_reader;	 /* it was not paused before */
	int64_t due_ms;		 /* WAITING: no longer than this */
	int events;		 /* owned: WAITING: of the cgroup */
	struct err lost; /* why it stands still until the end, or until somebody insists */
};

void still_init(struct still *t);
void still_done(struct still *t);

/* -1: it failed, or the sandbox is in no state for it. */
int still_pause(struct supervisor *s, struct err *e);
/* What is unprotected by then stays so, and takes `is_forced`. */
int still_unpause(struct supervisor *s, bool is_forced, struct err *e);

/* The sentry's word: everybody stands still, or has to end. */
void still_unprotected(void *supervisor, const struct err *why);

/* The reader, whose `request` and socket `to` are taken over when this does not fail. */
int still_begin(struct supervisor *s, struct client *reader, char *request, int to,
		struct err *e);
void still_leave(struct supervisor *s, const struct client *c);

/* It is about to stop: nobody stands still any more. */
void still_end(struct supervisor *s);

/* MSG_PAUSED. */
int still_frame(struct supervisor *s, const struct frame *f, struct err *e);

/* A place for poll(2), and what is to be done behind it, or at still->due_ms. */
void still_watch(const struct still *t, struct pollfd *w);
void still_look(struct supervisor *s);

/* The folder that the sandbox's root writes to, as a descriptor over a client's socket. */
int still_give(const struct supervisor *s, int to, struct err *e);

/* What it is written over, as the answer of diff and snapshot has it.  Allocated. */
char *still_over(const struct supervisor *s);

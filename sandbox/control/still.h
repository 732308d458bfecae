/* still -- everything inside stands still: because somebody has paused it, or for somebody
 * who reads what was written to the root (docs/control.md, pause and snapshot).
 *
 * With a cgroup the kernel freezes it.  Without one pid 1 has every thread traced
 * (executor/seize.h); where that cannot be, and --best-effort allows it, pid 1 sends
 * signals, which the inside can undo.  Any of these takes a moment, and nobody is told
 * of a pause before it is one.
 *
 *	phase		leaves it when
 *	NOT		still_pause(), still_begin(), still_unprotected()	-> STOPPING
 *	STOPPING	all stand: who asked is answered			-> STANDS
 *			they do not, in time or at all: that is an error	-> NOT,
 *			or, where something was lost, the end of the sandbox
 *	STANDS		somebody unpauses or stops the sandbox, or the reader's
 *			connection ends and nobody else wanted it		-> NOT */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/message.h"

struct client;
struct frame;
struct supervisor;

enum still_phase { STILL_NOT, STILL_STOPPING, STILL_STANDS };
enum still_by { STILL_BY_CGROUP, STILL_BY_TRACING, STILL_BY_SIGNALS };

/* A client that waits for a pause. */
struct still_pauser {
	struct client *client; /* borrowed; NULL: nobody, or it has left */
	char *request;	       /* owned: its id */
};

struct still {
	enum still_phase phase;
	enum still_by by; /* the last time */
	int64_t since_ms; /* of the pause, in ms of clock.h */
	int64_t due_ms;	  /* STOPPING: no longer than this */
	int events;	  /* owned: STOPPING: of the cgroup */
	uint32_t asked, stopped; /* SIGSTOPs that pid 1 was asked for, and has sent to all */
	uint32_t freezes;	 /* how often it was asked to have all traced, */
	struct frozen frozen;	 /* and its last answer */
	struct still_pauser pauser;
	struct client *reader;	 /* borrowed; NULL: none */
	char *request;		 /* owned: the id of a reader that waits */
	int to;			 /* owned: where it is to be sent the folder */
	bool is_for_reader;	 /* nobody else wants it */
	struct err lost; /* why it stands still until the end, or until somebody insists */
};

void still_init(struct still *t);
void still_done(struct still *t);

/* True from the first moment of a pause, which no client is told of yet. */
bool still_is(const struct supervisor *s);

/* The answer to pause and unpause: how everything was stopped the last time. */
const char *still_by(const struct supervisor *s);

/* -1: it failed, or the sandbox is in no state for it.  If all stand for a reader already, it
 * is paused now.  Else `request` is taken over as still.pauser.request, and is answered
 * when all stand. */
int still_pause(struct supervisor *s, struct client *c, char *request, struct err *e);
/* What is unprotected by then stays so, and takes `is_forced`. */
int still_unpause(struct supervisor *s, bool is_forced, struct err *e);

/* The sentry has seen a loss: all inside stand still, or the sandbox ends. */
void still_unprotected(void *supervisor, const struct err *why);

/* The reader, whose `request` and socket `to` are taken over when this does not fail. */
int still_begin(struct supervisor *s, struct client *reader, char *request, int to,
		struct err *e);
void still_leave(struct supervisor *s, const struct client *c);

/* It is about to stop: nobody stands still any more. */
void still_end(struct supervisor *s);

/* MSG_PAUSED, MSG_FROZEN. */
int still_frame(struct supervisor *s, const struct frame *f, struct err *e);

/* A place for poll(2), and what is to be done behind it, or at still->due_ms. */
void still_watch(const struct still *t, struct pollfd *w);
void still_look(struct supervisor *s);

/* The folder that the sandbox's root writes to, as a descriptor over a client's socket. */
int still_give(const struct supervisor *s, int to, struct err *e);

/* The layers that it is written over, as the answer of diff and snapshot has it.  Allocated. */
char *still_over(const struct supervisor *s);

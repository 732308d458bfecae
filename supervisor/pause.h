/* pause -- stops everything inside: because a client has paused the sandbox, or
 * for a client that reads what was written to the root (docs/control.md, pause
 * and snapshot).
 *
 * With a cgroup the kernel freezes it.  Without one pid 1 has every thread
 * traced (executor/process/seize.h); where that cannot be, and --best-effort allows it,
 * pid 1 sends signals, which the inside can undo.  Each of these takes a
 * moment, and no client is told of a pause before everything stands still.
 *
 *	phase		leaves it when
 *	NOT		pause_pause(), pause_begin(), pause_unprotected() -> STOPPING
 *	STOPPING	all stand: the client that asked is answered	  -> STANDS
 *			they do not, in time or at all: an error	  -> NOT,
 *			or, if protection was lost, the sandbox ends
 *	STANDS		a client unpauses or stops the sandbox, or the reader's
 *			connection ends and no client has paused it	  -> NOT */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "protocol/message.h"

struct client;
struct frame;
struct supervisor;

enum pause_phase { PAUSE_NOT, PAUSE_STOPPING, PAUSE_STANDS };
enum pause_by { PAUSE_BY_CGROUP, PAUSE_BY_TRACING, PAUSE_BY_SIGNALS };

/* A client that waits for a pause. */
struct pause_pauser {
	struct client *client; /* borrowed; the client that asked; NULL: none, or it
			        * has left */
	char *request;	       /* owned: the id of the client's request */
};

struct pause {
	enum pause_phase phase;
	enum pause_by by; /* the means of the latest pause */
	int64_t since_ms; /* the beginning of the pause, in ms of clock.h */
	int64_t due_ms;	  /* in STOPPING: when all must stand still */
	int events;	  /* owned; in STOPPING: the file with the cgroup's events */
	uint32_t asked, stopped; /* SIGSTOPs to all: those that pid 1 was asked for, and
				  * the last one it has sent */
	uint32_t freezes;	 /* how often pid 1 was asked to trace all threads, */
	struct frozen frozen;	 /* pid 1's last answer to such a request */
	struct pause_pauser pauser;
	struct client *reader;	 /* borrowed; the client that reads the written files;
				  * NULL: none */
	char *request;		 /* owned: the id of a reader that waits */
	int to;			 /* owned: the socket on which the reader gets the
				  * folder */
	bool is_for_reader;	 /* no client has paused the sandbox itself */
	struct err lost; /* the lost protection: why all stands still until the end, or
			  * until a client insists */
};

void pause_init(struct pause *t);
void pause_done(struct pause *t);

/* Returns whether the sandbox is paused.  True from the first moment of a pause,
 * before any client is told. */
bool pause_is(const struct supervisor *s);

/* Returns the answer to pause and unpause: the means by which everything was stopped
 * the last time. */
const char *pause_by(const struct supervisor *s);

/* Pauses the sandbox for a client.  -1: that failed, or the sandbox is in no state for
 * it.  If all processes stand still for a reader already, the sandbox is paused now.
 * Else `request` is taken over as still.pauser.request, and answered when all stand
 * still. */
int pause_pause(struct supervisor *s, struct client *c, char *request, struct err *e);
/* Lets everything go on.  After a loss of protection this takes `is_forced`, and the
 * lost files stay unprotected. */
int pause_unpause(struct supervisor *s, bool is_forced, struct err *e);

/* Called when the protection watch has noticed a loss of protection: stops everything
 * inside, or ends the sandbox. */
void pause_unprotected(void *supervisor, const struct err *why);

/* Stops everything for a reader.  Takes over `request` and the socket `to`
 * unless it fails. */
int pause_begin(struct supervisor *s, struct client *reader, char *request, int to,
		struct err *e);
void pause_leave(struct supervisor *s, const struct client *c);

/* Called when the sandbox is about to stop: lets all processes go on. */
void pause_end(struct supervisor *s);

/* Takes the executor's answers about a pause, MSG_PAUSED and MSG_FROZEN. */
int pause_frame(struct supervisor *s, const struct frame *f, struct err *e);

/* pause_watch() fills in a place for poll(2); call pause_look() after it, and
 * at still->due_ms. */
void pause_watch(const struct pause *t, struct pollfd *w);
void pause_look(struct supervisor *s);

/* Sends the folder that the sandbox's root writes to, as a descriptor, over a
 * client's socket. */
int pause_give(const struct supervisor *s, int to, struct err *e);

/* Returns the layers below the folder that the root writes to, as in the answers of
 * diff and snapshot.  Allocated. */
char *pause_over(const struct supervisor *s);

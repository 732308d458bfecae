/* pause -- stops all processes inside: because a client asked for a pause, or while a
 * client reads the files that were written over the root (docs/control.md, pause and
 * snapshot).
 *
 * If there is a cgroup, the kernel freezes it.  Otherwise pid 1 stops every thread with
 * ptrace(2) (executor/process/seize.h).  If that is impossible and --best-effort allows
 * it, pid 1 sends SIGSTOP, which processes inside can undo.  All of these take a
 * moment; a client is told of a pause only when all processes have stopped.
 *
 * 	phase		is left when
 * 	NOT		pause_pause(), pause_begin(), pause_unprotected() -> STOPPING
 * 	STOPPING	all have stopped: the client gets its answer	  -> STANDS
 * 			not all stop in time: the client gets an error	  -> NOT,
 * 			or, if protection was lost, the sandbox ends
 * 	STANDS		a client unpauses or stops the sandbox; or the reader
 * 			disconnects, and no client has asked for a pause  -> NOT */
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

/* A client whose request `pause` is not answered yet. */
struct pause_pauser {
	struct client *client; /* borrowed; the client that asked; NULL: none, or it has
				* disconnected */
	char *request;	       /* owned: the id of the client's request */
};

struct pause {
	enum pause_phase phase;
	enum pause_by by; /* the means by which the latest pause was made */
	int64_t since_ms; /* the beginning of the pause, in ms of clock.h */
	int64_t due_ms;	  /* in STOPPING: the time at which all processes must have
			   * stopped */
	int events;	  /* owned; in STOPPING: the cgroup.events file, for poll(2) */
	uint32_t asked, stopped; /* rounds of SIGSTOP to all processes: how many pid
				  * 1 was asked for, and the number of the last one that
				  * it has reported */
	uint32_t freezes;	 /* how often pid 1 was asked to trace all threads */
	struct frozen frozen;	 /* pid 1's last report about that */
	struct pause_pauser pauser;
	struct client *reader;	 /* borrowed; the client that reads the written files;
				  * NULL: none */
	char *request;		 /* owned: the id of the reader's request, until it is
				  * answered */
	int to;			 /* owned: the socket over which the reader gets the
				  * folder's descriptor */
	bool is_for_reader;	 /* the pause is only for the reader; no client has
				  * asked for `pause` */
	struct err lost; /* kind ERR_NONE: no protection was lost; otherwise the pause
			  * lasts until the end or until unpause --force */
};

void pause_init(struct pause *t);
void pause_done(struct pause *t);

/* Returns whether the sandbox is paused or about to be, even before a client is told. */
bool pause_is(const struct supervisor *s);

/* Returns the name of the means by which the latest pause was made, for the answers to
 * pause and unpause. */
const char *pause_by(const struct supervisor *s);

/* Pauses the sandbox for a client.  -1: it failed, or the sandbox's state does not
 * allow it.  If all processes have already stopped for a reader, the sandbox is paused
 * at once.  Otherwise `request` is taken over as pause.pauser.request, and is answered
 * when all processes have stopped. */
int pause_pause(struct supervisor *s, struct client *c, char *request, struct err *e);
/* Lets all processes continue.  If protection was lost this requires `is_forced`; the
 * files concerned then stay unprotected. */
int pause_unpause(struct supervisor *s, bool is_forced, struct err *e);

/* Called when protect_watch.h has noticed that a protected file was replaced: stops all
 * processes, or ends the sandbox. */
void pause_unprotected(void *supervisor, const struct err *why);

/* Stops all processes for a reader.  On success takes over `request` and the socket
 * `to`. */
int pause_begin(struct supervisor *s, struct client *reader, char *request, int to,
		struct err *e);
void pause_leave(struct supervisor *s, const struct client *c);

/* To be called before the sandbox is stopped: lets all processes continue. */
void pause_end(struct supervisor *s);

/* Handles the executor's reports about a pause, MSG_PAUSED and MSG_FROZEN. */
int pause_frame(struct supervisor *s, const struct frame *f, struct err *e);

/* pause_watch() fills in a pollfd entry.  Call pause_look() after poll(2), and at
 * pause.due_ms. */
void pause_watch(const struct pause *t, struct pollfd *w);
void pause_look(struct supervisor *s);

/* Sends the folder with the files that were written over the sandbox's root, as a
 * descriptor, over the socket `to`. */
int pause_give(const struct supervisor *s, int to, struct err *e);

/* Returns JSON that describes the image's layers, over which the root's written files
 * lie, for the answers to diff and snapshot; allocated. */
char *pause_over(const struct supervisor *s);

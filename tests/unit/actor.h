/* actor -- plays the part of a supervisor that deals with sessions and files,
 * for tests of the executor.
 *
 * On top of supervisor.h: each call sends one request and waits for its answer,
 * at most PATIENCE_S. A frame about another request fails the test, except
 * where the test uses actor_expect() itself. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "protocol/action.h"
#include "tests/unit/supervisor.h"

#define NO_TIMEOUT 0

struct actor {
	struct supervisor s;
	uint32_t next; /* id of the next action */
	uint32_t file_session; /* the session for whose user file requests are done */
	char last[256]; /* the last command, for error messages */
	char *home;    /* owned; a folder, removed by actor_end() */
};

/* The end of an action, with all frames about it before. */
struct act {
	uint32_t type, id; /* MSG_REPORT, MSG_DONE, MSG_EDITED, MSG_RETURNED, MSG_STARTED,
			  * MSG_FAILED, MSG_NONE */
	char *content;	   /* owned; ends with a 0 */
	size_t len;
	char *output; /* owned; the streamed output */
	size_t output_len, outputs;
	struct report report;
	char cwd[4200], interpreter[4200], path[4200];
	uint32_t outcome, sys, pid;
	struct returned returned; /* but its texts path, cwd and interpreter */
	struct edited edited; /* the diff follows the text */
	struct failed failed;
};

/* Starts an executor, makes a folder that is HOME, and opens session 1 in it. */
void actor_start(struct actor *a);
/* The same without a session. */
void actor_begin(struct actor *a);
/* The same as actor_start(), with an executor that is a pid namespace's init. */
void actor_start_init(struct actor *a);
/* The same as actor_start_init(), and the executor has a procfs of its namespace. */
void actor_start_seeing(struct actor *a);
/* Ends the executor, which must end because the channel did. */
void actor_end(struct actor *a);
/* Frees the rest after the test has waited for the executor. */
void actor_clean(struct actor *a);

/* Returns a text without its 0. */
struct bytes bytes_of(const char *text);

/* Waits until `home` has a file of this name: a command makes one to tell how
 * far it is. */
void actor_await_file(const struct actor *a, const char *name);

/* Makes a FIFO in `home`. actor_open_fifo() opens it once a command has opened
 * its other end.  A command that reads it (`cat fifo`) waits until the caller
 * closes the returned descriptor. */
void actor_make_fifo(const struct actor *a, const char *name);
int actor_open_fifo(const struct actor *a, const char *name, int flags);

/* Waits until the executor has taken all requests so far and all output of
 * processes: a turn of its loop has gone by.  No other answer may come
 * meanwhile. */
void actor_sync(struct actor *a);
/* The same; returns false if another answer came first. */
bool actor_sync_alone(struct actor *a);

/* Asks for a session; an `env` of NULL stands for PATH, HOME and TERM. */
void actor_open(struct actor *a, uint32_t id, const char *cwd, char *const *env);

/* Asks for a session of another user, whose group has the same number. */
void actor_open_as(struct actor *a, uint32_t id, const char *cwd, uint32_t uid);

uint32_t actor_send_run(struct actor *a, uint32_t session, uint32_t kind,
			const char *text);
uint32_t actor_send(struct actor *a, struct run_request r);
/* Sends MSG_ENV with one variable to set and one to unset; NULL: none. */
void actor_env(struct actor *a, const char *set, const char *unset);
void actor_cancel(struct actor *a, uint32_t id);

/* Returns the next end of an action, whichever action it is. */
struct act actor_next(struct actor *a);
/* Returns the next end of an action, which must have this id. */
struct act actor_expect(struct actor *a, uint32_t id);
void act_done(struct act *x);

/* Runs a command in session 1 to its end. */
struct act actor_run(struct actor *a, const char *command);
/* The same; its content and exit code must be these. */
void actor_check(struct actor *a, const char *command, const char *content,
		 uint32_t exit_code);
/* The same for a request with a kind and time-outs; its state must be this one. */
struct act actor_do(struct actor *a, struct run_request r, uint32_t state);
/* Waits until the command that `r` starts or asks about has shown this, and
 * runs on.  A soft time-out that passes before is followed by another wait, so
 * no time-out can be too short. */
void actor_show(struct actor *a, struct run_request r, const char *content);

struct act actor_read(struct actor *a, uint32_t form, const char *path, uint64_t first,
		      uint64_t end);
/* Fills in the session; texts that are NULL become empty. */
struct act actor_edit(struct actor *a, struct edit_request r);
/* The same without waiting for the answer.  Returns the id. */
uint32_t actor_send_edit(struct actor *a, struct edit_request r);
/* Fills in the session, and the texts that are NULL. */
uint32_t actor_send_errand(struct actor *a, struct errand_request r);
struct act actor_errand(struct actor *a, struct errand_request r);
struct act actor_write(struct actor *a, const char *path, const char *content,
		       uint64_t first, uint64_t end);

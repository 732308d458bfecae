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
	uint32_t file_session; /* files are read and written as this session's user */
	char last[256]; /* the last command, for error messages */
	char *home; /* owned; path of the session's home folder, removed by actor_end() */
};

/* The answer to an action: its last frame, and the content of all its frames before. */
struct act {
	uint32_t type, id; /* MSG_REPORT, MSG_DONE, MSG_EDITED, MSG_RETURNED, MSG_STARTED,
			  * MSG_FAILED, MSG_NONE */
	char *content;	   /* owned; followed by a 0 byte */
	size_t len;
	char *output; /* owned; the streamed output */
	size_t output_len, outputs;
	struct report report;
	char cwd[4200], interpreter[4200], path[4200];
	uint32_t outcome, sys, pid;
	/* Without its texts path, cwd and interpreter, which are copied above. */
	struct returned returned;
	struct edited edited; /* content has the text first, and then the diff */
	struct failed failed;
};

/* Starts an executor, makes a folder that is HOME, and opens session 1 in it. */
void actor_start(struct actor *a);
/* Starts an executor without a session. */
void actor_begin(struct actor *a);
/* The same as actor_start(), but the executor is pid 1 of a pid namespace. */
void actor_start_init(struct actor *a);
/* The same as actor_start_init(), and the executor has a procfs of its namespace. */
void actor_start_seeing(struct actor *a);
/* Closes the channel, on which the executor must end, and frees the actor. */
void actor_end(struct actor *a);
/* Frees the actor without ending the executor, which the test has waited for. */
void actor_clean(struct actor *a);

/* Returns the bytes of a string, without its final 0. */
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
/* The same as actor_sync(), but returns false if another answer came first. */
bool actor_sync_alone(struct actor *a);

/* Asks for a session.  If `env` is NULL, its environment is PATH, HOME and TERM. */
void actor_open(struct actor *a, uint32_t id, const char *cwd, char *const *env);

/* Asks for a session of another user, whose group has the same number. */
void actor_open_as(struct actor *a, uint32_t id, const char *cwd, uint32_t uid);

uint32_t actor_send_run(struct actor *a, uint32_t session, uint32_t kind,
			const char *text);
uint32_t actor_send(struct actor *a, struct run_request r);
/* Sends MSG_ENV with one variable to set and one to unset; NULL stands for none. */
void actor_env(struct actor *a, const char *set, const char *unset);
void actor_cancel(struct actor *a, uint32_t id);

/* Returns the next answer, whichever action it belongs to. */
struct act actor_next(struct actor *a);
/* Returns the next answer, which must be about the action with this id. */
struct act actor_expect(struct actor *a, uint32_t id);
void act_done(struct act *x);

/* Runs a command in session 1 to its end. */
struct act actor_run(struct actor *a, const char *command);
/* Runs a command in session 1, and checks its output and exit code. */
void actor_check(struct actor *a, const char *command, const char *content,
		 uint32_t exit_code);
/* Sends a request with a kind and time-outs, and checks the state in its report. */
struct act actor_do(struct actor *a, struct run_request r, uint32_t state);
/* Waits until the command that `r` starts or asks about has printed `content` and
 * still runs.  If a soft time-out passes earlier, it waits again, so no time-out can
 * be too short. */
void actor_show(struct actor *a, struct run_request r, const char *content);

struct act actor_read(struct actor *a, uint32_t form, const char *path, uint64_t first,
		      uint64_t end);
/* Sends an edit for the current session, with empty texts for NULL, and waits for
 * the answer. */
struct act actor_edit(struct actor *a, struct edit_request r);
/* The same as actor_edit(), but does not wait for the answer.  Returns the action's
 * id. */
uint32_t actor_send_edit(struct actor *a, struct edit_request r);
/* Sends an errand for the current session, with empty texts for NULL.  Returns the
 * id. */
uint32_t actor_send_errand(struct actor *a, struct errand_request r);
struct act actor_errand(struct actor *a, struct errand_request r);
struct act actor_write(struct actor *a, const char *path, const char *content,
		       uint64_t first, uint64_t end);

/* actor -- what a supervisor does with sessions and files, for tests.
 *
 * On top of supervisor.h: each call sends one request and waits for its answer,
 * at most PATIENCE_S; everything that came meanwhile about others fails the test,
 * except where actor_expect() is used by hand. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/action.h"
#include "tests/unit/supervisor.h"

#define NO_TIMEOUT 0

struct actor {
	struct supervisor s;
	uint32_t next; /* id of the next action */
	uint32_t file_session; /* whose files are meant */
	char last[256]; /* the last command, for messages */
	char *home;    /* owned; a folder, removed in the end */
};

/* The end of an action, with all that came before it. */
struct act {
	uint32_t type, id; /* MSG_REPORT, MSG_DONE, MSG_EDITED, MSG_RETURNED, MSG_STARTED,
			  * MSG_FAILED, MSG_NONE */
	char *content;	   /* owned; with a 0 behind it */
	size_t len;
	char *output; /* owned; what was streamed */
	size_t output_len, outputs;
	struct report report;
	char cwd[4200], interpreter[4200], path[4200];
	uint32_t outcome, sys, pid;
	struct returned returned; /* but its texts: path, cwd and interpreter (the target) */
	struct edited edited; /* what is behind its text is the diff */
	struct failed failed;
};

/* An executor, a folder that is HOME, and session 1 in it. */
void actor_start(struct actor *a);
/* The same without a session. */
void actor_begin(struct actor *a);
/* As actor_start(), with an executor that is a pid namespace's init. */
void actor_start_init(struct actor *a);
/* And has a procfs of it. */
void actor_start_seeing(struct actor *a);
/* Checks that it ended because the channel did. */
void actor_end(struct actor *a);
/* The same after the executor was waited for. */
void actor_clean(struct actor *a);

/* A text without its 0. */
struct bytes bytes_of(const char *text);

/* Waits until there is a file of this name in `home`: a command says by it that it has come
 * so far. */
void actor_await_file(const struct actor *a, const char *name);

/* Makes a FIFO of this name there, and opens it when a command has opened its other end.  A
 * command that reads it (`cat fifo`) so waits until the caller closes what it gets. */
void actor_make_fifo(const struct actor *a, const char *name);
int actor_open_fifo(const struct actor *a, const char *name, int flags);

/* All that was asked for before has been taken, and so has what came from processes: a turn
 * of the executor's loop has gone by.  No other answer comes meanwhile. */
void actor_sync(struct actor *a);
/* The same; false: another answer came first. */
bool actor_sync_alone(struct actor *a);

/* Asks for a session; an `env` of NULL is PATH, HOME and TERM. */
void actor_open(struct actor *a, uint32_t id, const char *cwd, char *const *env);

/* As another user; the group has the same number. */
void actor_open_as(struct actor *a, uint32_t id, const char *cwd, uint32_t uid);

uint32_t actor_send_run(struct actor *a, uint32_t session, uint32_t kind,
			const char *text);
uint32_t actor_send(struct actor *a, struct run_request r);
/* MSG_ENV: one that is set, and one that is not any more; NULL: none. */
void actor_env(struct actor *a, const char *set, const char *unset);
void actor_cancel(struct actor *a, uint32_t id);

/* The next end of an action, whoever's. */
struct act actor_next(struct actor *a);
/* It must be about this id. */
struct act actor_expect(struct actor *a, uint32_t id);
void act_done(struct act *x);

/* Runs a command in session 1 to its end. */
struct act actor_run(struct actor *a, const char *command);
/* The same, and its content and exit code are these. */
void actor_check(struct actor *a, const char *command, const char *content,
		 uint32_t exit_code);
/* The same with a kind and time-outs, and the state is this one. */
struct act actor_do(struct actor *a, struct run_request r, uint32_t state);
/* The command that `r` is, or is about, shows this by and by and runs on: each soft time-out
 * that passes before is followed by another wait, so that none can be too short. */
void actor_show(struct actor *a, struct run_request r, const char *content);

struct act actor_read(struct actor *a, uint32_t form, const char *path, uint64_t first,
		      uint64_t end);
/* Fills in whose it is; the texts that are NULL are empty. */
struct act actor_edit(struct actor *a, struct edit_request r);
/* Without waiting; its id. */
uint32_t actor_send_edit(struct actor *a, struct edit_request r);
/* Fills in whose it is, and the texts that are NULL. */
uint32_t actor_send_errand(struct actor *a, struct errand_request r);
struct act actor_errand(struct actor *a, struct errand_request r);
struct act actor_write(struct actor *a, const char *path, const char *content,
		       uint64_t first, uint64_t end);

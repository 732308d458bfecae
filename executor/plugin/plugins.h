/* plugins -- programs in the sandbox that answer actions (docs/plugins.md).
 *
 * A plugin is a folder with a plugin.json and a process, which speaks lines of JSON on
 * its descriptors 0 and 1.  The process is one of the sandbox's user, and its lines are
 * not trusted: they are bounded, scanned strictly, and become typed messages to the
 * supervisor (protocol/plugin.h).  A process that breaks the contract is killed with its
 * descendants, and only its own actions fail.
 *
 * One turn of the executor's loop: plugins_watch, poll(2) until plugins_due at most,
 * plugins_serve, plugins_reaped for each child that is no command, plugins_expire.
 * `now` is the time of that turn; all times are in ms of all_processes_now().
 *
 *	plugins.c	  the set, its requests, and its part of the loop
 *	plugin_process.c  a plugin's process: start, failure, end
 *	plugin_write.c	  lines to the process
 *	plugin_read.c	  lines from the process
 *	plugin_answer.c	  an answer's line becomes MSG_ANSWERED
 *	plugin_ask.c	  the editor, which a process may ask for an edit */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct frame;
struct plugin;
struct pollfd;
struct processes;
struct send_queue;
struct sessions;
struct undo;
struct user;

/* One plugin has this many entries for poll(2). */
#define PLUGIN_POLLS 4

/* All plugins of the executor.  Begins as a zeroed struct, with the borrowed fields
 * set. */
struct plugins {
	struct plugin **all; /* owned; the array, and each plugin in it */
	size_t count;
	struct send_queue *replies;  /* borrowed */
	struct processes *processes; /* borrowed; counts the descriptors */
	struct sessions *sessions;   /* borrowed; for directories and variables */
	struct undo *undo;	     /* borrowed; of the editor */
	const struct user *user;     /* borrowed */
	int proc; /* borrowed; the procfs, as in tree.h; -1: none */
	bool is_ending; /* the sandbox is stopping: no process is started any more */
	bool is_lost; /* the executor could not become its own user again after an edit
		       * that a plugin had asked for, so it must end */
};

void plugins_done(struct plugins *s);

/* These functions answer MSG_PLUGIN and MSG_CALL.  Each returns -1 if the request is
 * malformed, or not permitted. */
int plugins_add(struct plugins *s, const struct frame *f, int64_t now, struct err *e);
int plugins_call(struct plugins *s, const struct frame *f, int64_t now, struct err *e);

/* Asks for the answer to a call now (MSG_CANCEL).  Returns false if no call has this
 * id. */
bool plugins_cancel(struct plugins *s, uint32_t id, int64_t now);

/* Tells the processes about changed variables: `f` is a valid MSG_ENV. */
void plugins_env(struct plugins *s, const struct frame *f);

/* Returns true if a plugin or a call has this id. */
bool plugins_has(const struct plugins *s, uint32_t id);

/* Fills in PLUGIN_POLLS entries for each plugin, and returns how many.  With `is_full` no
 * output is read. */
size_t plugins_watch(const struct plugins *s, struct pollfd *fds, bool is_full);
void plugins_serve(struct plugins *s, const struct pollfd *fds, int64_t now);
/* Called for a child that has ended and is not reaped yet: kills what it leaves behind if
 * it is the keeper (spawn.h) of a plugin's process, which something else has killed. */
void plugins_dying(struct plugins *s, pid_t pid);
/* Called for a child that has ended.  Returns false if it was no plugin's process. */
bool plugins_reaped(struct plugins *s, pid_t pid, int status, int64_t now);

/* Returns the time at which plugins_expire() is due; INT64_MAX: never. */
int64_t plugins_due(const struct plugins *s);
void plugins_expire(struct plugins *s, int64_t now);

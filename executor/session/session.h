/* session -- one session: the state of its shell, and of the command and the action in
 * it.
 *
 * The module has three parts, all of which work on `struct session`:
 *
 *   session	     the states below: starts, commands, reports and deaths
 *   session_action  the action on it: time-outs, input, keys, cancellation
 *   session_output  its terminal's output, and every answer
 *
 * States, and the event that leads to the next one:
 *
 *   DEAD      no shell         --a command-->         STARTING
 *   STARTING  bash starts up   --its first report-->  READY, or RUNNING
 *   READY     awaits a command --a command-->         RUNNING, or SETTING
 *   SETTING   sets variables   --its report-->        READY, or RUNNING
 *	       before a command
 *   RUNNING   runs a command   --its report-->        READY
 *   any       --the shell's death-->                  DEAD
 *
 * An action is answered when its command ends, when a time-out passes, or at once;
 * sessions.h describes sessions as a client sees them.
 *
 * Each `now`, and every `…_due`, is in ms of all_processes_now(). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/list.h"
#include "executor/session/output_log.h"
#include "executor/session/shell.h"
#include "executor/terminal/screen.h"
#include "protocol/message.h"

struct cgroup;
struct bytes;
struct all_processes;
struct pollfd;
struct processes;
struct send_queue;
struct user;
struct variables;

enum session_state { SESSION_DEAD, SESSION_STARTING, SESSION_READY, SESSION_SETTING,
		     SESSION_RUNNING };

/* How much drawing work one session may do in one turn of the executor's loop, in units
 * of display.h, so that every session gets its share.  It is enough for 2 KiB of lines of
 * one character, for 20 KiB of long lines, or for scrolling a thousand rows eight
 * times. */
#define SESSION_WORK (8u << 10)

/* The action that a client waits for in a session. */
struct session_action {
	uint32_t id; /* the id of the request; 0: there is no action */
	uint32_t kind, flags;
	int64_t soft_ms;      /* the soft time-out, in ms since the last output */
	int64_t soft_due, hard_due; /* when the two time-outs pass; INT64_MAX: never */
	unsigned kills;	      /* the number of the next step of a cancellation, from 1; 0:
			       * the action is not cancelled */
	int64_t kill_due;
	bool is_held; /* the action's output is streamed, but its reader does not read at
		       * present */
};

struct session {
	uint32_t id;
	struct send_queue *replies; /* borrowed */
	const struct user *user; /* borrowed */
	const struct cgroup *cgroup; /* borrowed */
	const struct all_processes *all_processes; /* borrowed */
	const struct variables *variables; /* borrowed */
	struct processes *processes; /* borrowed; counts the descriptors */
	int proc;		 /* borrowed; the procfs, as in tree.h; -1: none */
	uint8_t *request;	 /* owned; the body of MSG_OPEN */
	struct exec exec;	 /* owned; how the shell is started; its pointers lead
				  * into `request` and `env` */
	struct list env;	 /* owned; the shell's environment; empty until a variable
				  * is changed, and `exec.env` is used until then */
	uint64_t exec_number;	 /* the number of the last change of variables that `env`
				  * contains */

	enum session_state state;
	struct shell shell; /* owned */
	bool is_opened;	    /* the client was told that the session has started */
	bool is_gone;	    /* the session could not be started, or was ended; sessions.c
			     * removes it */
	bool is_bare;	    /* the shell is started without ~/.bashrc this time */
	bool is_new;	    /* the shell has replaced one that died, and no report has
			     * told the client so yet */
	unsigned place;	    /* the working directory for the next start, an index: 0: that
			     * of the last shell; 1: that of the request; 2: the root */
	int64_t start_due;
	bool is_put_off; /* a tracer pauses all processes, so the shell is started at
			  * start_due only */
	uint64_t known, being_set; /* the numbers of the last changes of variables that
				    * the shell has, and that it is being given */
	unsigned sets;		   /* how often setting the changed variables in the shell
				    * has failed */

	struct session_action action;
	uint8_t *pending; /* owned; the text of the running or the waiting command */
	size_t pending_len;
	bool is_pending; /* the command waits until the shell is ready for it */
	int64_t begun;	 /* when the shell got the command */
	bool is_second;	 /* the command is run a second time, since the first try did
			  * nothing; it is not tried again */
	char key;	 /* a key that sends a signal (like ^C), to be typed at key_due */
	int64_t key_due;
	pid_t hit;	 /* the foreground process group that got the last ^C */
	int64_t hit_due; /* when to check whether the last ^C was lost, since the program
			  * was ending or starting anyway; INT64_MAX: never */
	bool was_shell;	 /* the process group `hit` was a copy of the shell that had not
			  * called execve(2) yet */
	unsigned hits;	 /* how often the effect of the last ^C was checked */
	bool is_interrupted; /* a key that sends a signal was typed during this command */

	struct screen screen; /* owned; what the terminal shows; cleared after the end of
			       * a command was reported */
	uint64_t work;	      /* how much drawing work is left for this session in this
			       * turn, in units of display.h */
	struct buffer ahead;  /* owned; bytes that were read and are not drawn yet, since
			       * `work` was used up */
	bool is_draining;     /* after an end, the terminal is being read until it is
			       * empty or `drain_left` is 0 */
	size_t drain_left;
	bool is_ending;	      /* the shell has died, and its remaining output is being
			       * read */
	int ending;	      /* the wait status of the dead shell */
	bool is_reported;     /* the command has ended, and its remaining output is being
			       * read */
	bool has_begun;	      /* by the shell's report, the command was evaluated (false:
			       * SIGINT came before that) */
	bool is_waiting;      /* the terminal is not read at present, since the action's
			       * output is streamed and its reader does not read */
	struct output_log
		output_log; /* owned; records all output unchanged */
	uint8_t carry[4]; /* the first bytes of an incomplete character at the end of the
			   * streamed output */
	size_t carry_len;

	bool is_unread;	  /* the last command has ended, and no action was there to report
			   * that to */
	uint32_t reports; /* how many reports about the present command were sent */
	uint32_t status, background;
	char *cwd, *python; /* owned; the shell's working directory and the path of its
			     * python, from its last report; NULL before the first
			     * report */
	int64_t inner_due;  /* when to look again for an inner shell in the foreground;
			     * INT64_MAX: never */
	size_t more_fds;    /* how many descriptors are reserved for the shells in
			     * addition to SHELL_FDS */
	size_t watched;	    /* how many entries the session took for poll(2) */
	int parked; /* borrowed; while the session is idle, the epoll(7) that watches it;
		     * -1: the session has entries for poll(2) */
	bool was_idle; /* the session was idle in the turn before, too */
};

/* The state that all sessions share; all pointers are borrowed. */
struct session_world {
	struct send_queue *replies;
	const struct user *user;
	const struct cgroup *cgroup; /* the cgroup that shells enter */
	const struct all_processes *all_processes;
	struct output_logs *output_logs;
	const struct variables *variables;
	struct processes *processes; /* counts the descriptors */
	int proc;		     /* the procfs, as in tree.h; -1: none */
};

/* Starts the shell of a new session.  The session answers MSG_OPEN when the shell is
 * ready, or has failed.  Takes over `request`, into which the pointers of `exec` lead. */
struct session *session_new(uint32_t id, uint8_t *request, const struct exec *exec,
			    const struct session_world *world, int64_t now);
void session_free(struct session *s);

/* Applies changes of variables to the environment with which the session's processes are
 * started. */
void session_refresh(struct session *s);

/* Runs a command in the shell, at once or when the shell is ready; a dead shell is
 * started again first.  The session must have no other command. */
void session_command(struct session *s, struct bytes command, int64_t now);
/* Frees the text of the command, which is then not started any more; a command that runs
 * already is not affected. */
void session_drop_command(struct session *s);

/* Starts a shell whose start was put off because of a pause. */
void session_start_late(struct session *s, int64_t now);
/* Takes the next step to drive an inner shell (shell_inner.h): looks for one, or types
 * the line at its prompt that makes it read the start-up file.  Called at `inner_due`. */
void session_type_inner(struct session *s, int64_t now);

/* If the session is idle, lets `epoll` watch it from now on, until it is in use again.
 * An `epoll` of -1 means that there is no epoll(7); then the session keeps its entries
 * for poll(2). */
void session_park(struct session *s, int epoll);
/* Called when the epoll(7) reports an event of an idle session. */
void session_stir(struct session *s, int64_t now);

/* Do for one session what sessions_watch() and sessions_serve() do for all. */
size_t session_watch(struct session *s, struct pollfd *fds, bool is_full);
void session_serve(struct session *s, const struct pollfd *fds, int64_t now);
/* Returns true if the session has work left that needs no event from poll(2). */
bool session_has_more(const struct session *s);
void session_reaped(struct session *s, int status, int64_t now);

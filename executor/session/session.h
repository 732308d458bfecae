/* session -- one session: its shell's life, and what the executor knows of it.
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
 *   STARTING  a bash begins    --its first report-->  READY, or RUNNING
 *   READY     waits for one    --a command-->         RUNNING, or SETTING
 *   SETTING   its environment, --its report-->        READY, or RUNNING
 *	       for a command
 *   RUNNING   one command      --its report-->        READY
 *   any       --the shell's death-->                  DEAD
 *
 * An action is answered when its command ends, when a time-out passes, or at once;
 * sessions.h describes the rest.
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

/* The work that a session may draw in one turn, in units of display.h, so that every
 * session gets its share: 2 KiB of lines of one character, 20 KiB of long ones, or
 * eight scrollings of a thousand rows. */
#define SESSION_WORK (8u << 10)

/* The action that a client waits for in a session. */
struct session_action {
	uint32_t id; /* of the request; 0: there is no action */
	uint32_t kind, flags;
	int64_t soft_ms;      /* the soft time-out, in ms after the last output */
	int64_t soft_due, hard_due; /* when the time-outs pass; INT64_MAX: never */
	unsigned kills;	      /* how many steps of the cancellation were done; 0: the
			       * action is not cancelled */
	int64_t kill_due;
	bool is_held; /* the reader of the action's stream does not read at present */
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
	struct exec exec;	 /* owned; how the shell is started; points into `request`
				  * and `env` */
	struct list env;	 /* owned; the shell's environment; empty as long as no
				  * variable was changed */
	uint64_t exec_number;	 /* number of the last change of variables that is in
				  * `env` */

	enum session_state state;
	struct shell shell; /* owned */
	bool is_opened;	    /* MSG_OPEN was answered with *started* */
	bool is_gone;	    /* the session could not start, or was ended, and is to be
			     * forgotten */
	bool is_bare;	    /* the shell is started without ~/.bashrc this time */
	bool is_new;	    /* the shell is new, and no report has told the client so
			     * yet */
	unsigned place;	    /* number of the working directory that the next start tries
			     * (the last, the first, the root) */
	int64_t start_due;
	bool is_put_off; /* a pause by a tracer delays the start until start_due */
	uint64_t known, being_set; /* numbers of the last changes of variables that the
				    * shell knows, and that it is being given */
	unsigned sets;		   /* how often the shell was given these variables
				    * without success */

	struct session_action action;
	uint8_t *pending; /* owned; the text of the command that runs, or will run */
	size_t pending_len;
	bool is_pending; /* the command waits until the shell is ready */
	int64_t begun;	 /* when the shell got the command */
	bool is_second;	 /* the command was given to a shell before, and did nothing
			  * there */
	char key;	 /* a key that sends a signal (like ^C) and that is typed at
			  * key_due */
	int64_t key_due;
	pid_t hit;	 /* a process group that was ending when ^C came to it */
	int64_t hit_due; /* when the effect of that ^C is checked; INT64_MAX: never */
	bool was_shell;	 /* that group was then a copy of the shell that had not called
			  * execve(2) yet */
	unsigned hits;	 /* how often the effect of that ^C was checked */
	bool is_interrupted; /* a key that sends a signal was pressed meanwhile */

	struct screen screen; /* owned; what the terminal shows; empty after a command's
			       * end was reported */
	uint64_t work;	      /* how much drawing is left in this turn, in units of
			       * display.h */
	struct buffer ahead;  /* owned; bytes that were read, and not drawn yet since
			       * `work` was spent */
	bool is_draining;     /* the terminal is being read until it is empty, or
			       * `drain_left` bytes were read */
	size_t drain_left;
	bool is_ending;	      /* the shell has died, and its last output is being read */
	int ending;	      /* the wait status of the dead shell */
	bool is_reported;     /* the command has ended, and its last output is being
			       * read */
	bool has_begun;	      /* the command has done something, by the shell's report */
	bool is_waiting;      /* the terminal is not read now, since the action's stream
			       * has no reader */
	struct output_log
		output_log; /* owned; the output log, which holds the same bytes as they
			     * came */
	uint8_t carry[4]; /* the beginning of an incomplete character of the stream */
	size_t carry_len;

	bool is_unread;	  /* the last command ended while no action waited for it */
	uint32_t reports; /* how many reports there were about the command */
	uint32_t status, background;
	char *cwd, *python; /* owned; the shell's working directory and python, as last
			     * reported; NULL before the first report */
	int64_t inner_due;  /* when the foreground is checked again for an inner shell;
			     * INT64_MAX: never */
	size_t more_fds;    /* how many descriptors are reserved beyond SHELL_FDS */
	size_t watched;	    /* how many entries the session took for poll(2) */
	int parked; /* borrowed; the epoll(7) that watches the idle session instead of
		     * poll(2); -1: none */
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

/* Starts the shell of a new session; the session itself answers MSG_OPEN later.  Takes
 * over `request`, which `exec` was decoded from and points into. */
struct session *session_new(uint32_t id, uint8_t *request, const struct exec *exec,
			    const struct session_world *world, int64_t now);
void session_free(struct session *s);

/* Applies the changes of variables to the session's environment, which each process
 * that it starts gets. */
void session_refresh(struct session *s);

/* Gives the shell a command, at once or when the shell is ready; a dead shell is
 * started for it.  The session must have no other command. */
void session_command(struct session *s, struct bytes command, int64_t now);
/* Forgets the command; a command that has begun runs on. */
void session_drop_command(struct session *s);

/* Starts the shell whose start was put off during a pause. */
void session_start_late(struct session *s, int64_t now);
/* Types the line that lets an inner shell be driven.  Called at `inner_due`; see
 * shell_inner.h. */
void session_type_inner(struct session *s, int64_t now);

/* Hands an idle session to `epoll`, which watches it until it does something again.
 * -1: there is no epoll(7), and the session goes on taking entries for poll(2). */
void session_park(struct session *s, int epoll);
/* Called when the epoll(7) reports that a parked session has something to read. */
void session_stir(struct session *s, int64_t now);

/* Watches and serves one session, as sessions_watch() and sessions_serve() do for all. */
size_t session_watch(struct session *s, struct pollfd *fds, bool is_full);
void session_serve(struct session *s, const struct pollfd *fds, int64_t now);
/* Returns true if the session has work left that it can do without waiting in poll(2). */
bool session_has_more(const struct session *s);
void session_reaped(struct session *s, int status, int64_t now);

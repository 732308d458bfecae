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
	uint32_t id; /* 0: there is none */
	uint32_t kind, flags;
	int64_t soft_ms;      /* after the last output */
	int64_t soft_due, hard_due; /* INT64_MAX: never */
	unsigned kills;	      /* steps of the cancellation so far; 0: not cancelled */
	int64_t kill_due;
	bool is_held; /* its stream has no reader now */
};

struct session {
	uint32_t id;
	struct send_queue *replies; /* borrowed */
	const struct user *user; /* borrowed */
	const struct cgroup *cgroup; /* borrowed */
	const struct all_processes *all_processes; /* borrowed */
	const struct variables *variables; /* borrowed */
	struct processes *processes; /* borrowed; counts the descriptors */
	int proc;		 /* borrowed; tree.h; -1: none */
	uint8_t *request;	 /* owned; the body of MSG_OPEN */
	struct exec exec;	 /* owned; borrows from `request`, and from `env` */
	struct list env;	 /* owned; empty as long as no variable was changed */
	uint64_t exec_number;	 /* of the last change that is in `env` */

	enum session_state state;
	struct shell shell; /* owned */
	bool is_opened;	    /* MSG_OPEN was answered with *started* */
	bool is_gone;	    /* it has failed, or was ended: forget the session */
	bool is_bare;	    /* this start goes without ~/.bashrc */
	bool is_new;	    /* the shell is new, and no report has said so yet */
	unsigned place;	    /* which working directory the start tries */
	int64_t start_due;
	bool is_put_off; /* a pause by a tracer delays the start until start_due */
	uint64_t known, being_set; /* changes of variables, by their numbers */
	unsigned sets;		   /* how often the shell was given them without
				    * success */

	struct session_action action;
	uint8_t *pending; /* owned; the command that runs, or will run */
	size_t pending_len;
	bool is_pending; /* it waits until the shell is ready */
	int64_t begun;	 /* when the shell got it */
	bool is_second;	 /* the command was given before, and did nothing */
	char key;	 /* a key that sends a signal, which waits until key_due */
	int64_t key_due;
	pid_t hit;	 /* a process group that was ending when ^C came to it */
	int64_t hit_due; /* when the effect of that ^C is checked; INT64_MAX: never */
	bool was_shell;	 /* that group was then a copy of the shell that had not called
			  * execve(2) yet */
	unsigned hits;	 /* how often the effect was checked */
	bool is_interrupted; /* a key that sends a signal was pressed meanwhile */

	struct screen screen; /* owned; empty after a command's end was reported */
	uint64_t work;	      /* left in this turn; units of display.h */
	struct buffer ahead;  /* owned; bytes that were read, and not drawn yet for want
			       * of work */
	bool is_draining;     /* the terminal is being read until it is empty, or
			       * `drain_left` bytes were read */
	size_t drain_left;
	bool is_ending;	      /* the shell has died, and its last output is being read */
	int ending;	      /* its wait status */
	bool is_reported;     /* the command has ended, and its last output is being
			       * read */
	bool has_begun;	      /* the command did something, as the report says */
	bool is_waiting;      /* its terminal is not read now, since its stream has no
			       * reader */
	struct output_log
		output_log; /* owned; the output log: the same bytes as they came */
	uint8_t carry[4]; /* the beginning of an incomplete character, when streaming */
	size_t carry_len;

	bool is_unread;	  /* the last command ended while no action waited for it */
	uint32_t reports; /* how many reports there were about it */
	uint32_t status, background;
	char *cwd, *python; /* owned; as last reported; NULL before */
	int64_t inner_due;  /* when the foreground is checked again for a shell;
			     * INT64_MAX: never */
	size_t more_fds;    /* descriptors reserved beyond SHELL_FDS */
	size_t watched;	    /* entries that it took for poll(2) */
	int parked; /* borrowed: the epoll(7) that watches it instead of poll(2); -1:
		     * none */
};

/* The state that all sessions share; borrowed. */
struct session_world {
	struct send_queue *replies;
	const struct user *user;
	const struct cgroup *cgroup; /* the cgroup that shells enter */
	const struct all_processes *all_processes;
	struct output_logs *output_logs;
	const struct variables *variables;
	struct processes *processes; /* counts the descriptors */
	int proc;		     /* tree.h; -1: none */
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

/* Does the start that was put off. */
void session_start_late(struct session *s, int64_t now);
/* Called at `inner_due`; see shell_inner.h. */
void session_type_inner(struct session *s, int64_t now);

/* Hands an idle session to `epoll`, which watches it until it does something again.
 * -1: there is no epoll(7), and the session goes on taking entries for poll(2). */
void session_park(struct session *s, int epoll);
/* A parked session has something to read. */
void session_stir(struct session *s, int64_t now);

/* As in sessions.h, for one session. */
size_t session_watch(struct session *s, struct pollfd *fds, bool is_full);
void session_serve(struct session *s, const struct pollfd *fds, int64_t now);
/* True if the session has work left that it can do without poll(2). */
bool session_has_more(const struct session *s);
void session_reaped(struct session *s, int status, int64_t now);

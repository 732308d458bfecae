/* session -- one session: its shell's life, and what is known of it.
 *
 * Its parts, each on the same struct:
 *
 *   session	     the states below: starts, commands, reports and deaths
 *   session_action  who waits: time-outs, input, keys, cancellation
 *   session_output  what was printed, and every answer
 *
 * States, and what leads on:
 *
 *   DEAD      no shell         --a command-->         STARTING
 *   STARTING  a bash begins    --its first report-->  READY, or RUNNING
 *   READY     waits for one    --a command-->         RUNNING, or SETTING
 *   SETTING   its environment, --its report-->        READY, or RUNNING
 *	       for a command
 *   RUNNING   one command      --its report-->        READY
 *   any       --the shell's death-->                  DEAD
 *
 * An action is answered when its command ends, a time-out passes, or at once;
 * sessions.h has the rest.
 *
 * Each `now`, and all that is due, is in ms of everyone_now(). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/message.h"
#include "executor/screen.h"
#include "executor/shell.h"
#include "executor/tape.h"

struct cgroup;
struct bytes;
struct everyone;
struct pollfd;
struct processes;
struct replies;
struct user;
struct variables;

enum session_state { SESSION_DEAD, SESSION_STARTING, SESSION_READY, SESSION_SETTING,
		     SESSION_RUNNING };

/* A session draws so much in a turn, in units of display.h, so that all get their share: 2 KiB of
 * lines of one character, 20 KiB of long ones, or eight scrollings of a thousand rows. */
#define SESSION_WORK (8u << 10)

/* What somebody waits for. */
struct session_action {
	uint32_t id; /* 0: nobody */
	uint32_t kind, flags;
	int64_t soft_ms;      /* after the last output */
	int64_t soft_due, hard_due; /* INT64_MAX: never */
	unsigned kills;	      /* how far a cancellation has come */
	int64_t kill_due;
	bool is_held; /* its stream has no reader now */
};

struct session {
	uint32_t id;
	struct replies *replies; /* borrowed */
	const struct user *user; /* borrowed */
	const struct cgroup *cgroup; /* borrowed */
	const struct everyone *everyone; /* borrowed */
	const struct variables *variables; /* borrowed */
	struct processes *processes; /* borrowed; counts the descriptors */
	int proc;		 /* borrowed; tree.h; -1: none */
	uint8_t *request;	 /* owned; the body of MSG_OPEN */
	struct exec exec;	 /* owned; borrows from `request`, and from `env` */
	struct list env;	 /* owned; empty as long as no variable was changed */
	uint64_t exec_number;	 /* of the last change that is in it */

	enum session_state state;
	struct shell shell; /* owned */
	bool is_opened;	    /* *started* was said */
	bool is_gone;	    /* *failed* was said: forget it */
	bool is_bare;	    /* this start goes without ~/.bashrc */
	bool is_new;	    /* the shell is, and no report has said so */
	unsigned place;	    /* which working directory is being tried */
	int64_t start_due;
	bool is_put_off; /* the shell is started at start_due, when nobody is held */
	uint64_t known, being_set; /* changes of variables, by their numbers */
	unsigned sets;		   /* how often they were given without success */

	struct session_action action;
	uint8_t *pending; /* owned; the command that runs, or will */
	size_t pending_len;
	bool is_pending; /* it will, when the shell is ready */
	int64_t begun;	 /* when the shell got it */
	bool is_second;	 /* it has been given before, and did nothing */
	char key;	 /* one that is a signal, and waits until key_due */
	int64_t key_due;
	pid_t hit;	 /* a process group that was ending when ^C came to it */
	int64_t hit_due; /* it is looked what came of that; INT64_MAX: nothing */
	bool was_shell;	 /* that group was a copy of the shell then, and no program yet */
	unsigned hits;	 /* how often it was looked */
	bool is_interrupted; /* a key that is a signal was pressed meanwhile */

	struct screen screen; /* owned; empty when a command's end was told */
	uint64_t work;	      /* left in this turn; units of display.h */
	struct buffer ahead;  /* owned; read, and not drawn yet for want of work */
	bool is_draining;     /* all that the terminal holds is read, but `drain_left` at most */
	size_t drain_left;
	bool is_ending;	      /* the shell has died, and what was printed is being read */
	int ending;	      /* its wait status */
	bool is_reported;     /* the command has ended, and what was printed is being read */
	bool has_begun;	      /* it did something, as the report says */
	bool is_waiting;      /* its stream has no reader now */
	struct tape tape;     /* owned; the same, as it came */
	uint8_t carry[4]; /* of a character that is not whole, when streaming */
	size_t carry_len;

	bool is_unread;	  /* the last command ended while nobody waited */
	uint32_t reports; /* how many there were about it */
	uint32_t status, background;
	char *cwd, *python; /* owned; as last reported; NULL before */
	int64_t inner_due;  /* a shell in it is looked at again; INT64_MAX: none */
	size_t more_fds;    /* reserved beyond SHELL_FDS */
	size_t watched;	    /* places it took for poll(2) */
	int parked; /* borrowed: the epoll(7) that watches it instead; -1: none */
};

/* What all sessions share; borrowed. */
struct session_world {
	struct replies *replies;
	const struct user *user;
	const struct cgroup *cgroup; /* that shells enter */
	const struct everyone *everyone;
	struct tapes *tapes;
	const struct variables *variables;
	struct processes *processes; /* counts the descriptors */
	int proc;		     /* tree.h; -1: none */
};

/* Starts the shell of a new session; the answer comes by itself.  Takes over
 * `request`, of which `exec` is decoded. */
struct session *session_new(uint32_t id, uint8_t *request, const struct exec *exec,
			    const struct session_world *world, int64_t now);
void session_free(struct session *s);

/* Puts what was changed of the environment into `exec`, for whatever is started. */
void session_refresh(struct session *s);

/* A command for the shell, at once or when it is ready, which a dead one is started
 * for.  No other command may be there. */
void session_command(struct session *s, struct bytes command, int64_t now);
/* Forgets it; what has begun runs on. */
void session_drop_command(struct session *s);

/* The start that was put off. */
void session_start_late(struct session *s, int64_t now);
/* At `inner_due`: shell_inner.h. */
void session_type_inner(struct session *s, int64_t now);

/* Whoever does nothing is watched by `epoll` (-1: by nobody, and takes its places),
 * until it does something again. */
void session_park(struct session *s, int epoll);
/* Something happened to one that is parked. */
void session_stir(struct session *s, int64_t now);

/* As in sessions.h, for one. */
size_t session_watch(struct session *s, struct pollfd *fds, bool is_full);
void session_serve(struct session *s, const struct pollfd *fds, int64_t now);
/* It could go on without poll(2), for which it had no work left. */
bool session_has_more(const struct session *s);
void session_reaped(struct session *s, int status, int64_t now);

/* processes -- the commands that the supervisor asked for, and the reaping of every
 * child.
 *
 * A command is in the table from its request until *failed* or *exited* about it was
 * put into the channel's queue.  Pid 1 inherits every orphan: processes that are no
 * command are reaped and forgotten.
 *
 * One turn of the executor's loop is: processes_watch, poll(2), processes_serve,
 * processes_reap where SIGCHLD came, processes_report. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "executor/process/cgroup.h"
#include "executor/process/halt.h"
#include "protocol/message.h"

struct buffer;
struct err;
struct leaders;
struct pollfd;
struct relay;
struct user;

/* The table holds at most so many commands; a further one is answered with FAILED, stage
 * FORK, EAGAIN. */
#define PROCESSES_MAX 1024
/* A command fills in at most so many pollfds. */
#define PROCESSES_FDS 4

enum command_state {
	COMMAND_STARTING, /* the process was forked; its execve(2) has not succeeded or
			   * failed yet */
	COMMAND_RUNNING,  /* *started* was sent, or is to be sent */
	COMMAND_FAILED,	  /* *failed* is to be sent */
};

struct command {
	uint32_t id;
	pid_t pid; /* of the command's process, and the id of its process group; 0: there
		    * is no process */
	enum command_state state;
	bool is_last, is_started_said, is_reaped;
	bool copies; /* EXEC_COPIES: runs the executor's own code, and must not be kept
		      * stopped */
	bool is_late; /* the inside kept it stopped, and it was killed for that */
	struct halt halt;
	size_t watched;	      /* how many entries the command took for poll(2) */
	int status;	      /* owned; the pipe that reports execve(2), while STARTING
			       * (spawn.h) */
	struct relay *relay;  /* owned; NULL without a terminal */
	struct failed failed; /* the stage and errno of the failure, when
			       * COMMAND_FAILED */
	struct exited exited; /* the exit status and the used CPU time, when reaped */
};

struct processes {
	struct command *commands; /* owned; in the order of the requests */
	size_t count, room;
	size_t fds, fds_max; /* descriptors that the commands take, and how many they may
			      * take */
	struct cgroup cgroup; /* the cgroup that commands enter */
	bool is_over;	     /* a last command has been reported */
	bool holds_last;     /* set by the owner: the end of a last command is not to be
			      * reported yet */
	/* Called for every child that is no command (a session's shell, or an orphan):
	 * `before_other` when the child has ended, `on_other` when it was reaped.  Both
	 * may be NULL. */
	void (*before_other)(void *who, pid_t pid);
	void (*on_other)(void *who, pid_t pid, int status);
	void *who; /* borrowed; the first argument of these callbacks */
};

/* A request for a command, with the descriptors that came beside it. */
struct command_request {
	uint32_t id;
	const struct exec *exec; /* borrowed */
	int fds[3];		 /* the command's stdin, stdout and stderr;
				  * processes_start() takes them over */
};

/* Makes an empty table.  RLIMIT_NOFILE says how many descriptors it may use. */
void processes_init(struct processes *p);
/* Closes the commands' terminals and descriptors, and frees the table; the commands'
 * processes go on. */
void processes_done(struct processes *p);

/* Counts descriptors that other modules of the executor take.  Returns false if there
 * would be too many; then none is counted. */
bool processes_reserve(struct processes *p, size_t fds);
void processes_release(struct processes *p, size_t fds);

/* Returns the command of this id; NULL: there is none. */
struct command *processes_find(struct processes *p, uint32_t id);

/* Starts a command.  A failure is reported as the protocol says, so there is nothing to
 * return.  The id must not be in use. */
void processes_start(struct processes *p, const struct command_request *request,
		     const struct user *self);

/* Signals the command's process group; does nothing when the command has ended. */
void processes_signal(struct processes *p, uint32_t id, int signo);
/* Ends the command's process tree; does nothing when the command has ended.  `proc` is
 * as in tree.h. */
void processes_end(struct processes *p, uint32_t id, int proc);
/* Resizes the command's terminal; does nothing when it has none or has ended. */
void processes_resize(struct processes *p, uint32_t id, uint32_t rows, uint32_t cols);

/* Adds the processes of the commands that have a terminal to the leaders. */
void processes_add_leaders(const struct processes *p, struct leaders *to);

/* Fills in at most PROCESSES_FDS entries for each command, and returns how many entries
 * it filled in. */
size_t processes_watch(struct processes *p, struct pollfd *fds);
/* Called after poll(2), with the same entries; no command was started in between. */
void processes_serve(struct processes *p, const struct pollfd *fds);

/* Checks for copies (EXEC_COPIES) that the inside has stopped (halt.h): a stopped copy is
 * continued, and a copy that is stopped too often is killed.  No copy is checked while
 * `is_paused`.  Times are in ms of all_processes_now(); processes_look_due() returns the
 * time of the next check; INT64_MAX: there is no copy. */
void processes_look(struct processes *p, bool is_paused, int64_t now);
int64_t processes_look_due(const struct processes *p);

/* Reaps a bounded number of processes.  Returns true if there may be more to reap. */
bool processes_reap(struct processes *p);

/* Puts due reports into `out`, and forgets the commands whose end was reported.  Returns
 * -1 if the reports do not fit, which the channel's bounds rule out. */
int processes_report(struct processes *p, struct buffer *out, struct err *e);

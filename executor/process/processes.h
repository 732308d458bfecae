/* processes -- the commands that the supervisor asked for, and the reaping of every
 * child.
 *
 * A command stays in the table from its request until the message MSG_FAILED or
 * MSG_EXITED about it was put into the channel's output.  Pid 1 also inherits every
 * orphan: a child that is no command is reaped, and `on_other` is told.
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

/* The table holds at most this many commands; a further one is answered with MSG_FAILED,
 * with stage EXEC_STAGE_FORK and EAGAIN. */
#define PROCESSES_MAX 1024
/* A command uses at most this many entries for poll(2). */
#define PROCESSES_FDS 4

enum command_state {
	COMMAND_STARTING, /* the process was forked; its execve(2) has not succeeded or
			   * failed yet */
	COMMAND_RUNNING,  /* execve(2) has succeeded; MSG_STARTED was sent, or is to be
			   * sent */
	COMMAND_FAILED,	  /* the command could not be started; MSG_FAILED is to be sent */
};

struct command {
	uint32_t id;
	pid_t pid; /* the command's process, which is also the id of its process group; 0:
		    * there is no process */
	enum command_state state;
	bool is_last, is_started_said, is_reaped;
	bool is_alone; /* with EXEC_ALONE: signals go to the process alone */
	bool copies; /* with EXEC_COPIES: the process runs the executor's own code
		      * (copy.h), and is continued if a command stops it (halt.h) */
	bool is_late; /* the process was killed since commands kept it stopped */
	struct halt halt;
	size_t watched;	      /* how many entries the command took for poll(2) */
	int status;	      /* owned; while COMMAND_STARTING, the pipe that reports the
			       * result of execve(2) (spawn.h); -1: closed */
	struct relay *relay;  /* owned; NULL without a terminal */
	struct failed failed; /* the stage and errno of the failure, when
			       * COMMAND_FAILED */
	struct exited exited; /* the exit status and the used CPU time, when reaped */
};

struct processes {
	struct command *commands; /* owned; in the order of the requests */
	size_t count, room;
	size_t fds, fds_max; /* how many descriptors the executor's modules use by their
			      * own count, and the limit */
	struct cgroup cgroup; /* the cgroup that commands enter */
	bool is_over;	     /* the end of the sandbox's last command was reported */
	bool holds_last;     /* set by the owner of this struct: the end of the sandbox's
			      * last command must not be reported yet */
	/* Called for every child that is no command (a session's shell, or an orphan):
	 * `before_other` after the child has ended, while it is not reaped yet, and
	 * `on_other` after it was reaped.  Both may be NULL. */
	void (*before_other)(void *context, pid_t pid);
	void (*on_other)(void *context, pid_t pid, int status);
	void *context; /* borrowed; the first argument of the two callbacks */
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

/* Reserves descriptors for another module of the executor.  Returns false, and reserves
 * none, if there would be too many. */
bool processes_reserve(struct processes *p, size_t fds);
void processes_release(struct processes *p, size_t fds);

/* Returns the command of this id; NULL: there is none. */
struct command *processes_find(struct processes *p, uint32_t id);

/* Starts a command.  A failure is reported to the supervisor as a message, so nothing is
 * returned.  The id must not be in use. */
void processes_start(struct processes *p, const struct command_request *request,
		     const struct user *self);

/* Signals the command's process group; does nothing when the command has ended. */
void processes_signal(struct processes *p, uint32_t id, int signo);
/* Kills the command and all its descendants; does nothing when the command has ended.
 * `proc` is as in tree.h. */
void processes_end(struct processes *p, uint32_t id, int proc);
/* Resizes the command's terminal; does nothing when it has none or has ended. */
void processes_resize(struct processes *p, uint32_t id, uint32_t rows, uint32_t cols);

/* Adds the commands that have a terminal to the leaders (all_processes.h). */
void processes_add_leaders(const struct processes *p, struct leaders *to);

/* Fills in at most PROCESSES_FDS entries for each command, and returns how many entries
 * it filled in. */
size_t processes_watch(struct processes *p, struct pollfd *fds);
/* Called after poll(2), with the entries that processes_watch() filled in; no command may
 * have been started in between. */
void processes_serve(struct processes *p, const struct pollfd *fds);

/* Checks for copies (EXEC_COPIES) that a command has stopped (halt.h): a stopped copy is
 * continued, and a copy that is stopped too often is killed.  No copy is checked while
 * `is_paused`.  Times are in ms of all_processes_now().  processes_look_due() returns the
 * time of the next check; INT64_MAX: there is no copy. */
void processes_look(struct processes *p, bool is_paused, int64_t now);
int64_t processes_look_due(const struct processes *p);

/* Reaps a bounded number of processes.  Returns true if there may be more to reap. */
bool processes_reap(struct processes *p);

/* Puts due reports into `out`, and forgets the commands whose end was reported.  Returns
 * -1 if the reports do not fit, which the channel's bounds rule out. */
int processes_report(struct processes *p, struct buffer *out, struct err *e);

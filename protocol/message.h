/* message -- the messages between the supervisor and the executor.
 *
 * Both ends share these types and their encoding, so that docs/protocol.md has one
 * implementation.  Encoding appends a frame to a buffer; decoding takes a frame and
 * gives borrowed pointers into it.  Every decode refuses a body with a missing,
 * surplus or malformed field, or a value out of its range. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* A field of MSG_HELLO. Both ends are built together, so their versions must be equal. */
#define PROTOCOL_VERSION 1

enum message_type {
	MSG_NONE,
	MSG_HELLO,    /* from the executor: its version and ids; its first message, sent
		      * once */
	MSG_EXEC,     /* to the executor: run a command */
	MSG_STARTED,  /* from the executor: the command's execve succeeded */
	MSG_FAILED,   /* from the executor: its execve failed */
	MSG_EXITED,   /* from the executor: the command ended */
	MSG_SIGNAL,   /* to the executor: send a signal to a command's process group */
	MSG_RESIZE,   /* to the executor: a command's terminal has a new size */
	MSG_STOP,     /* to the executor: ask every process in the sandbox to end, then
		      * end yourself */
	MSG_CGROUP,   /* to the executor: the cgroup that commands enter; sent once,
		      * before other requests */
	MSG_OPEN,     /* to the executor: start a session */
	MSG_RUN,      /* to the executor: a command or input for a session's shell */
	MSG_CANCEL,   /* to the executor: end an action */
	MSG_READ,     /* to the executor: read a file */
	MSG_WRITE,    /* to the executor: write a file */
	MSG_OUTPUT,   /* from the executor: output of an action, while the command runs */
	MSG_CONTENT,  /* from the executor: a part of the content of an answer */
	MSG_REPORT,   /* from the executor: the end of the answer to a MSG_RUN */
	MSG_DONE,     /* from the executor: the end of the answer to a MSG_READ or
		      * MSG_WRITE */
	MSG_END,      /* to the executor: end a command or a session, with all its
		      * descendants */
	MSG_HOLD,     /* to the executor: pause all processes, or one action's output; or
		      * let them go on */
	MSG_EDIT,     /* to the executor: edit a file, or show it as an editor does */
	MSG_EDITED,   /* from the executor: the end of the answer to a MSG_EDIT */
	MSG_ERRAND,   /* to the executor: an errand, such as a search or a change in a
		      * folder */
	MSG_RETURNED, /* from the executor: the end of the answer to a MSG_ERRAND */
	MSG_ENV,      /* to the executor: change environment variables of all sessions */
	MSG_PAUSED,   /* from the executor: all processes got the SIGSTOP of a MSG_HOLD */
	MSG_DIAL,     /* to the executor: connect to a port in the sandbox */
	MSG_FINISH,   /* to the executor: the connection's pipe has no bytes after those
		      * in it */
	MSG_HANGUP,   /* to the executor: reset that connection */
	MSG_FINISHED, /* from the executor: the connection's other pipe has no bytes
		       * after those in it */
	MSG_CLOSED,   /* from the executor: a connection has ended; the last message about
		      * it */
	MSG_FREEZE,   /* to the executor: stop all processes with ptrace(2), or let them
		      * go on */
	MSG_FROZEN,   /* from the executor: all processes are stopped, or the reason why
		      * they are not */
	MSG_PLUGIN,   /* to the executor: a plugin of the sandbox (protocol/plugin.h) */
	MSG_OFFER,    /* from the executor: the actions that a plugin answers */
	MSG_STATE,    /* from the executor: the state of a plugin's process */
	MSG_CALL,     /* to the executor: an action for a plugin */
	MSG_ANSWERED, /* from the executor: the end of the answer to a MSG_CALL */
	MSG_COUNT
};

/* Why the processes in the sandbox could not be stopped (MSG_FROZEN). */
enum freeze_why {
	FREEZE_STANDS, /* they stand still */
	FREEZE_TRACED, /* a process is traced already, by another one in the sandbox */
	FREEZE_DENIED, /* the kernel forbids ptrace(2) */
	FREEZE_LATE,   /* a process did not stop in time */
	FREEZE_FAILED, /* the process that traces the others could not work, or has
		        * ended */
	FREEZE_WHY_COUNT
};

struct frozen {
	uint32_t number; /* the number of the MSG_FREEZE that this message answers */
	uint32_t why;	 /* enum freeze_why */
	uint32_t pid;	 /* the process that `why` is about, its pid in the sandbox; 0:
			  * unknown */
};

/* The most resource limits and the most supplementary groups in one request. */
#define EXEC_MAX_RLIMITS 16
#define EXEC_MAX_GROUPS 64
#define EXEC_FILTER_UNIT 8 /* the size of a struct sock_filter in bytes */
/* the size in bytes of a filter with 4096 instructions, the kernel's limit
 * (BPF_MAXINSNS) */
#define EXEC_MAX_FILTER	 (4096 * EXEC_FILTER_UNIT)

enum exec_flag {
	EXEC_PTY = 1,	  /* give the command a terminal, from the sandbox's own devpts */
	EXEC_LAST = 2,	  /* end the sandbox when this command ends */
	EXEC_PACK = 4,	  /* execute no program: the process writes a tar of argv[1] to
			   * stdout */
	EXEC_UNPACK = 8,  /* execute no program: the process unpacks a tar from stdin to
			   * the path argv[1]; an argv[2] replaces the first component of
			   * its names */
	EXEC_TREE = 16,	  /* make the command the subreaper of its descendants
			   * (prctl(2)) */
	EXEC_FOLLOW = 32, /* with EXEC_PACK: follow argv[1] if it is a link */
	EXEC_FILE =
		64, /* with EXEC_UNPACK: argv[1] is the path of one file; a file that the
		     * user may not write to is not replaced */
	EXEC_PARENTS = 128, /* with EXEC_FILE: make the missing folders above argv[1] */
	EXEC_ALONE =
		256, /* send signals to the process alone, not to its process group */
	EXEC_CONTENTS = 512, /* with EXEC_PACK: files in place of links */
	EXEC_FLAGS = 1023
};
#define EXEC_COPIES (EXEC_PACK | EXEC_UNPACK) /* either flag makes the command a copy
					       * into or out of the sandbox */

/* The exit codes of a process that copies (EXEC_PACK, EXEC_UNPACK). */
enum copy_exit {
	COPY_DONE,
	COPY_FAILED,
	COPY_NOT_FOUND,
	COPY_REFUSED,
	COPY_EXISTS,
	COPY_NO_SPACE,
	COPY_LIMIT,
	COPY_INVALID,
	COPY_TIMED_OUT, /* processes in the sandbox kept the copying process stopped for
			 * too long */
	COPY_EXIT_COUNT
};

/* The step of starting a command that failed (MSG_FAILED). */
enum exec_stage {
	EXEC_STAGE_NONE,
	EXEC_STAGE_PTY,	   /* opening a terminal */
	EXEC_STAGE_FORK,   /* making the process */
	EXEC_STAGE_RLIMIT, /* setting a resource limit */
	EXEC_STAGE_USER,   /* becoming the user */
	EXEC_STAGE_CWD,	   /* entering the working directory */
	EXEC_STAGE_LOOKUP, /* finding the program in PATH */
	EXEC_STAGE_FILTER, /* installing the command's own seccomp filter */
	EXEC_STAGE_EXECVE, /* execve(2) itself */
	EXEC_STAGE_CGROUP, /* entering the cgroup */
	EXEC_STAGE_COUNT
};

struct buffer;
struct err;
struct fields;
struct frame;
struct list;

struct hello {
	uint32_t version;
	uint32_t pid;	   /* always 1: the executor is init */
	uint32_t uid, gid; /* the executor's ids inside */
	uint64_t caps;	   /* the executor's permitted capabilities, one bit for each */
};

struct exec_rlimit {
	uint32_t resource; /* RLIMIT_* of setrlimit(2) */
	uint64_t soft, hard;
};

/* A command. For encoding, the supervisor owns all memory; after decoding, the texts are
 * borrowed from the frame, and `argv` and `env` are freed with exec_done(). */
struct exec {
	uint32_t flags;	   /* enum exec_flag */
	uint32_t uid, gid; /* the command's ids inside */
	uint32_t rows, cols; /* the size of the terminal, with EXEC_PTY */
	const char *cwd;
	char **argv, **env; /* NULL-terminated */
	uint32_t rlimit_count;
	struct exec_rlimit rlimits[EXEC_MAX_RLIMITS];
	/* Borrowed; a seccomp program for this command, an array of struct sock_filter,
	 * which is installed on top of the inherited ones. filter_len 0: none. */
	const void *filter;
	uint32_t filter_len;
	uint32_t group_count; /* supplementary groups, inside */
	uint32_t groups[EXEC_MAX_GROUPS];
};

struct failed {
	uint32_t stage; /* enum exec_stage */
	uint32_t sys;	/* errno, 1..4095 */
};

struct exited {
	uint32_t is_signaled; /* whether a signal ended the command: 0 or 1 */
	uint32_t status;      /* exit code 0..255, or signal 1..64 */
	uint64_t user_us, sys_us; /* CPU time of the command and of the children that it
				   * has waited for, in us */
};

int message_put_hello(struct buffer *b, const struct hello *h, struct err *e);
int message_get_hello(const struct frame *f, struct hello *ret, struct err *e);

/* Puts a MSG_EXEC, or a MSG_OPEN or MSG_PLUGIN, which have the same body. */
int message_put_exec(struct buffer *b, uint32_t id, const struct exec *x, struct err *e);
int message_put_open(struct buffer *b, uint32_t id, const struct exec *x, struct err *e);
int message_put_plugin(struct buffer *b, uint32_t id, const struct exec *x,
		       struct err *e);
int message_get_exec(const struct frame *f, struct exec *ret, struct err *e);
void exec_done(struct exec *x);

int message_put_started(struct buffer *b, uint32_t id, uint32_t pid, struct err *e);
int message_get_started(const struct frame *f, uint32_t *ret_pid, struct err *e);

int message_put_failed(struct buffer *b, uint32_t id, const struct failed *x,
		       struct err *e);
int message_get_failed(const struct frame *f, struct failed *ret, struct err *e);

int message_put_exited(struct buffer *b, uint32_t id, const struct exited *x,
		       struct err *e);
int message_get_exited(const struct frame *f, struct exited *ret, struct err *e);

int message_put_signal(struct buffer *b, uint32_t id, uint32_t signo, struct err *e);
int message_get_signal(const struct frame *f, uint32_t *ret_signo, struct err *e);

int message_put_resize(struct buffer *b, uint32_t id, uint32_t rows, uint32_t cols,
		       struct err *e);
int message_get_resize(const struct frame *f, uint32_t *ret_rows, uint32_t *ret_cols,
		       struct err *e);

int message_put_stop(struct buffer *b, uint32_t grace_ms, struct err *e);
int message_get_stop(const struct frame *f, uint32_t *ret_grace_ms, struct err *e);

int message_put_end(struct buffer *b, uint32_t id, struct err *e);
int message_get_end(const struct frame *f, struct err *e);

int message_put_hold(struct buffer *b, bool is_held, struct err *e);
int message_get_hold(const struct frame *f, bool *ret_is_held, struct err *e);

/* `number` says which SIGSTOP to all processes is meant; they are counted from 1. */
int message_put_paused(struct buffer *b, uint32_t number, struct err *e);
int message_get_paused(const struct frame *f, uint32_t *ret_number, struct err *e);
/* Puts or gets a MSG_FREEZE. `number` is repeated in the answer; 0: let all processes go
 * on. */
int message_put_freeze(struct buffer *b, uint32_t number, struct err *e);
int message_get_freeze(const struct frame *f, uint32_t *ret_number, struct err *e);
int message_put_frozen(struct buffer *b, const struct frozen *what, struct err *e);
int message_get_frozen(const struct frame *f, struct frozen *ret, struct err *e);

/* The bit that is set in the ids of connections, and in no other ids. */
#define DIAL_ID (1u << 31)
/* The most connections to ports in the sandbox that may be open at a time. */
#define PORT_CONNECTS_MAX 256

int message_put_dial(struct buffer *b, uint32_t id, uint32_t port, struct err *e);
int message_get_dial(const struct frame *f, uint32_t *ret_port, struct err *e);

/* Puts a MSG_FINISH, MSG_HANGUP or MSG_FINISHED, as `type` says; these messages have no
 * body. */
int message_put_word(struct buffer *b, enum message_type type, uint32_t id,
		     struct err *e);
int message_get_word(const struct frame *f, struct err *e);

/* Puts or gets a MSG_CLOSED. `sys` is the errno with which the connection ended; 0: both
 * directions have ended completely. */
int message_put_closed(struct buffer *b, uint32_t id, uint32_t sys, struct err *e);
int message_get_closed(const struct frame *f, uint32_t *ret_sys, struct err *e);

/* `set` holds "NAME=value", and `unset` names; the caller owns the decoded lists. */
int message_put_env(struct buffer *b, const struct list *set, const struct list *unset,
		    struct err *e);
int message_get_env(const struct frame *f, struct list *ret_set, struct list *ret_unset,
		    struct err *e);

int message_put_cgroup(struct buffer *b, struct err *e);
int message_get_cgroup(const struct frame *f, struct err *e);

/* Returns whether the executor sends messages of this type; the supervisor sends the
 * others. */
bool message_is_from_executor(uint32_t type);

/* Each decoding function ends with this call, also those in protocol/action.c. Returns
 * -1 unless all fields of `f` were there, no byte is left, and all values are in
 * range. */
int message_checked(const struct frame *f, const struct fields *in, bool in_range,
		    struct err *e);

/* Returns the type's name, such as "hello"; an unknown number gives "unknown". */
const char *message_name(uint32_t type);
const char *exec_stage_name(uint32_t stage);

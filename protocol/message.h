/* message -- the messages between the supervisor and the executor.
 *
 * Both ends share these types and their encoding, so that docs/protocol.md has one
 * implementation.  Encoding appends a frame to a buffer; decoding takes a frame and
 * gives borrowed pointers into it.  Every decode refuses a body with a missing,
 * surplus or malformed field, or a value out of its range. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* A field of HELLO; both ends are built together and must have the same version. */
#define PROTOCOL_VERSION 1

enum message_type {
	MSG_NONE,
	MSG_HELLO,   /* from the executor, once, first */
	MSG_EXEC,    /* to the executor: run a command */
	MSG_STARTED, /* from: the command's execve succeeded */
	MSG_FAILED,  /* from: its execve failed */
	MSG_EXITED,  /* from: the command ended */
	MSG_SIGNAL,  /* to: send a signal to a command's process group */
	MSG_RESIZE,  /* to: a command's terminal has a new size */
	MSG_STOP,    /* to: ask every process to end, then end yourself */
	MSG_CGROUP,  /* to: the cgroup that commands enter; once, first */
	MSG_OPEN,    /* to: start a session */
	MSG_RUN,     /* to: give a session something to do */
	MSG_CANCEL,  /* to: end an action */
	MSG_READ,    /* to: read a file */
	MSG_WRITE,   /* to: write a file */
	MSG_OUTPUT,  /* from: output of an action, as it comes */
	MSG_CONTENT, /* from: a part of an answer */
	MSG_REPORT,  /* from: the end of a MSG_RUN */
	MSG_DONE,    /* from: the end of a MSG_READ or MSG_WRITE */
	MSG_END,     /* to: end a command, or a session, with its tree */
	MSG_HOLD,    /* to: stop everything inside, or let it go on */
	MSG_EDIT,    /* to: edit a file, or show it as an editor does */
	MSG_EDITED,  /* from: the end of a MSG_EDIT */
	MSG_ERRAND,  /* to: search or change a folder */
	MSG_RETURNED, /* from: the end of a MSG_ERRAND */
	MSG_ENV,     /* to: the environment of sessions has changed */
	MSG_PAUSED,  /* from: all processes got the SIGSTOP that was asked for */
	MSG_DIAL,    /* to: connect to a port inside */
	MSG_FINISH,  /* to: no bytes follow those in that connection's pipe */
	MSG_HANGUP,  /* to: reset that connection */
	MSG_FINISHED, /* from: no bytes follow those in its other pipe */
	MSG_CLOSED,  /* from: a connection has ended; its last message */
	MSG_FREEZE,  /* to: stop all processes by tracing them, or let them go on */
	MSG_FROZEN,  /* from: all processes stand still, or the reason why they do not */
	MSG_COUNT
};

/* The reason why the processes inside do not stand still. */
enum freeze_why {
	FREEZE_STANDS, /* they stand still */
	FREEZE_TRACED, /* another process inside traces a process */
	FREEZE_DENIED, /* the kernel lets no process trace another */
	FREEZE_LATE,   /* a process did not stop in time */
	FREEZE_FAILED, /* no process is there that could trace the others */
	FREEZE_WHY_COUNT
};

struct frozen {
	uint32_t number; /* the number of the MSG_FREEZE that this message answers */
	uint32_t why;	 /* enum freeze_why */
	uint32_t pid;	 /* the process that is the reason, as the inside numbers it;
			  * 0: unknown */
};

/* The most limits and the most groups in one request. */
#define EXEC_MAX_RLIMITS 16
#define EXEC_MAX_GROUPS 64
#define EXEC_FILTER_UNIT 8 /* bytes of a struct sock_filter */
/* bytes of a filter with BPF_MAXINSNS instructions, the kernel's limit */
#define EXEC_MAX_FILTER	 (4096 * EXEC_FILTER_UNIT)

enum exec_flag {
	EXEC_PTY = 1,	  /* give the command a terminal of the sandbox's own */
	EXEC_LAST = 2,	  /* the sandbox ends with this command */
	EXEC_PACK = 4,	  /* no program is executed: the process writes a tar of
			  * argv[1] ... */
	EXEC_UNPACK = 8,  /* ... or reads one into argv[1], as argv[2] */
	EXEC_TREE = 16,	  /* the command becomes the subreaper of its descendants */
	EXEC_FOLLOW = 32, /* with EXEC_PACK: argv[1] may be a link */
	EXEC_FILE =
		64, /* with EXEC_UNPACK: argv[1] is a file that its user may write to */
	EXEC_PARENTS = 128, /* with EXEC_FILE: folders above it are made */
	EXEC_FLAGS = 255
};
#define EXEC_COPIES (EXEC_PACK | EXEC_UNPACK) /* the flags for either direction of a
					       * copy */

/* The exit codes of a process that copies. */
enum copy_exit {
	COPY_DONE,
	COPY_FAILED,
	COPY_NOT_FOUND,
	COPY_REFUSED,
	COPY_EXISTS,
	COPY_NO_SPACE,
	COPY_LIMIT,
	COPY_INVALID,
	COPY_TIMED_OUT, /* the inside kept the copying process stopped for too long */
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
	EXEC_STAGE_FILTER, /* entering its own seccomp filter */
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

/* A command.  For encoding, its memory is the supervisor's; after decoding, the texts
 * are borrowed from the frame and the two arrays are allocated (exec_done). */
struct exec {
	uint32_t flags;	   /* enum exec_flag */
	uint32_t uid, gid; /* the command's ids inside */
	uint32_t rows, cols; /* the size of the terminal, with EXEC_PTY */
	const char *cwd;
	char **argv, **env; /* NULL-terminated */
	uint32_t rlimit_count;
	struct exec_rlimit rlimits[EXEC_MAX_RLIMITS];
	/* A seccomp program for this command alone, on top of the inherited ones:
	 * struct sock_filter as bytes, borrowed.  None when empty. */
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
				   * waited for */
};

int message_put_hello(struct buffer *b, const struct hello *h, struct err *e);
int message_get_hello(const struct frame *f, struct hello *ret, struct err *e);

/* Puts a MSG_EXEC, or a MSG_OPEN, which has the same body. */
int message_put_exec(struct buffer *b, uint32_t id, const struct exec *x, struct err *e);
int message_put_open(struct buffer *b, uint32_t id, const struct exec *x, struct err *e);
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

/* `number` counts the SIGSTOPs to all processes that were asked for, from 1. */
int message_put_paused(struct buffer *b, uint32_t number, struct err *e);
int message_get_paused(const struct frame *f, uint32_t *ret_number, struct err *e);
/* Puts or gets a MSG_FREEZE. Number 0 lets all processes go on. */
int message_put_freeze(struct buffer *b, uint32_t number, struct err *e);
int message_get_freeze(const struct frame *f, uint32_t *ret_number, struct err *e);
int message_put_frozen(struct buffer *b, const struct frozen *what, struct err *e);
int message_get_frozen(const struct frame *f, struct frozen *ret, struct err *e);

/* The bit that the ids of connections have, and no other ids. */
#define DIAL_ID (1u << 31)
/* The most connections to ports inside that may be open. */
#define PORT_CONNECTS_MAX 256

int message_put_dial(struct buffer *b, uint32_t id, uint32_t port, struct err *e);
int message_get_dial(const struct frame *f, uint32_t *ret_port, struct err *e);

/* Puts a MSG_FINISH, MSG_HANGUP or MSG_FINISHED, as `type` says; these messages have no
 * body. */
int message_put_word(struct buffer *b, enum message_type type, uint32_t id,
		     struct err *e);
int message_get_word(const struct frame *f, struct err *e);

/* Puts or gets a MSG_CLOSED. `sys` is an errno; 0: both directions have ended in
 * order. */
int message_put_closed(struct buffer *b, uint32_t id, uint32_t sys, struct err *e);
int message_get_closed(const struct frame *f, uint32_t *ret_sys, struct err *e);

/* `set` has "NAME=value" and `unset` has names; the caller owns the decoded lists. */
int message_put_env(struct buffer *b, const struct list *set, const struct list *unset,
		    struct err *e);
int message_get_env(const struct frame *f, struct list *ret_set, struct list *ret_unset,
		    struct err *e);

int message_put_cgroup(struct buffer *b, struct err *e);
int message_get_cgroup(const struct frame *f, struct err *e);

/* Returns whether the executor sends messages of this type; the supervisor sends the
 * others. */
bool message_is_from_executor(uint32_t type);

/* Ends every decode, here and in protocol/action.c. Returns -1 unless all fields of `f`
 * were there, no byte is left, and all values are in range. */
int message_checked(const struct frame *f, const struct fields *in, bool in_range,
		    struct err *e);

/* Returns the type's name, such as "hello"; an unknown number gives "unknown". */
const char *message_name(uint32_t type);
const char *exec_stage_name(uint32_t stage);

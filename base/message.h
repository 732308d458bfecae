/* message -- what the supervisor and the executor say to each other.
 *
 * Both ends share these types and their encoding, so that docs/protocol.md has
 * one implementation.  Encoding appends a frame to a buffer; decoding is given
 * a frame and gives borrowed pointers into it.  Every decode refuses a body
 * with a missing, surplus or malformed field, and a value out of its range. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Said in HELLO; both ends are built together and must be equal. */
#define PROTOCOL_VERSION 1

enum message_type {
	MSG_NONE,
	MSG_HELLO,   /* from the executor, once, first */
	MSG_EXEC,    /* to the executor: run a command */
	MSG_STARTED, /* from: the command's execve succeeded */
	MSG_FAILED,  /* from: it did not */
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
	MSG_OUTPUT,  /* from: what was printed, as it comes */
	MSG_CONTENT, /* from: a part of an answer */
	MSG_REPORT,  /* from: the end of a MSG_RUN */
	MSG_DONE,    /* from: the end of a MSG_READ or MSG_WRITE */
	MSG_END,     /* to: end a command, or a session, with its tree */
	MSG_HOLD,    /* to: everything inside stands still, or no longer */
	MSG_EDIT,    /* to: edit a file, or show it as an editor does */
	MSG_EDITED,  /* from: the end of a MSG_EDIT */
	MSG_ERRAND,  /* to: look for, or change, what is in a folder */
	MSG_RETURNED, /* from: the end of a MSG_ERRAND */
	MSG_ENV,     /* to: the environment of sessions has changed */
	MSG_PAUSED,  /* from: everyone has got the SIGSTOP that was asked for */
	MSG_DIAL,    /* to: connect to a port inside */
	MSG_FINISH,  /* to: nothing follows what is in that connection's pipe */
	MSG_HANGUP,  /* to: reset it */
	MSG_FINISHED, /* from: nothing follows what is in its other pipe */
	MSG_CLOSED,  /* from: its last word */
	MSG_FREEZE,  /* to: stop everyone by tracing them, or let them go on */
	MSG_FROZEN,  /* from: they stand still, or why they do not */
	MSG_COUNT
};

/* Why everyone inside does not stand still. */
enum freeze_why {
	FREEZE_STANDS, /* they do */
	FREEZE_TRACED, /* a process inside is traced by another */
	FREEZE_DENIED, /* the kernel lets nobody trace a process */
	FREEZE_LATE,   /* a process had not stopped in time */
	FREEZE_FAILED, /* there is no process that could do it */
	FREEZE_WHY_COUNT
};

struct frozen {
	uint32_t number; /* of the MSG_FREEZE that it answers */
	uint32_t why;	 /* enum freeze_why */
	uint32_t pid;	 /* whose fault it is, as the inside numbers it; 0: unknown */
};

/* How much may be asked for. */
#define EXEC_MAX_RLIMITS 16
#define EXEC_MAX_GROUPS 64
#define EXEC_FILTER_UNIT 8 /* bytes of a struct sock_filter */
#define EXEC_MAX_FILTER	 (4096 * EXEC_FILTER_UNIT) /* BPF_MAXINSNS of them */

enum exec_flag {
	EXEC_PTY = 1,  /* give the command a terminal of the sandbox's own */
	EXEC_LAST = 2, /* the sandbox ends with this command */
	EXEC_PACK = 4,	 /* nothing is executed: it writes a tar of argv[1] ... */
	EXEC_UNPACK = 8, /* ... or reads one into argv[1], as argv[2] */
	EXEC_TREE = 16,	 /* the command is the subreaper of what it starts */
	EXEC_FOLLOW = 32, /* with EXEC_PACK: argv[1] may be a link */
	EXEC_FILE = 64, /* with EXEC_UNPACK: argv[1] is a file that its user may write to */
	EXEC_PARENTS = 128, /* with EXEC_FILE: folders above it are made */
	EXEC_FLAGS = 255
};
#define EXEC_COPIES (EXEC_PACK | EXEC_UNPACK) /* either of them */

/* The exit code of one that copies. */
enum copy_exit {
	COPY_DONE,
	COPY_FAILED,
	COPY_NOT_FOUND,
	COPY_REFUSED,
	COPY_EXISTS,
	COPY_NO_SPACE,
	COPY_LIMIT,
	COPY_INVALID,
	COPY_TIMED_OUT, /* the inside kept it stopped for too long */
	COPY_EXIT_COUNT
};

/* Which step of starting a command failed (MSG_FAILED). */
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
	uint32_t uid, gid; /* what it runs as, inside */
	uint64_t caps;	   /* its permitted set, one bit a capability */
};

struct exec_rlimit {
	uint32_t resource; /* RLIMIT_* of setrlimit(2) */
	uint64_t soft, hard;
};

/* A command.  Encoded from the supervisor's own memory; decoded, the texts are
 * borrowed from the frame and the two arrays are allocated (exec_done). */
struct exec {
	uint32_t flags;	   /* enum exec_flag */
	uint32_t uid, gid; /* inside */
	uint32_t rows, cols; /* of the terminal, with EXEC_PTY */
	const char *cwd;
	char **argv, **env; /* NULL-terminated */
	uint32_t rlimit_count;
	struct exec_rlimit rlimits[EXEC_MAX_RLIMITS];
	/* A seccomp program that is this command's alone, beside what it
	 * inherits: struct sock_filter as bytes, borrowed.  None when empty. */
	const void *filter;
	uint32_t filter_len;
	uint32_t group_count; /* further groups, inside, beside gid */
	uint32_t groups[EXEC_MAX_GROUPS];
};

struct failed {
	uint32_t stage; /* enum exec_stage */
	uint32_t sys;	/* errno, 1..4095 */
};

struct exited {
	uint32_t is_signaled; /* 0 or 1 */
	uint32_t status;      /* exit code 0..255, or signal 1..64 */
	uint64_t user_us, sys_us; /* of the command and what it waited for */
};

int message_put_hello(struct buffer *b, const struct hello *h, struct err *e);
int message_get_hello(const struct frame *f, struct hello *ret, struct err *e);

/* MSG_EXEC, or MSG_OPEN, which has the same body. */
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

/* `number` of the SIGSTOPs to everyone that were asked for, from 1. */
int message_put_paused(struct buffer *b, uint32_t number, struct err *e);
int message_get_paused(const struct frame *f, uint32_t *ret_number, struct err *e);
/* Number 0: all go on. */
int message_put_freeze(struct buffer *b, uint32_t number, struct err *e);
int message_get_freeze(const struct frame *f, uint32_t *ret_number, struct err *e);
int message_put_frozen(struct buffer *b, const struct frozen *what, struct err *e);
int message_get_frozen(const struct frame *f, struct frozen *ret, struct err *e);

/* Ids of connections have this bit, and no others have it. */
#define DIAL_ID (1u << 31)
/* So many connections to ports inside may be open. */
#define DIALS_MAX 256

int message_put_dial(struct buffer *b, uint32_t id, uint32_t port, struct err *e);
int message_get_dial(const struct frame *f, uint32_t *ret_port, struct err *e);

/* MSG_FINISH, MSG_HANGUP or MSG_FINISHED, of which `type` says which; they have no body. */
int message_put_word(struct buffer *b, enum message_type type, uint32_t id, struct err *e);
int message_get_word(const struct frame *f, struct err *e);

/* `sys`: an errno; 0: both directions have ended in order. */
int message_put_closed(struct buffer *b, uint32_t id, uint32_t sys, struct err *e);
int message_get_closed(const struct frame *f, uint32_t *ret_sys, struct err *e);

/* "NAME=value" and names; the decoded lists are the caller's. */
int message_put_env(struct buffer *b, const struct list *set, const struct list *unset,
		    struct err *e);
int message_get_env(const struct frame *f, struct list *ret_set, struct list *ret_unset,
		    struct err *e);

int message_put_cgroup(struct buffer *b, struct err *e);
int message_get_cgroup(const struct frame *f, struct err *e);

/* Whether the executor sends messages of this type; the others are ours. */
bool message_is_from_executor(uint32_t type);

/* The end of every decode, here and in base/action.c.  -1 unless all fields of `f`
 * were there, none is left, and all are in range. */
int message_checked(const struct frame *f, const struct fields *in, bool in_range,
		    struct err *e);

/* "hello", "exec", ...; an unknown number gives "unknown". */
const char *message_name(uint32_t type);
const char *exec_stage_name(uint32_t stage);

/* hutch -- sandboxes in a program of your own (libhutch).
 *
 * A sandbox that has a name is a process of its own on this host, its supervisor, which
 * serves a socket (docs/control.md).  This library is a client of that socket, and runs
 * the program `hutch` to make sandboxes.  It starts no thread, has no globals, installs
 * no signal handler, changes no signal mask and prints nothing.
 *
 *	const char *const args[] = { "--workspace", ".", "box", NULL };
 *	struct hutch_error e;
 *	struct hutch *box;
 *
 *	if (hutch_create(args, NULL, &box, &e) < 0 || hutch_ready(box, -1, &e) < 0)
 *		errx(1, "%s", e.message);
 *	...
 *	hutch_close(box);
 *
 * HANDLES.  A struct hutch is one connection to one sandbox.  Opening one does not wait:
 * calls can be made at once, and go out when the sandbox is there.  Closing the handle
 * ends what was started through it without HUTCH_DETACH, and nothing else: the sandbox
 * lives on.
 *
 * CALLS AND ANSWERS.  A function that asks the sandbox for something returns the number
 * of the call, which is positive, and does not wait either.  Where the answer goes is
 * said with the call, by its `tag`:
 *
 *	HUTCH_WAIT	to hutch_wait() with the call's number, which waits for it
 *	anything else	to hutch_next(), with that tag in the message
 *
 * So each of two threads at one handle gets its own answers.  Calls are worked at side by
 * side; answers come in the order in which they are ready.
 *
 * EVENT LOOPS.  hutch_fd() is one descriptor: when poll(2) says that it can be read, take
 * messages with hutch_next(h, 0, ...) until there is none.  There are no callbacks: no
 * code of yours runs inside the library, under its locks, or in a thread that you did not
 * expect.
 *
 * Messages that nobody takes are kept up to 16 MiB; then the oldest go, and the next one
 * that is taken says how many (`missed`).  That happens only while some thread is in
 * hutch_wait(), hutch_run() or hutch_ready(); else nothing more is read, and the sandbox
 * waits (docs/control.md says for what, and how long).  An answer is never lost.
 *
 * THREADS.  All functions may be called from any thread, also for one handle at a time,
 * except hutch_close(): nobody may be in a call for that handle, or come to it later.
 *
 * FORK.  A handle belongs to the process that opened it.  In a child every function but
 * hutch_close() fails with HUTCH_FORKED, and changes nothing; hutch_close() gives back
 * the child's copies, and the parent's handle goes on.  All descriptors are
 * close-on-exec.
 *
 * ERRORS.  Functions that can fail take a struct hutch_error last, which may be NULL, and
 * fill it in when they return -1 (or NULL).  When the supervisor goes away, every call
 * that is under way ends with HUTCH_DISCONNECTED, and then comes the message HUTCH_ENDED.
 * Where memory is out the error is HUTCH_NO_MEMORY, and nothing is lost: what was asked
 * was not, and what could not be taken can be taken later.  The library never calls
 * abort(3).
 *
 * WHAT COMES FROM A SANDBOX is checked: a line is at most 32 MiB and well-formed JSON, or
 * the handle ends with HUTCH_PROTOCOL.  What processes print, names and paths may be
 * anything that somebody hostile would choose.
 *
 * ROOT.  A sandbox that root makes stands for an ordinary user (hutch-run(1)), and root's
 * handles are had through that user; nothing is different otherwise.
 *
 * Texts are UTF-8, ended by a NUL.  Structs that begin with `size` are given with it set
 * to their sizeof, so that later versions can have more members, which are zero for you.
 *
 * Sources: docs/control.md of hutch; unix(7), pidfd_open(2), madvise(2). */
#ifndef HUTCH_H
#define HUTCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HUTCH_API __attribute__((visibility("default")))

/* One connection to one sandbox. */
struct hutch;

/* --- errors ---------------------------------------------------------------- */

/* The first eleven are the words of `data.kind` in docs/control.md. */
enum hutch_kind {
	HUTCH_OK,
	HUTCH_NOT_FOUND,    /* what was named, a sandbox or a path, is absent */
	HUTCH_EXISTS,	    /* what is to be made is there already */
	HUTCH_BUSY,	    /* not now: it is paused, stopping, or at something else */
	HUTCH_INVALID,	    /* what was given is wrong */
	HUTCH_REFUSED,	    /* the kernel or a policy forbids it */
	HUTCH_UNSUPPORTED,  /* this kernel, host or version has no such thing */
	HUTCH_TIMEOUT,	    /* it was not done in time */
	HUTCH_DISCONNECTED, /* the sandbox has ended, or its supervisor is gone */
	HUTCH_LIMIT,	    /* a bound was reached */
	HUTCH_NO_SPACE,	    /* a disk is full */
	HUTCH_INTERNAL,	    /* a bug of hutch's */
	HUTCH_PROTOCOL,	    /* the other end broke its rules: another version, maybe */
	HUTCH_SYSTEM,	    /* a system call failed for a reason of its own */
	HUTCH_NO_MEMORY,    /* malloc(3) failed; all is as it was */
	HUTCH_FORKED	    /* the handle was opened by another process */
};

struct hutch_error {
	int kind;	   /* enum hutch_kind */
	int exit_code;	   /* that of `hutch`: 125; 126 or 127: a command could not be started */
	char message[768]; /* a sentence: what was tried, on what, what came of it */
	char remedy[448];  /* what would help; "": nobody knows */
};

/* "not_found", ...; an unknown number is "internal". */
HUTCH_API const char *hutch_kind_name(int kind);

/* Of the library: "0.1.0". */
HUTCH_API const char *hutch_version(void);

/* --- opening and closing --------------------------------------------------- */

struct hutch_how {
	size_t size;
	const char *program; /* which hutch to run; NULL: the one on PATH */
	const char *verb;    /* of hutch_create: "create", "fork" or "start"; NULL: create */
	int notes;	     /* where what it tells people goes, a descriptor; 0: nowhere */
};

/* Begins to make a sandbox, by running `hutch create ARGS`: `args` are its flags and the
 * name last, ended by NULL (hutch-create(1)).  `how` may be NULL.  Whatever happens, the
 * name is *ret's until it is closed.  If hutch_close() comes first, `hutch create` is
 * killed, and what it has begun ends with it; one that had just become ready lives on. */
HUTCH_API int hutch_create(const char *const *args, const struct hutch_how *how,
			   struct hutch **ret, struct hutch_error *e);

/* Begins to connect to one that is there. */
HUTCH_API int hutch_attach(const char *name, const struct hutch_how *how,
			   struct hutch **ret, struct hutch_error *e);

/* Begins to take a sandbox from a pool (hutch-pool(1)), one that nobody has had.  It ends
 * when the handle is closed, unless hutch_release() was answered.  The error of an empty
 * pool is why none can be made; while one is being made it is waited for. */
HUTCH_API int hutch_take(const char *pool, const struct hutch_how *how,
			 struct hutch **ret, struct hutch_error *e);

/* Waits until it is open, which the message HUTCH_READY tells an event loop: 0.
 * `timeout_ms`: -1 is for ever, here and below; a supervisor that does not answer within
 * 5 seconds is HUTCH_TIMEOUT in any case. */
HUTCH_API int hutch_ready(struct hutch *h, int timeout_ms, struct hutch_error *e);

/* NULL is allowed. */
HUTCH_API void hutch_close(struct hutch *h);

/* The name that it was opened by; the handle's.  Of one that is taken from a pool, once it
 * is ready: that of the sandbox. */
HUTCH_API const char *hutch_name(const struct hutch *h);

/* --- messages -------------------------------------------------------------- */

enum hutch_type {
	HUTCH_ANSWER = 1, /* to the call `call` */
	HUTCH_OUTPUT,	  /* something was printed */
	HUTCH_EVENT,	  /* something happened: `json` is the params of `event`; or of `log`,
			     which has no member `event`, for who has called `logs` of that */
	HUTCH_READY,	  /* the handle is open: `json` is what `hello` said, or null */
	HUTCH_ENDED	  /* the last one: `error` says why */
};

struct hutch_message {
	int type;      /* enum hutch_type */
	int stream;    /* HUTCH_OUTPUT: 1 stdout, 2 stderr; 0: of an action */
	int64_t call;  /* HUTCH_ANSWER: which */
	void *tag;     /* ... and what was given with it */
	struct hutch_error error; /* HUTCH_ANSWER, HUTCH_ENDED; kind HUTCH_OK: none */
	const char *json;   /* the result, or the params; "null" where there is none */
	size_t json_len;    /* there is a NUL behind it */
	int64_t process;    /* HUTCH_OUTPUT, HUTCH_EVENT: which it is about; 0: none */
	const char *data;   /* HUTCH_OUTPUT: the bytes, any, and a NUL behind them */
	size_t data_len;
	uint64_t dropped;   /* HUTCH_OUTPUT: so many bytes are missing here */
	uint64_t missed;    /* so many messages before this one were not taken in time */
};

#define HUTCH_WAIT ((void *)-1) /* as a tag: the answer is for hutch_wait() */

/* A descriptor for poll(2), epoll(7) and the like, which is the handle's: it can be read
 * when hutch_next() may have something.  The first call makes it; -1 with an error. */
HUTCH_API int hutch_fd(struct hutch *h, struct hutch_error *e);

/* The next message, yours to free: 1.  0: none came in time; `timeout_ms` 0 does not
 * wait. -1: an error, as of a handle whose HUTCH_ENDED was taken. */
HUTCH_API int hutch_next(struct hutch *h, int timeout_ms, struct hutch_message **ret,
			 struct hutch_error *e);

/* Waits for the answer to a call that was made with HUTCH_WAIT.  0: it is a result; *ret,
 * which is yours to free, may not be wanted: NULL.  -1: the answer is an error, which is
 * in `e`; or HUTCH_TIMEOUT, and it can be waited for again.  A `call` of -1 is passed on,
 * so that a call can stand in the place of its number; `e` is then as that left it. */
HUTCH_API int hutch_wait(struct hutch *h, int64_t call, int timeout_ms,
			 struct hutch_message **ret, struct hutch_error *e);

HUTCH_API void hutch_message_free(struct hutch_message *m);

/* --- commands -------------------------------------------------------------- */

enum hutch_flag {
	HUTCH_TTY = 1,	   /* exec: a terminal of its own */
	HUTCH_STDIN = 2,   /* exec: hutch_exec_write() will be used */
	HUTCH_DETACH = 4,  /* exec: it lives on when the handle is closed */
	HUTCH_FDS = 8,	   /* exec, copy: with the descriptors that are given */
	HUTCH_FOLLOW = 16, /* copy.out: what a link leads to */
	HUTCH_EOF = 32,	   /* exec_write: that was all */
	HUTCH_STREAM = 64, /* act: what is printed comes as it is printed */
	HUTCH_CONFIRM = 128, /* act: whether an action may be done can be asked */
	HUTCH_FORCE = 256 /* unpause, rm */
};

struct hutch_exec {
	size_t size;
	const char *const *argv;   /* ended by NULL */
	const char *const *env;	   /* "NAME=VALUE", ended by NULL; or NULL */
	const char *const *secret; /* names among all variables, ended by NULL; or NULL */
	const char *cwd;	   /* inside, below the sandbox's own; NULL: that */
	const char *user;	   /* NAME, UID or UID:GID; NULL: the sandbox's own */
	unsigned flags;		   /* HUTCH_TTY, _STDIN, _DETACH, _FDS */
	uint32_t rows, cols;	   /* with HUTCH_TTY; 0: 24 and 80 */
	uint64_t timeout_ms;	   /* after which it is killed with its tree; 0: none */
	int fds[3];		   /* with HUTCH_FDS: its 0, 1 and 2: pipes; yours */
};

/* exec.start: the result has `process`, a number, and `pid`.  Without HUTCH_FDS what it
 * prints comes as HUTCH_OUTPUT.  Its end is the event `exited`. */
HUTCH_API int64_t hutch_exec(struct hutch *h, const struct hutch_exec *x, void *tag,
			     struct hutch_error *e);
/* The result has `exit_code`, `signal` and `timed_out`, when it has ended. */
HUTCH_API int64_t hutch_exec_wait(struct hutch *h, int64_t process, void *tag,
				  struct hutch_error *e);
/* What it has printed, and will print, comes as HUTCH_OUTPUT. */
HUTCH_API int64_t hutch_exec_attach(struct hutch *h, int64_t process, void *tag,
				    struct hutch_error *e);

struct hutch_input {
	size_t size;
	const void *data; /* at most 1 MiB */
	size_t len;
	unsigned flags; /* HUTCH_EOF */
};

/* Of one that was started with HUTCH_STDIN.  Wait for the answer before the next. */
HUTCH_API int64_t hutch_exec_write(struct hutch *h, int64_t process,
				   const struct hutch_input *input, void *tag,
				   struct hutch_error *e);
/* To its process group. */
HUTCH_API int64_t hutch_exec_signal(struct hutch *h, int64_t process, int signo,
				    void *tag, struct hutch_error *e);

struct hutch_window {
	uint32_t rows, cols;
};

HUTCH_API int64_t hutch_exec_resize(struct hutch *h, int64_t process,
				    struct hutch_window size, void *tag,
				    struct hutch_error *e);
HUTCH_API int64_t hutch_exec_list(struct hutch *h, void *tag, struct hutch_error *e);

struct hutch_result {
	int exit_code; /* 128 + N: ended by signal N */
	int timed_out;
	char *out, *err; /* owned: stdout and stderr, a NUL behind each */
	size_t out_len, err_len;
	uint64_t lost; /* bytes beyond the first 16 MiB of each, which were thrown away */
};

/* All in one, and waits: starts it, hands it `input`, which may be NULL, and collects
 * what it prints until it has ended.  The flags and descriptors of `x` are not for this.
 * What others that it left behind print later is not waited for. */
HUTCH_API int hutch_run(struct hutch *h, const struct hutch_exec *x,
			const struct hutch_input *input, struct hutch_result *ret,
			struct hutch_error *e);
HUTCH_API void hutch_result_done(struct hutch_result *r);

/* --- files ----------------------------------------------------------------- */

struct hutch_copy {
	size_t size;
	const char *path;
	const char *name; /* copy_in: in place of each name's first component; or NULL */
	unsigned flags;	  /* HUTCH_FDS; copy_out: HUTCH_FOLLOW */
	int tar;	  /* with HUTCH_FDS: a pipe's end for the tar; it stays yours */
	int sentences;	  /* ... and one for what could not be copied; -1: none */
};

/* A tar comes out, or goes in; the result is as that of hutch_exec(), and the end, for
 * hutch_exec_wait(), has `error` too.  Without HUTCH_FDS the tar comes as HUTCH_OUTPUT,
 * or is sent with hutch_exec_write().  What comes out was made inside: unpack it where it
 * can do no harm.  See copy.out and copy.in of docs/control.md. */
HUTCH_API int64_t hutch_copy_out(struct hutch *h, const struct hutch_copy *c, void *tag,
				 struct hutch_error *e);
HUTCH_API int64_t hutch_copy_in(struct hutch *h, const struct hutch_copy *c, void *tag,
				struct hutch_error *e);

/* --- actions --------------------------------------------------------------- */

/* `action` is an object of JSON as docs/actions.md has it; the result is its observation.
 * `flags`: HUTCH_STREAM, from then on for all actions of this handle; HUTCH_CONFIRM. */
HUTCH_API int64_t hutch_act(struct hutch *h, const char *action, unsigned flags,
			    void *tag, struct hutch_error *e);
/* Ends the action that has this `id`. */
HUTCH_API int64_t hutch_cancel(struct hutch *h, int64_t id, void *tag,
			       struct hutch_error *e);

/* Makes the connection one of `hutch act`, lines of actions in and of observations out,
 * and hands it over: a stream socket, yours to close.  Waits for the sandbox to agree.
 * No call may be under way; the handle is of no more use, but for hutch_close(). */
HUTCH_API int hutch_act_stream(struct hutch *h, unsigned flags, struct hutch_error *e);

/* --- the sandbox ----------------------------------------------------------- */

/* The events from number `since` on, and all further ones, come as HUTCH_EVENT. */
HUTCH_API int64_t hutch_events(struct hutch *h, uint64_t since, void *tag,
			       struct hutch_error *e);
HUTCH_API int64_t hutch_info(struct hutch *h, void *tag, struct hutch_error *e);
HUTCH_API int64_t hutch_stats(struct hutch *h, void *tag, struct hutch_error *e);
HUTCH_API int64_t hutch_pause(struct hutch *h, void *tag, struct hutch_error *e);
/* `flags`: HUTCH_FORCE. */
HUTCH_API int64_t hutch_unpause(struct hutch *h, unsigned flags, void *tag,
				struct hutch_error *e);
/* SIGTERM to everything inside, and up to `grace_s` seconds for that to end. */
HUTCH_API int64_t hutch_stop(struct hutch *h, unsigned grace_s, void *tag,
			     struct hutch_error *e);
HUTCH_API int64_t hutch_kill(struct hutch *h, void *tag, struct hutch_error *e);
/* Of one that was taken from a pool: it lives on.  `name`: what it is called from then on;
 * NULL: as it is. */
HUTCH_API int64_t hutch_release(struct hutch *h, const char *name, void *tag,
				struct hutch_error *e);

/* `hutch rm`, and waits: what is kept of one that has ended is removed, and its name is
 * free then.  HUTCH_FORCE: one that lives is ended first, even a stuck one.  An error has
 * the program's own kind and words, as HUTCH_NOT_FOUND; HUTCH_SYSTEM where it said none. */
HUTCH_API int hutch_rm(const char *name, unsigned flags, const struct hutch_how *how,
		       struct hutch_error *e);

struct hutch_request {
	size_t size;
	const char *method;
	const char *params; /* an object of JSON; NULL: none */
	const int *fds;	    /* beside it, up to three, which stay yours */
	size_t fd_count;
};

/* Any method of docs/control.md. */
HUTCH_API int64_t hutch_call(struct hutch *h, const struct hutch_request *r, void *tag,
			     struct hutch_error *e);

/* --- JSON ------------------------------------------------------------------ */

/* A member by its path, such as "limits.memory": 1, or 0 where there is none, or it is of
 * another type.  `json` may be NULL. */
HUTCH_API int hutch_json_integer(const char *json, const char *path, int64_t *ret);
HUTCH_API int hutch_json_number(const char *json, const char *path, double *ret);
HUTCH_API int hutch_json_bool(const char *json, const char *path, int *ret);
/* A string, to be given to free(3); NULL where there is none. */
HUTCH_API char *hutch_json_string(const char *json, const char *path);
/* The text with its quotes and escapes, to be given to free(3); NULL where it is no
 * UTF-8. */
HUTCH_API char *hutch_json_quote(const char *text);

#ifdef __cplusplus
}
#endif

#endif

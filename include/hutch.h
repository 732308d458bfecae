/* hutch -- sandboxes in a program of your own (libhutch).
 *
 * Each sandbox with a name has a process of its own on this host, its supervisor,
 * which serves a socket (docs/control.md).  This library is a client of that socket,
 * and runs the program `hutch` to make sandboxes.  It starts no thread, has no
 * globals, installs no signal handler, changes no signal mask and prints nothing.
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
 * HANDLES.  A struct hutch is one connection to one sandbox.  Opening a handle does
 * not wait: calls can be made at once, and are sent when the sandbox is ready.
 * Closing the handle ends the processes that were started through it without
 * HUTCH_DETACH, and nothing else: the sandbox lives on.
 *
 * CALLS AND ANSWERS.  A function that sends a request to the sandbox returns the
 * number of the call, which is positive, and does not wait either.  The `tag` of the
 * call says where the answer goes:
 *
 *	HUTCH_WAIT	to hutch_wait() with the call's number, which waits for it
 *	anything else	to hutch_next(), with that tag in the message
 *
 * So each of two threads at one handle gets its own answers.  The sandbox works at
 * calls concurrently; answers come in the order in which they are ready.
 *
 * EVENT LOOPS.  hutch_fd() is one descriptor: when poll(2) says that it can be read,
 * take messages with hutch_next(h, 0, ...) until there is none.  There are no
 * callbacks: none of your code runs inside the library, under its locks, or in an
 * unexpected thread.
 *
 * Messages that you do not take are kept, up to 16 MiB; beyond that the oldest ones
 * are dropped, and the next message that you take says how many (`missed`).  Messages
 * are dropped only while some thread is in hutch_wait(), hutch_run() or
 * hutch_ready(); otherwise the library stops reading, and the sandbox waits
 * (docs/control.md says for what, and how long).  An answer is never lost.
 *
 * THREADS.  All functions may be called from any thread, also for one handle at a
 * time, except hutch_close(): no thread may be in a call for that handle, or make one
 * later.
 *
 * FORK.  A handle belongs to the process that opened it.  In a child every function
 * but hutch_close() fails with HUTCH_FORKED, and changes nothing; hutch_close()
 * releases the child's copies, and the parent's handle stays usable.  All descriptors
 * are close-on-exec.
 *
 * ERRORS.  Functions that can fail take a struct hutch_error last, which may be NULL,
 * and fill it in when they return -1 (or NULL).  When the supervisor ends, every call
 * under way ends with HUTCH_DISCONNECTED, and then comes the message HUTCH_ENDED.
 * Without memory the error is HUTCH_NO_MEMORY, and nothing is lost: the request was
 * not sent, or the message can be taken later.  The library never calls abort(3).
 *
 * DATA FROM A SANDBOX is checked: a line is at most 32 MiB and well-formed JSON, or
 * the handle ends with HUTCH_PROTOCOL.  The output of processes, names and paths may
 * be chosen by a hostile program.
 *
 * ROOT.  A sandbox that root makes runs for an ordinary user (hutch-run(1)), and
 * root's handles are opened through that user; nothing else differs.
 *
 * Texts are UTF-8, ended by a NUL.  In structs that begin with `size`, set it to
 * their sizeof, so that later versions can have more members, which are then zero for
 * you.
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

/* One connection to one sandbox, called a handle; the struct is opaque. */
struct hutch;

/* --- errors ---------------------------------------------------------------- */

/* The kinds of errors.  The first eleven after HUTCH_OK have their names from
 * `data.kind` in docs/control.md. */
enum hutch_kind {
	HUTCH_OK,
	HUTCH_NOT_FOUND,    /* the sandbox or path of the request does not exist */
	HUTCH_EXISTS,	    /* the sandbox or file to be made exists already */
	HUTCH_BUSY,	    /* the request cannot be done now: the sandbox is paused,
			     * stopping, or busy */
	HUTCH_INVALID,	    /* an argument is wrong */
	HUTCH_REFUSED,	    /* the kernel or a policy forbids the request */
	HUTCH_UNSUPPORTED,  /* this kernel, host or version of hutch does not have the
			     * feature */
	HUTCH_TIMEOUT,	    /* the request was not done in time */
	HUTCH_DISCONNECTED, /* the sandbox has ended, or its supervisor is gone */
	HUTCH_LIMIT,	    /* a bound was reached */
	HUTCH_NO_SPACE,	    /* a disk is full */
	HUTCH_INTERNAL,	    /* a bug of hutch's */
	HUTCH_PROTOCOL,	    /* the other end broke the protocol; it may be of another
			     * version */
	HUTCH_SYSTEM,	    /* a system call failed for a reason of its own */
	HUTCH_NO_MEMORY,    /* malloc(3) failed; nothing has changed */
	HUTCH_FORKED	    /* the handle was opened by another process */
};

struct hutch_error {
	int kind;	   /* an enum hutch_kind */
	int exit_code; /* the exit code that `hutch` would have: 125; 126 or 127: a
			* command could not be started */
	char message[768]; /* a sentence: what was tried, on what, and the result */
	char remedy[448];  /* how the user can correct the error; "": none is known */
};

/* Returns the name of an error kind, such as "not_found"; an unknown number gives
 * "internal". */
HUTCH_API const char *hutch_kind_name(int kind);

/* Returns the library's version, such as "0.1.0". */
HUTCH_API const char *hutch_version(void);

/* --- opening and closing --------------------------------------------------- */

struct hutch_how {
	size_t size;
	const char *program; /* the program `hutch` to run; NULL: the one on PATH */
	const char *verb; /* for hutch_create(): "create", "fork" or "start"; NULL:
			   * create */
	int notes;	     /* a descriptor for the program's notes to people; 0: none */
};

/* Begins to make a sandbox, by running `hutch create ARGS`: `args` are its flags and,
 * last, the name, ended by NULL (hutch-create(1)).  After the flag --main, "--" and the
 * words of the main process may follow the name.  `how` may be NULL.  The handle
 * keeps the name until it is closed, whatever happens.  If hutch_close() comes before
 * the sandbox is ready, `hutch create` is killed, and the unfinished sandbox ends
 * with it; a sandbox that has just become ready lives on. */
HUTCH_API int hutch_create(const char *const *args, const struct hutch_how *how,
			   struct hutch **ret, struct hutch_error *e);

/* Begins to connect to an existing sandbox. */
HUTCH_API int hutch_attach(const char *name, const struct hutch_how *how,
			   struct hutch **ret, struct hutch_error *e);

/* Begins to take an unused sandbox from a pool (hutch-pool(1)).  The sandbox ends when
 * the handle is closed, unless hutch_release() was answered.  If the pool is empty, the
 * call waits while a sandbox is being made; if none can be made, the error says why. */
HUTCH_API int hutch_take(const char *pool, const struct hutch_how *how,
			 struct hutch **ret, struct hutch_error *e);

/* For programs that divide the work between processes.  hutch_detach() returns the
 * connection of a handle that is open and has no call under way: a descriptor, yours to
 * close or to send (unix(7)); afterwards the handle can only be closed.  hutch_adopt()
 * makes an open handle of such a descriptor, which the handle owns from then on; on an
 * error it stays yours.  `name` is that of the sandbox. */
HUTCH_API int hutch_detach(struct hutch *h, struct hutch_error *e);
HUTCH_API int hutch_adopt(const char *name, int fd, const struct hutch_how *how,
			  struct hutch **ret, struct hutch_error *e);

/* Waits until the handle is open, and returns 0; an event loop gets the message
 * HUTCH_READY for it.  `timeout_ms`: -1 is for ever, here and below; a supervisor that
 * does not answer within 5 seconds is HUTCH_TIMEOUT in any case. */
HUTCH_API int hutch_ready(struct hutch *h, int timeout_ms, struct hutch_error *e);

/* Closes the handle and releases its memory.  NULL is allowed. */
HUTCH_API void hutch_close(struct hutch *h);

/* Returns the name that the handle was opened with, borrowed from the handle.  After
 * hutch_take(), the result is the name of the pool until the handle is ready, and
 * then the name of the sandbox. */
HUTCH_API const char *hutch_name(const struct hutch *h);

/* --- messages -------------------------------------------------------------- */

enum hutch_type {
	HUTCH_ANSWER = 1, /* the answer to the call whose number is `call` */
	HUTCH_OUTPUT,	  /* a process or action has printed something */
	HUTCH_EVENT,	  /* an event of the sandbox: `json` has the params of `event`, or
			   * after a call of `logs` those of `log`, or after one of
			   * `events.subscribe` with `asks` those of `net.ask`, which
			   * have no member `event` */
	HUTCH_READY,	  /* the handle is open: `json` is the answer to `hello`, or
			   * null */
	HUTCH_ENDED	  /* the last message: `error` has the reason */
};

struct hutch_message {
	int type;      /* an enum hutch_type */
	int stream;    /* HUTCH_OUTPUT: 1 stdout, 2 stderr; 0: output of an action */
	int64_t call;  /* HUTCH_ANSWER: the number of the call */
	void *tag;     /* HUTCH_ANSWER: the tag of that call */
	struct hutch_error error; /* HUTCH_ANSWER, HUTCH_ENDED: the error; kind
				   * HUTCH_OK: there is none */
	const char *json;   /* the result, or the params, as JSON; "null" where there
			     * is none */
	size_t json_len;    /* the length of `json`, without the NUL behind it */
	int64_t process;    /* HUTCH_OUTPUT, HUTCH_EVENT: the number of the process; 0:
			     * none */
	const char *data;   /* HUTCH_OUTPUT: the bytes, which may be any, and a NUL
			     * behind them */
	size_t data_len;
	uint64_t dropped;   /* HUTCH_OUTPUT: how many bytes of output were dropped
			     * before these */
	uint64_t missed;    /* how many messages before this one were dropped */
};

#define HUTCH_WAIT ((void *)-1) /* as a tag: the answer is for hutch_wait() */

/* Returns a descriptor for poll(2), epoll(7) and the like, which the handle owns.
 * The descriptor is readable when hutch_next() may have a message.  The first call
 * makes the descriptor; -1 with an error. */
HUTCH_API int hutch_fd(struct hutch *h, struct hutch_error *e);

/* Gets the next message.  Returns 1 with the message in *ret, yours to free; 0 if
 * none came in time (a `timeout_ms` of 0 does not wait); -1 with an error, such as
 * the reason of the handle's end once HUTCH_ENDED was taken. */
HUTCH_API int hutch_next(struct hutch *h, int timeout_ms, struct hutch_message **ret,
			 struct hutch_error *e);

/* Waits for the answer to a call that was made with HUTCH_WAIT.  Returns 0 if the
 * answer is a result, which is in *ret and yours to free; `ret` may be NULL.  Returns
 * -1 if the answer is an error, which is in `e`; or with HUTCH_TIMEOUT, after which
 * you can wait again.  If `call` is -1, returns -1 and leaves `e` as it is, so that a
 * function that makes the call can be written as the argument. */
HUTCH_API int hutch_wait(struct hutch *h, int64_t call, int timeout_ms,
			 struct hutch_message **ret, struct hutch_error *e);

HUTCH_API void hutch_message_free(struct hutch_message *m);

/* --- commands -------------------------------------------------------------- */

enum hutch_flag {
	HUTCH_TTY = 1,	   /* exec: the process gets a terminal of its own */
	HUTCH_STDIN = 2,   /* exec: hutch_exec_write() will be used */
	HUTCH_DETACH = 4,  /* exec: the process lives on when the handle is closed */
	HUTCH_FDS = 8,	   /* exec, copy: the call passes the given descriptors */
	HUTCH_FOLLOW = 16, /* copy.out: copy the target of a link */
	HUTCH_EOF = 32,	   /* exec_write: close stdin behind the data */
	HUTCH_STREAM = 64, /* act: output comes while it is printed */
	HUTCH_CONFIRM = 128, /* act: actions may ask you for confirmation */
	HUTCH_FORCE = 256 /* unpause, rm: acts where the call would be refused
			   * otherwise */
};

struct hutch_exec {
	size_t size;
	const char *const *argv;   /* the command and its arguments, ended by NULL */
	const char *const *env;	   /* the variables, "NAME=VALUE", ended by NULL; or
				    * NULL */
	const char *const *secret; /* the names of variables that hold secrets, ended
				    * by NULL; or NULL */
	const char *cwd;	   /* the working folder inside, absolute or relative
				    * to the sandbox's own; NULL: the sandbox's own */
	const char *user;	   /* NAME, UID or UID:GID; NULL: the sandbox's own */
	unsigned flags;		   /* any of HUTCH_TTY, HUTCH_STDIN, HUTCH_DETACH,
				    * HUTCH_FDS */
	uint32_t rows, cols;	   /* the size of the terminal, with HUTCH_TTY; 0: 24 rows
				    * and 80 columns */
	uint64_t timeout_ms;	   /* the time after which the process is killed with all
				    * its descendants; 0: never */
	int fds[3];		   /* with HUTCH_FDS: pipes for the process's 0, 1 and
				    * 2; they stay yours */
};

/* Starts a command (exec.start): the result has `process`, a number, and `pid`.
 * Without HUTCH_FDS the output of the process comes as HUTCH_OUTPUT.  Its end is the
 * event `exited`. */
HUTCH_API int64_t hutch_exec(struct hutch *h, const struct hutch_exec *x, void *tag,
			     struct hutch_error *e);
/* Waits for the end of a process: the answer comes when it has ended; the result has
 * `exit_code`, `signal` and `timed_out`. */
HUTCH_API int64_t hutch_exec_wait(struct hutch *h, int64_t process, void *tag,
				  struct hutch_error *e);
/* Asks for the output of a process: the output so far, and all further output, comes
 * as HUTCH_OUTPUT. */
HUTCH_API int64_t hutch_exec_attach(struct hutch *h, int64_t process, void *tag,
				    struct hutch_error *e);

struct hutch_input {
	size_t size;
	const void *data; /* the bytes for stdin, at most 1 MiB */
	size_t len;
	unsigned flags; /* HUTCH_EOF, or 0 */
};

/* Writes to the stdin of a process that was started with HUTCH_STDIN.  Wait for the
 * answer before the next write. */
HUTCH_API int64_t hutch_exec_write(struct hutch *h, int64_t process,
				   const struct hutch_input *input, void *tag,
				   struct hutch_error *e);
/* Sends a signal to the process group. */
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
	int exit_code; /* the command's exit code; 128 + N: signal N ended the command */
	int timed_out;
	char *out, *err; /* owned: stdout and stderr, a NUL behind each */
	size_t out_len, err_len;
	uint64_t lost; /* bytes beyond the first 16 MiB of each stream, which were
		        * dropped */
};

/* Runs a command and waits: starts it, gives it `input`, which may be NULL, and
 * collects its output until the command has ended.  The flags and descriptors of `x`
 * are not used.  Later output of processes that the command leaves behind is not
 * collected. */
HUTCH_API int hutch_run(struct hutch *h, const struct hutch_exec *x,
			const struct hutch_input *input, struct hutch_result *ret,
			struct hutch_error *e);
HUTCH_API void hutch_result_done(struct hutch_result *r);

/* --- files ----------------------------------------------------------------- */

struct hutch_copy {
	size_t size;
	const char *path;
	const char *name; /* copy_in: replaces the first component of each name; or
			   * NULL */
	unsigned flags;	  /* HUTCH_FDS; for copy_out HUTCH_FOLLOW, too */
	int tar;	  /* with HUTCH_FDS: a pipe's end for the tar; it stays yours */
	int sentences;	  /* with HUTCH_FDS: a pipe's end for sentences about files that
			   * could not be copied; -1: none */
};

/* Copies a tar out of the sandbox, or into it.  The result is like that of
 * hutch_exec(), and the answer to hutch_exec_wait() has a member `error` too.
 * Without HUTCH_FDS the tar comes as HUTCH_OUTPUT, or is sent with
 * hutch_exec_write().  A tar from a sandbox may be hostile: unpack it where it can
 * do no harm.  See copy.out and copy.in of docs/control.md. */
HUTCH_API int64_t hutch_copy_out(struct hutch *h, const struct hutch_copy *c, void *tag,
				 struct hutch_error *e);
HUTCH_API int64_t hutch_copy_in(struct hutch *h, const struct hutch_copy *c, void *tag,
				struct hutch_error *e);

/* --- actions --------------------------------------------------------------- */

/* Runs an action: `action` is a JSON object as in docs/actions.md; the result is its
 * observation.  `flags`: HUTCH_STREAM, which then holds for all later actions of this
 * handle, too; HUTCH_CONFIRM. */
HUTCH_API int64_t hutch_act(struct hutch *h, const char *action, unsigned flags,
			    void *tag, struct hutch_error *e);
/* Ends the action whose `id` is this number. */
HUTCH_API int64_t hutch_cancel(struct hutch *h, int64_t id, void *tag,
			       struct hutch_error *e);

/* Turns the handle's connection into one like that of `hutch act`, and returns it: a
 * stream socket, yours to close, to which you write a line for each action and from
 * which you read a line for each observation.  Waits for the sandbox's consent.  No
 * call may be under way; afterwards the handle can only be closed. */
HUTCH_API int hutch_act_stream(struct hutch *h, unsigned flags, struct hutch_error *e);

/* --- the sandbox ----------------------------------------------------------- */

/* Asks for events: those from number `since` on, and all further ones, come as
 * HUTCH_EVENT. */
HUTCH_API int64_t hutch_events(struct hutch *h, uint64_t since, void *tag,
			       struct hutch_error *e);
HUTCH_API int64_t hutch_info(struct hutch *h, void *tag, struct hutch_error *e);
HUTCH_API int64_t hutch_stats(struct hutch *h, void *tag, struct hutch_error *e);
HUTCH_API int64_t hutch_pause(struct hutch *h, void *tag, struct hutch_error *e);
/* Lets a paused sandbox go on.  `flags`: HUTCH_FORCE, or 0. */
HUTCH_API int64_t hutch_unpause(struct hutch *h, unsigned flags, void *tag,
				struct hutch_error *e);
/* Sends SIGTERM to everything inside, and gives it `grace_s` seconds to end. */
HUTCH_API int64_t hutch_stop(struct hutch *h, unsigned grace_s, void *tag,
			     struct hutch_error *e);
HUTCH_API int64_t hutch_kill(struct hutch *h, void *tag, struct hutch_error *e);
/* Makes a sandbox that was taken from a pool live on when the handle is closed.
 * `name`: its new name; NULL: it keeps its name. */
HUTCH_API int64_t hutch_release(struct hutch *h, const char *name, void *tag,
				struct hutch_error *e);

/* Runs `hutch rm` and waits: removes all that is kept of an ended sandbox, whose name
 * is free then.  HUTCH_FORCE: ends a live sandbox first, even one whose supervisor is
 * stuck.  An error has the kind and words of the program, such as HUTCH_NOT_FOUND;
 * HUTCH_SYSTEM if it gave none. */
HUTCH_API int hutch_rm(const char *name, unsigned flags, const struct hutch_how *how,
		       struct hutch_error *e);

struct hutch_request {
	size_t size;
	const char *method;
	const char *params; /* the params, a JSON object; NULL: none */
	const int *fds;	    /* up to three descriptors, sent beside the request; they
			     * stay yours */
	size_t fd_count;
};

/* Calls any method of docs/control.md, such as one that has no function here. */
HUTCH_API int64_t hutch_call(struct hutch *h, const struct hutch_request *r, void *tag,
			     struct hutch_error *e);

/* --- JSON ------------------------------------------------------------------ */

/* Gets the member with this path, such as "limits.memory", and returns 1; returns 0
 * where there is none, or the member has another type.  `json` may be NULL. */
HUTCH_API int hutch_json_integer(const char *json, const char *path, int64_t *ret);
HUTCH_API int hutch_json_number(const char *json, const char *path, double *ret);
HUTCH_API int hutch_json_bool(const char *json, const char *path, int *ret);
/* Returns the member's string, which you free(3); NULL where there is none. */
HUTCH_API char *hutch_json_string(const char *json, const char *path);
/* Returns the text as a JSON string, with quotes and escapes, which you free(3); NULL
 * if the text is no UTF-8. */
HUTCH_API char *hutch_json_quote(const char *text);

#ifdef __cplusplus
}
#endif

#endif

/* job -- a tool that a client has called, from its arguments to its result.
 *
 *	job_start	checks the arguments; connects to the sandbox, if the tool works
 *			in one; the tool sends its request
 *	(answers)	the tool's `take` gets each message of the sandbox, its `ended`
 *			the end of a program that it runs
 *	job_done	sends the result and frees the job; job_fail() does so with an
 *			error that the model reads
 *
 * A job has its own connection to the sandbox.  Closing it ends what was started through
 * it, so a cancelled job leaves nothing behind (docs/control.md, exec.start).
 *
 * Without a sandbox_id the job is for the default sandbox, which is made when a tool
 * first needs it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/loop.h"
#include "mcp/capture.h"
#include "mcp/message.h"
#include "gateway/command.h"
#include "include/hutch.h"

struct batch;
struct err;
struct list;
struct tool_result;
struct server;
struct tool;

struct job {
	struct server *server;
	struct job *next;
	char *id;    /* owned: the request's id as JSON */
	char *token; /* owned: its progress token; NULL: none */
	struct batch *batch;
	bool is_modern, can_ask;
	const struct tool *tool; /* NULL: a subscription */
	struct json *doc;	 /* owned: the request */
	struct json_at params, arguments;
	char *name;	      /* owned: that of the sandbox */
	bool is_default;      /* the client has named no sandbox */
	bool waits_for_maker; /* the default sandbox is being made */
	bool has_waited;      /* it has been made for this job */
	unsigned retries; /* how often it was looked for while another server makes it */
	bool is_retrying; /* it is looked for again when the timer expires */
	bool makes;	      /* `box` is being made for this job */
	bool is_ready;	      /* `box` is connected */
	struct hutch *box;    /* owned */
	struct watch watch;   /* of `box` */
	struct command *program;
	struct timer timer;
	uint64_t progress; /* the last progress that was told */
	int64_t told_ms;
	unsigned question; /* the number of the question to the user; 0: none is open */

	/* of exec and exec_output */
	int64_t process;
	struct capture out, err;
	uint64_t lost;	 /* bytes of output that did not come */
	uint64_t wanted; /* exec_output: bytes of output that are kept */
	bool has_wanted; /* `wanted` is known */
	bool has_state;	 /* `is_running` is known */
	bool is_running;
	bool is_over_time; /* the job waits no longer for the end of the process */
	char *exit;	   /* owned: the answer of exec.wait; NULL: it has not come */
};

/* Where the answer to a request goes: the `tag` of a message (hutch.h). */
#define JOB_TAG(n) ((void *)(intptr_t)(n))

/* Takes over the document of the message. */
void job_start(struct server *s, struct message *m, struct batch *batch);
/* Starts a subscription, which lasts until it is cancelled, or the server ends. */
void job_listen(struct server *s, struct message *m, struct batch *batch);
/* Ends the job with this id without an answer, if there is one. */
void job_cancel(struct server *s, const char *id);
struct job *job_find(struct server *s, const char *id);
/* Frees a job, without an answer.  Its work ends. */
void job_free(struct job *j);
/* Answers a subscription, and frees it. */
void job_end_subscription(struct job *j);

/* Continues when the default sandbox has been made, or with the error. */
void job_go_on(struct job *j, const struct hutch_error *e);
/* Continues when the user has answered. */
void job_answered(struct job *j, bool is_allowed);

void job_done(struct job *j, struct tool_result *r);
void job_fail(struct job *j, const char *text);
void job_fail_err(struct job *j, const struct err *e);
void job_fail_hutch(struct job *j, const struct hutch_error *e);
/* Fails if a program did not succeed, with its words. */
bool job_has_succeeded(struct job *j, const struct command *p);
/* Fails if the number of a request is -1: it could not be sent. */
void job_check_sent(struct job *j, int64_t number, const struct hutch_error *e);

/* Runs `hutch WORDS`, and then the tool's `ended`. */
void job_run(struct job *j, const struct list *words);
/* Makes a sandbox: `verb` is "create" or "fork". */
void job_make(struct job *j, const char *verb, const char *source);

/* job_making() returns how many sandboxes are being made, job_is_making() whether the one
 * of this name is. */
size_t job_making(const struct server *s);
bool job_is_making(const struct server *s, const char *name);

/* Tells the client how far the job is, if it has asked for that: `bytes` so far, and the
 * last of them. */
void job_progress(struct job *j, const struct hutch_message *m);

/* result -- how a run ended, in one object. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"

struct buffer;
struct exec;
struct failed;
struct denials;

enum run_status {
	RUN_EXITED,
	RUN_SIGNALED,
	RUN_TIMEOUT,
	RUN_OOM,
	RUN_SETUP_ERROR,
	RUN_STATUS_COUNT
};

/* The exit codes that hutch itself gives, not its command (docs/hutch-run.md). */
enum {
	EXIT_TIMED_OUT = 124,
	EXIT_HUTCH = 125,
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127
};

/* Bits for options that were given and could not be met; with --best-effort the
 * launch goes on without them. */
enum degraded {
	DEGRADED_MEMORY = 1,
	DEGRADED_CPUS = 2,
	DEGRADED_PIDS = 4,
	DEGRADED_DISK = 8,
	DEGRADED_IMAGE = 16, /* without --best-effort, too: the root is a copy of the
			      * image, or served, as there is no overlayfs */
	DEGRADED_ISOLATION = 32, /* --isolation landlock was used, which is weaker than
				  * namespaces */
	DEGRADED_PROTECT = 64, /* --protect does not see files replaced on the host */
	DEGRADED_PAUSE = 128 /* the sandbox was paused by signals, which a process
			      * inside can undo */
};
#define DEGRADED_COUNT 8

/* Returns "exited", "signaled", ... */
const char *result_status_name(enum run_status status);

/* Writes the options of these bits as a JSON member: "degraded":["memory","cpus"]. */
void result_write_degraded(struct buffer *b, unsigned degraded);

/* Returns the option, without its dashes, of bit `i` of enum degraded. */
const char *result_degraded_name(unsigned i);

struct result {
	enum run_status status;
	int exit_code; /* hutch's own exit code */
	int signal;    /* the signal that ended the command; 0: none */
	double wall_s, user_s, sys_s;
	uint64_t memory_peak, pids_peak; /* most bytes and processes at one time; 0:
					  * unknown */
	unsigned degraded;		 /* enum degraded */
	char *refused; /* owned: the refused calls as JSON objects, the inside of an
			* array; NULL: none */
	struct list told; /* owned: a sentence and a remedy, by turns, for each refused
			   * call */
	struct err error;		 /* kind ERR_NONE: there was no error */
};

void result_done(struct result *r);

void result_exited(struct result *r, int code);
void result_signaled(struct result *r, int signal);
void result_timeout(struct result *r);
/* Sets the result: the command was killed for want of memory; `error` has the reason. */
void result_oom(struct result *r, const struct err *error);
/* Takes over the system calls that the filter has refused (denials.h). */
void result_refused(struct result *r, const struct denials *denials);
/* Sets the result: hutch failed, or the command could not be started; `code` is 125
 * to 127. */
void result_failed(struct result *r, int code, const struct err *error);

/* Turns the executor's answer that it could not start a command into an error,
 * and returns the exit code for it: 125, 126 or 127, as in shells. */
int result_not_started(const struct failed *failed, const struct exec *x, struct err *e);

/* Returns an error as a JSON object: kind, message, remedy; "null" for no error.
 * Allocated. */
char *result_error_json(const struct err *error);

/* Notes that the command's output could not all be delivered, because of `why`: a
 * failure of hutch's, unless the command has failed by itself. */
void result_undelivered(struct result *r, const struct err *why);

/* Returns the object that `hutch run --json` prints, on one line.  No key is left
 * out.  Allocated. */
char *result_json(const struct result *r);

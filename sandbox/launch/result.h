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

/* hutch's own exit codes (docs/hutch-run.md). */
enum {
	EXIT_TIMED_OUT = 124,
	EXIT_HUTCH = 125,
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127
};

/* Options that were given, with --best-effort, and could not be met; bits. */
enum degraded {
	DEGRADED_MEMORY = 1,
	DEGRADED_CPUS = 2,
	DEGRADED_PIDS = 4,
	DEGRADED_DISK = 8,
	DEGRADED_IMAGE = 16, /* not by --best-effort: a copy, as there is no overlayfs */
	DEGRADED_ISOLATION = 32, /* --isolation landlock */
	DEGRADED_PROTECT = 64, /* files that the host replaces are not noticed */
	DEGRADED_PAUSE = 128 /* paused by signals, which can be undone inside */
};
#define DEGRADED_COUNT 8

/* "exited", "signaled", ... */
const char *result_status_name(enum run_status status);

/* Writes the options of these bits as a member: "degraded":["memory","cpus"]. */
void result_write_degraded(struct buffer *b, unsigned degraded);

/* The option, without its dashes, of bit `i`. */
const char *result_degraded_name(unsigned i);

struct result {
	enum run_status status;
	int exit_code; /* hutch's own exit code */
	int signal;    /* 0: none */
	double wall_s, user_s, sys_s;
	uint64_t memory_peak, pids_peak; /* 0: unknown */
	unsigned degraded;		 /* enum degraded */
	char *refused; /* owned: objects, the inside of a JSON array; NULL: none */
	struct list told; /* owned: for each refused call a sentence and a remedy, in
			   * turn */
	struct err error;		 /* kind ERR_NONE: none */
};

void result_done(struct result *r);

void result_exited(struct result *r, int code);
void result_signaled(struct result *r, int signal);
void result_timeout(struct result *r);
/* The command was killed for want of memory; `error` has the reason. */
void result_oom(struct result *r, const struct err *error);
/* Takes over the calls that the filter has refused (denials.h). */
void result_refused(struct result *r, const struct denials *denials);
/* hutch failed, or the command could not be started: `code` 125 to 127. */
void result_failed(struct result *r, int code, const struct err *error);

/* Turns the executor's answer that it could not start a command into an error,
 * and returns the exit code for it: 125, 126 or 127, as in shells. */
int result_not_started(const struct failed *failed, const struct exec *x, struct err *e);

/* An error as an object: kind, message, remedy; null for none.  Allocated. */
char *result_error_json(const struct err *error);

/* The command's output could not all be delivered, because of `why`: a failure
 * of hutch's, unless the command has failed by itself. */
void result_undelivered(struct result *r, const struct err *why);

/* The object of `hutch run --json`, one line.  Allocated.  No key is left
 * out. */
char *result_json(const struct result *r);

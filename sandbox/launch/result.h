/* result -- how a run of `hutch run` ended, as one struct. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"

struct buffer;
struct exec;
struct failed;
struct denials;
struct refused_hosts;

enum run_status {
	RUN_EXITED,
	RUN_SIGNALED,
	RUN_TIMEOUT,
	RUN_OOM,
	RUN_SETUP_ERROR,
	RUN_STATUS_COUNT
};

/* Exit codes of hutch itself, as opposed to those of its command (docs/hutch-run.md). */
enum {
	EXIT_TIMED_OUT = 124,
	EXIT_HUTCH = 125,
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127
};

/* Bits for options that the host could not fulfil; with --best-effort the launch goes on
 * without them. */
enum degraded {
	DEGRADED_MEMORY = 1,
	DEGRADED_CPUS = 2,
	DEGRADED_PIDS = 4,
	DEGRADED_DISK = 8,
	DEGRADED_IMAGE = 16, /* also without --best-effort: there is no overlayfs, so the
			      * root is a copy of the image, or fuse-overlayfs serves
			      * it */
	DEGRADED_ISOLATION = 32, /* --isolation landlock was used, which is weaker than
				  * namespaces */
	DEGRADED_PROTECT = 64, /* hutch does not notice if the host replaces a file of
				* --protect */
	DEGRADED_PAUSE = 128 /* the sandbox was paused by signals, which a process
			      * inside can undo */
};
#define DEGRADED_COUNT 8

/* Returns "exited", "signaled", ... */
const char *result_status_name(enum run_status status);

/* Writes the names of the options in `degraded` as a JSON member:
 * "degraded":["memory","cpus"]. */
void result_write_degraded(struct buffer *b, unsigned degraded);

/* Returns the name, without its dashes, of the option that bit `i` of enum degraded
 * stands for. */
const char *result_degraded_name(unsigned i);

struct result {
	enum run_status status;
	int exit_code; /* hutch's own exit code */
	int signal;    /* the signal that ended the command; 0: none */
	double wall_s, user_s, sys_s;
	/* the most bytes, and the most processes, at any one time; 0: unknown */
	uint64_t memory_peak, pids_peak;
	unsigned degraded;		 /* enum degraded */
	/* borrowed: the value of --network, and the form of a network of rules as
	 * egress_form_name() has it; NULL: there is none */
	const char *network, *network_form;
	char *refused; /* owned: the refused system calls and hosts as JSON objects,
			* without the array's brackets; NULL: none */
	/* owned: for each of these two items, a sentence about it and a remedy */
	struct list refusal_notes;
	struct err error;		 /* kind ERR_NONE: there was no error */
};

void result_done(struct result *r);

void result_exited(struct result *r, int code);
void result_signaled(struct result *r, int signal);
void result_timeout(struct result *r);
/* Sets the result for a command that was killed for want of memory; `error` says why. */
void result_oom(struct result *r, const struct err *error);
/* Sets the system calls that the filter has refused (denials.h), and the hosts that rules
 * have refused (refused_host.h; NULL: there are no rules). */
void result_refused(struct result *r, const struct denials *denials,
		    const struct refused_hosts *hosts);
/* Sets the result for a failure of hutch, or for a command that could not be started;
 * `code` is 125 to 127. */
void result_failed(struct result *r, int code, const struct err *error);

/* Makes an error out of the executor's message that the command could not be started.
 * Returns the exit code for it: 125, 126 or 127, as in shells. */
int result_not_started(const struct failed *failed, const struct exec *x, struct err *e);

/* Returns an error as a JSON object: kind, message, remedy; "null" for no error.
 * Allocated. */
char *result_error_json(const struct err *error);

/* Records that some of the command's output could not be delivered, because of `why`.
 * This makes the run a failure of hutch, unless the command itself has failed. */
void result_undelivered(struct result *r, const struct err *why);

/* Returns the JSON object that `hutch run --json` prints, on one line, always with all
 * keys.  Allocated. */
char *result_json(const struct result *r);

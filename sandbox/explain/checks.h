/* checks -- finds out, by trying, which features that hutch needs work on this host.
 *
 * A check uses the feature (makes the namespace, the mount, the filter) in a process of
 * its own, with the functions that a launch uses.  Versions, modes of files and
 * configurations are not trusted: on many hosts they do not match what the kernel allows.
 * The result is data; `hutch doctor` prints it.
 *
 *	struct check found[CHECKS_HOST];
 *
 *	host_user_become(&user, &e);
 *	checks_host(&user, found);
 *
 * A check leaves nothing behind and changes nothing on the host: all that it makes is
 * private to its process, which is killed after CHECK_SECONDS, and dies with the process
 * that started it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct host_user;

enum check_status {
	CHECK_OK,
	CHECK_LIMITED, /* the feature works, but only in part */
	CHECK_MISSING,
	CHECK_STATUS_COUNT
};

#define CHECK_SECONDS 10
#define CHECKS_HOST   14 /* the number of checks in checks_host() */

/* The result of one check.  The texts are sentences; an empty text means that
 * the answer is unknown, or that there is nothing to say. */
struct check {
	const char *name;
	enum check_status status;
	char detail[ERR_TEXT_MAX]; /* what the probe found */
	char means[400];	   /* if the status is not ok: the part of hutch that
				    * does not work */
	char remedy[512];	   /* if the status is not ok: the command that would
				    * change that */
};

/* Returns the status as a word: "ok", "limited", "missing". */
const char *check_status_name(enum check_status status);

/* The state of one probe.  The memory is shared with the processes that the
 * probe makes, so that any of them can write the answer. */
struct trial {
	struct check check;
	const struct host_user *user; /* the host's user that sandboxes run as */
	struct err e;		    /* the error of the process that failed */
};

struct check_kind {
	const char *name;
	void (*probe)(struct trial *t); /* called in a child, whose stdio is /dev/null */
	const char *means;	/* the check's `means` if the status is not ok and the
				 * probe has set no other text */
	bool needs_user;	/* the probe cannot run without a user namespace */
	unsigned seconds;	/* the time limit; 0: CHECK_SECONDS */
};

/* Tries one check.  SIGCHLD must not be ignored.  A probe that gives no answer
 * in time, or dies, counts as CHECK_MISSING. */
void check_try(const struct check_kind *kind, const struct host_user *user,
	       struct check *ret);

/* Tries all checks of a host, in the order of docs/hutch-doctor.md. */
void checks_host(const struct host_user *user, struct check ret[CHECKS_HOST]);

/* Sets the answer of a probe.  Called in the probe's process. */
void trial_found(struct trial *t, enum check_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void trial_means(struct trial *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void trial_remedy(struct trial *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets the answer CHECK_MISSING, with the text and remedy of t->e. */
void trial_failed(struct trial *t);

/* Runs `work` in a child that is alone in new namespaces (CLONE_NEW*, a user
 * namespace among them), with the caller's ids mapped there, as a launch does.
 * Returns 0, or -1 with the error in t->e. */
int trial_inside(struct trial *t, uint64_t namespaces, int (*work)(struct trial *t));

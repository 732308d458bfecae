/* checks -- what this host has of what hutch is made of, found by trying.
 *
 * A check makes the thing itself, in a process of its own, with the functions that
 * a launch uses: a version, a file's mode or a line of a configuration says what
 * ought to be, and half of all containers, kernels and security modules differ.
 * What it finds is data; `hutch doctor` prints it.
 *
 *	struct check found[CHECKS_HOST];
 *
 *	identity_become(&who, &e);
 *	checks_host(&who, found);
 *
 * Nothing is left: what a check makes is private to its process, which is killed
 * after CHECK_SECONDS, and ends with whoever started it.  Nothing of the host is
 * changed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct identity;

enum check_status {
	CHECK_OK,
	CHECK_LIMITED, /* there, but not all of it */
	CHECK_MISSING,
	CHECK_STATUS_COUNT
};

#define CHECK_SECONDS 10
#define CHECKS_HOST   14 /* how many there are in checks_host() */

/* Sentences; the empty one is unknown, or nothing to say. */
struct check {
	const char *name;
	enum check_status status;
	char detail[ERR_TEXT_MAX]; /* what was found */
	char means[400];	   /* not ok: what of hutch does not work */
	char remedy[512];	   /* not ok: the command that would change it */
};

/* "ok", "limited", "missing". */
const char *check_status_name(enum check_status status);

/* What a probe works on.  It is in memory that is shared with the processes which
 * the probe makes, so that any of them can write the answer. */
struct trial {
	struct check check;
	const struct identity *who; /* whom a sandbox stands for */
	struct err e;		    /* for whoever fails */
};

struct check_kind {
	const char *name;
	void (*probe)(struct trial *t); /* in a child; stdio is /dev/null */
	const char *means;	/* when it is not ok and the probe says nothing else */
	bool needs_user;	/* cannot be tried without a user namespace */
	unsigned seconds;	/* 0: CHECK_SECONDS */
};

/* Tries one.  SIGCHLD must not be ignored.  A probe that says nothing in time, or
 * dies, has found it missing. */
void check_try(const struct check_kind *kind, const struct identity *who,
	       struct check *ret);

/* Tries all that a host is made of, in the order of docs/hutch-doctor.md. */
void checks_host(const struct identity *who, struct check ret[CHECKS_HOST]);

/* What a probe answers with. */
void trial_found(struct trial *t, enum check_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void trial_means(struct trial *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void trial_remedy(struct trial *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The answer is t->e: missing, with its text and remedy. */
void trial_failed(struct trial *t);

/* Runs `work` in a child that is alone in new namespaces (CLONE_NEW*, the user's
 * among them) and stands there for the caller's ids, as a launch does.  0, or -1
 * with t->e. */
int trial_inside(struct trial *t, uint64_t namespaces, int (*work)(struct trial *t));

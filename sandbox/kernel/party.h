/* party -- one of the processes that carry out a copy, and the outcome of its work.
 *
 *	party_start		forks a child that does the work and dies with the caller
 *	poll(2) on `result`, then party_collect
 *	party_done		kills the child if it has not ended
 *
 * A copy has two parties: each blocks in reading or writing at its own end of a pipe, and
 * when one gives up the other sees that pipe closed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define PARTY_FDS_MAX 4

struct outcome {
	struct err error;    /* kind ERR_NONE: success */
	bool is_inside;	     /* the error is the inside's, which has sent the reason as
			      * a message (copy_request.h) */
	bool is_closed;	     /* the pipe's reader had gone: the other party's error
			      * counts */
	uint64_t entries, bytes, left_out, links_out;
	char first[160]; /* the first file left out, and why; or the first link out */
};

struct party {
	pid_t pid;  /* 0: no child */
	int result; /* owned; -1: no child, or its outcome was collected */
	int leash;  /* owned: reads as ended once the child and its own children are
		     * gone */
	struct outcome outcome;
};

struct work {
	/* The work.  Each process that the child starts must hold `leash` open,
	 * as the child does. */
	void (*do_it)(void *arg, int leash, struct outcome *o);
	void *arg;
	int fds[PARTY_FDS_MAX]; /* borrowed: the only descriptors above 2 that */
	size_t fd_count;	/* the child keeps, under the same numbers */
};

void party_init(struct party *p);
/* Signals that the caller has blocked stay blocked in the child, which ends
 * with the caller, or when it is killed. */
int party_start(struct party *p, const struct work *work, struct err *e);
/* Call it when `result` is readable.  Sets `outcome`, whose values are checked. */
void party_collect(struct party *p);
/* Kills the child, and waits until it and its own children are gone. */
void party_done(struct party *p);

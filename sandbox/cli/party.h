/* party -- one of the processes that carry a copy, and what came of its work.
 *
 *	party_start		a child that works, and ends with the caller
 *	poll(2) on `result`, then party_collect
 *	party_done		ends it, if it has not ended
 *
 * A copy has two: they block in reading and writing, each at its own end of a pipe,
 * and when one gives up the other sees that pipe closed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define PARTY_FDS_MAX 4

struct outcome {
	struct err error;    /* kind ERR_NONE: it is done */
	bool is_inside;	     /* the error is the inside's, which has said more (courier.h) */
	bool is_closed;	     /* whoever was to read had gone: the other one's error counts */
	uint64_t entries, bytes, left_out, links_out;
	char first[160]; /* of what was left out, and why; or of the links */
};

struct party {
	pid_t pid;  /* 0: none */
	int result; /* owned; -1: none, or it was collected */
	int leash;  /* owned: at its end when nobody is left who works for it */
	struct outcome outcome;
};

struct work {
	/* What it is to do.  Whoever works for it holds `leash` open, as it does. */
	void (*do_it)(void *arg, int leash, struct outcome *o);
	void *arg;
	int fds[PARTY_FDS_MAX]; /* borrowed: all that it keeps of descriptors above 2; */
	size_t fd_count;	/* the numbers stay */
};

void party_init(struct party *p);
/* Signals that the caller has blocked stay so in the child: it ends with the caller, or
 * when it is killed. */
int party_start(struct party *p, const struct work *work, struct err *e);
/* To be called when `result` can be read.  Its outcome, checked, is there then. */
void party_collect(struct party *p);
/* Kills it, and waits until nobody who works for it is left. */
void party_done(struct party *p);

/* apply -- what was changed inside is done on the host.
 *
 * One name after the other, each whole or not at all: what is new is made under a name of
 * ours in the same folder and then takes its place with one rename(2); what is removed is
 * moved to that name first.  A kill leaves at most something under that name, which the
 * next apply removes, and each file as it was or as it shall be.  What is there already as
 * it shall be is passed over, so a second apply goes on where the first one ended.
 *
 * What was changed on the host since the sandbox began is not touched.  That is known by
 * its ctime, which nobody can set: it is not later than the sandbox's beginning, or what
 * an apply of the same sandbox left, which is written down.  Of a folder that is to be
 * removed that holds for all that is in it.  A file that somebody changes in the moment
 * when it is exchanged is found changed, and put back.
 *
 * A protected path (rootfs-tools/guarded.h) is not touched either, whatever is forced.
 *
 * So that nothing is done where a part cannot be, a caller walks it twice: first to judge,
 * through the same checks, then to do it.  A change that fails in the second walk all the
 * same (a full disk, a file that is being written) ends it: the others are named as not
 * done.  A folder of git's (rootfs-tools/repository.h) is done whole or not at all where
 * parts are asked for, too. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/inodes.h"
#include "rootfs-tools/ground.h"
#include "rootfs-tools/guarded.h"

struct err;
struct repositories;

#define APPLY_TEMPORARY ".hutch-apply-"

struct apply {
	int dir;		   /* borrowed: the host's folder */
	const struct list *wanted; /* as ground.h has it */
	const char *id;		   /* of the changes: what is temporary is named by it */
	int64_t started_ns;
	const struct list *protects; /* borrowed: patterns (policy/protect.h); may be NULL */
	bool is_forced;
	bool is_dry;	 /* nothing is done */
	bool is_judging; /* nothing is done, and broken repositories are only found */
	bool is_whole;	 /* where one is refused, no other is done any more */
	bool is_stopped; /* is_whole, and one was; the caller may set it, for another folder's */
	struct repositories *repositories; /* borrowed: the broken ones so far */
	int record; /* borrowed: where what was applied is written down, O_APPEND; -1: not */
	void *who;
	/* For each that is done, or would be. */
	void (*on_done)(void *who, const struct meeting *m);
	/* For each that is not, and why. */
	void (*on_refused)(void *who, const char *path, const char *why);
	/* For each socket or device, which are no changes that anybody could do.  May be
	 * NULL. */
	void (*on_left_out)(void *who, const char *path, const char *why);
	/* So far. */
	uint64_t done, refused, left_out;
	uint64_t protected, changed; /* of the refused: what could be had all the same */
	/* Private. */
	struct inodes applied, own;
	struct guarded guarded;
	struct list closed; /* folders that are to be closed to their owner in the end */
	struct list shut;   /* the folder that was refused last */
	struct list opened; /* folders, each in the one before, that are to have other modes */
	char *held;	    /* owned: content of a small file */
	size_t held_len;
	char temporary[sizeof(APPLY_TEMPORARY) + 32];
};

/* Reads what was written down.  Before apply_all(); apply_done() in any case. */
int apply_begin(struct apply *a, struct err *e);
void apply_done(struct apply *a);

/* -1: it did not come to its end. */
int apply_all(struct apply *a, struct tell *t, struct err *e);

/* Removes what a kill has left, and nothing else. */
int apply_sweep(struct apply *a, struct tell *t, struct err *e);

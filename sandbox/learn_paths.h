/* learn_paths -- from the paths that a command has used to the least that shows them.
 *
 * Each path that was used and that the sandbox does not show anyway is looked at on the
 * host, as it is after the run, by its user.  What is nowhere needs nothing.  Then:
 *
 *	a file				is shown :ro, or :rw where it was written to and
 *					may be
 *	a folder that was listed	is shown, :ro
 *	one that was only entered	is there by what is shown below it; else it is an
 *					empty folder in memory
 *	a name that was made, given
 *	or taken away			asks for its folder, :rw
 *
 * More than LEARN_TOGETHER of one folder, of the same mode, become that folder, and so
 * on upwards.  A folder is never shown whole when it is, or is above, a home, one of
 * hutch's own, a secret or what every sandbox has of its own, nor when it is below a
 * secret: what is in such a one is shown by itself. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"

struct plan;
struct protect;
struct traced;

#define LEARN_TOGETHER 8
#define LEARN_MOUNTS   2000

enum wish_mode { WISH_NOTHING, WISH_EMPTY, WISH_READ, WISH_WRITE };

struct wish {
	char *path; /* owned */
	enum wish_mode mode;
	bool is_folder;
};

/* Why something is not in the policy. */
enum learn_left {
	LEFT_WIDE,    /* a folder that is never shown whole */
	LEFT_MADE,    /* a name that was made, or put in place of another, in such a one */
	LEFT_CLOSED,  /* its user may not read it */
	LEFT_AUTO,    /* below an automounter: to look at it is to mount it */
	LEFT_SPECIAL, /* a socket, a FIFO, a device */
	LEFT_NAME,    /* a name that a policy cannot say */
	LEFT_OWN,     /* hutch's own */
	LEFT_KERNEL,  /* such as /sys: its top alone is listed */
	LEFT_MANY,    /* there were LEARN_MOUNTS */
	LEFT_COUNT
};

struct wishes {
	struct wish *items; /* owned; in the order of their paths when it is done */
	size_t count, room;
	struct list secrets;	     /* paths among them that are, or are in, a secret */
	struct list later; /* what of it can be written to, and runs later */
	struct list left[LEFT_COUNT]; /* paths, each once */
};

/* What decides; all borrowed. */
struct learn_ground {
	const struct plan *plain;   /* of the sandbox without what is learned */
	const struct list *also;    /* folders of the host's in what is the plan's own scratch,
				     * such as a home in /tmp */
	/* By all of their names, real paths among them: */
	const struct list *homes;   /* never shown whole */
	const struct list *own;	    /* hutch's own folders */
	const struct list *secrets; /* files and folders */
	const struct list *autos;   /* automounters' folders */
	const struct protect *later; /* names of what runs later (learn_later.h) */
};

void wishes_done(struct wishes *w);

void learn_paths(const struct learn_ground *ground, const struct traced *seen,
		 struct wishes *ret);

/* The secrets that are known by their names, below a home. */
void learn_list_secrets(const char *home, struct list *ret);

/* Whether the plan has what is at `path`, whatever that is; of its scratch, what is in
 * none of `also`. */
bool learn_is_shown(const struct plan *plain, const struct list *also, const char *path);
/* Whether something of the plan is below it: it is there as a folder. */
bool learn_is_above(const struct plan *plain, const char *path);

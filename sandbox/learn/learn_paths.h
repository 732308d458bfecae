/* learn_paths -- finds the least that shows all paths which a command has used.
 *
 * Each used path that the sandbox does not show anyway is looked at on the
 * host, as it is after the run, by its user.  A path that does not exist needs
 * nothing.  Then:
 *
 *	a file				is shown :ro, or :rw where it was written to and
 *					may be
 *	a folder that was listed	is shown, :ro
 *	a folder that was only entered	is there by what is shown below it; else it is an
 *					empty folder in memory
 *	a name that was made, given
 *	or taken away			asks for its folder, :rw
 *
 * More than LEARN_TOGETHER paths of one folder, with the same mode, become that
 * folder, and so on upwards.  A folder is never shown whole when it is, or is
 * above, a home, a folder of hutch's own, a secret or one that every sandbox
 * has of its own, nor when it is below a secret: its files are shown one by
 * one. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"

struct plan;
struct protect;
struct trace_set;

#define LEARN_TOGETHER 8
#define LEARN_MOUNTS   2000

enum wish_mode { WISH_NOTHING, WISH_EMPTY, WISH_READ, WISH_WRITE };

struct wish {
	char *path; /* owned */
	enum wish_mode mode;
	bool is_folder;
};

/* The reason why a path is not in the policy. */
enum learn_left {
	LEFT_WIDE,    /* a folder that is never shown whole */
	LEFT_MADE,    /* a name that was made or replaced in such a folder */
	LEFT_CLOSED,  /* its user may not read it */
	LEFT_AUTO,    /* below an automounter: a look would mount it */
	LEFT_SPECIAL, /* a socket, a FIFO, a device */
	LEFT_NAME,    /* a name that a policy cannot say */
	LEFT_OWN,     /* hutch's own */
	LEFT_KERNEL,  /* such as /sys: only its top is listed */
	LEFT_MANY,    /* there were LEARN_MOUNTS already */
	LEFT_COUNT
};

struct wishes {
	struct wish *items; /* owned; sorted by path in the end */
	size_t count, room;
	struct list secrets;	     /* those that are, or are in, a secret */
	struct list later; /* those that can be written to and run later */
	struct list left[LEFT_COUNT]; /* paths, each once */
};

/* The facts that decide; all borrowed. */
struct learn_ground {
	const struct plan *plain;   /* the sandbox's plan, without what is learned */
	const struct list *also;    /* host folders within the plan's scratch, such as a
				     * home in /tmp */
	/* With all of their names, real paths among them: */
	const struct list *homes;   /* never shown whole */
	const struct list *own;	    /* hutch's own folders */
	const struct list *secrets; /* files and folders */
	const struct list *autos;   /* automounters' folders */
	const struct protect *later; /* names that run later (learn_later.h) */
};

void wishes_done(struct wishes *w);

void learn_paths(const struct learn_ground *ground, const struct trace_set *seen,
		 struct wishes *ret);

/* The well-known names of secrets below a home. */
void learn_list_secrets(const char *home, struct list *ret);

/* Whether the plan has a file or folder at `path`; in its scratch, only what is
 * in none of `also` counts. */
bool learn_is_shown(const struct plan *plain, const struct list *also, const char *path);
/* Whether something of the plan is below `path`, which therefore exists as a
 * folder. */
bool learn_is_above(const struct plan *plain, const char *path);

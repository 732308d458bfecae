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
	LEFT_CLOSED,  /* the sandbox's user may not read the path */
	LEFT_AUTO,    /* the path is below an automounter: looking at it would mount a
		       * file system */
	LEFT_SPECIAL, /* the path is a socket, a FIFO or a device */
	LEFT_NAME,    /* the path has a name that a policy cannot say */
	LEFT_OWN,     /* the path is in a folder of hutch's own */
	LEFT_KERNEL,  /* the path is in one of the kernel's file systems, such as /sys:
		       * only the top is listed */
	LEFT_MANY,    /* LEARN_MOUNTS paths are in the policy already */
	LEFT_COUNT
};

struct wishes {
	struct wish *items; /* owned; sorted by path in the end */
	size_t count, room;
	struct list secrets;	     /* paths of `items` that are, or are in, a secret */
	struct list later; /* paths of `items` that can be written to and run later */
	struct list left[LEFT_COUNT]; /* paths, each once */
};

/* The facts that decide what is shown.  All members are borrowed. */
struct learn_ground {
	const struct plan *plain;   /* the sandbox's plan, without what is learned */
	const struct list *also;    /* host folders within the plan's scratch, such as a
				     * home in /tmp */
	/* Lists of paths, each path with all of its names, the real one among them: */
	const struct list *homes;   /* homes, which are never shown whole */
	const struct list *own;	    /* hutch's own folders */
	const struct list *secrets; /* files and folders that are secrets */
	const struct list *autos;   /* folders of automounters */
	const struct protect *later; /* names that run later (learn_later.h) */
};

void wishes_done(struct wishes *w);

void learn_paths(const struct learn_ground *ground, const struct trace_set *seen,
		 struct wishes *ret);

/* Adds the well-known names of secrets below a home. */
void learn_list_secrets(const char *home, struct list *ret);

/* Returns whether the plan has a file or folder at `path`.  In the plan's
 * scratch folders, only a path that is in no folder of `also` counts. */
bool learn_is_shown(const struct plan *plain, const struct list *also, const char *path);
/* Returns whether the plan has a path below `path`, which therefore exists as
 * a folder. */
bool learn_is_above(const struct plan *plain, const char *path);

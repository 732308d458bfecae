/* learn_paths -- finds mounts that show all paths that a command has used, and
 * as little else as possible.
 *
 * Each used path that the sandbox does not show anyway is looked at on the
 * host after the run, with the rights of the sandbox's user.  A path that does
 * not exist needs nothing.  Then:
 *
 *	a file				is shown :ro, or :rw if it was written to and
 *					the user may do that
 *	a folder that was listed	is shown, :ro
 *	a folder that was only entered	exists if a path below it is shown; else it is
 *					an empty folder in memory
 *	a name that was made, replaced
 *	or removed			needs its folder, :rw
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
	LEFT_WIDE,    /* the path is a folder that is never shown whole */
	LEFT_MADE,    /* a name that was made or replaced in a folder that is never
		       * shown whole */
	LEFT_CLOSED,  /* the sandbox's user may not read the path */
	LEFT_AUTO,    /* looking at the path would mount a file system: it is below an
		       * automounter's folder */
	LEFT_SPECIAL, /* the path is a socket, a FIFO or a device */
	LEFT_NAME,    /* a policy file cannot express the path, such as one with a ':' */
	LEFT_OWN,     /* the path is in a folder of hutch's own */
	LEFT_KERNEL,  /* the path is in one of the kernel's file systems, such as /sys:
		       * only the topmost folder is listed */
	LEFT_MANY,    /* the policy has LEARN_MOUNTS paths already */
	LEFT_COUNT
};

struct wishes {
	struct wish *items; /* owned; sorted by path in the end */
	size_t count, room;
	struct list secrets;	     /* paths of `items` that are, or are in, a secret */
	struct list later; /* paths of `items` that are writable and that programs
			    * outside of the sandbox later run or read as configuration */
	struct list left[LEFT_COUNT]; /* paths, each once */
};

/* The facts that decide what is shown.  All members are borrowed. */
struct learn_facts {
	const struct plan *plain;   /* the plan of the sandbox, from the flags alone */
	const struct list *also;    /* shown host folders that lie in one of the plan's
				     * scratch folders, such as a home in /tmp */
	/* Lists of paths.  A path that has several names, such as by links, is in a
	 * list by each of them and by its real path: */
	const struct list *homes;   /* homes, which are never shown whole */
	const struct list *own;	    /* hutch's own folders */
	const struct list *secrets; /* files and folders that are secrets */
	const struct list *autos;   /* folders of automounters */
	const struct protect *later; /* names that are run or read outside later
				      * (learn_later.h) */
};

void wishes_done(struct wishes *w);

void learn_paths(const struct learn_facts *facts, const struct trace_set *seen,
		 struct wishes *ret);

/* Adds the well-known names of secrets below a home. */
void learn_list_secrets(const char *home, struct list *ret);

/* Returns whether the plan has a file or folder at `path`.  A path in a scratch
 * folder of the plan does not count if it is in a folder of `also`. */
bool learn_is_shown(const struct plan *plain, const struct list *also, const char *path);
/* Returns whether the plan has a path below `path`, which therefore exists as
 * a folder. */
bool learn_is_above(const struct plan *plain, const char *path);

/* learn -- `hutch run --learn OUT`: writes the policy that a command would
 * need, for a person to look at.
 *
 * The command runs in the sandbox that the flags ask for, but it can read more of the
 * host and change nothing on it.  Host folders that the sandbox would not show are
 * shown too, if its user may read them.  All writable folders, those that the flags
 * show :rw included, are copy-on-write, and the changes are dropped at the end.
 * These folders are overlays, in which a socket or FIFO is another inode than the
 * host's, and so does not lead to a process of the host.  The command's system calls
 * are noted down (trace.h).
 *
 *	learn_check, learn_init; launch.observer = learn.observer, its policy learn.wide
 *	launch_prepare() calls the observer, which fills `wide` and `plain` and
 *	checks that OUT can be written
 *	learn_finish, learn_done
 *
 * OUT is a file that does not exist yet.  It has no name until it is complete
 * (open(2), O_TMPFILE; link(2)); on a file system without O_TMPFILE it has a
 * temporary name until then. */
#pragma once
#include <stdbool.h>

#include "policy/policy.h"
#include "sandbox/launch/launch.h"
#include "sandbox/monitor/trace.h"
#include "sandbox/plan/plan.h"

struct err;
struct learn_facts;
struct denials;
struct result;
struct wishes;

struct learn {
	const struct policy *asked; /* borrowed */
	const char *out;	    /* borrowed, as typed */
	struct policy wide; /* the policy with which the command runs; its volumes are
			     * owned, the rest is borrowed */
	struct plan plain;  /* the plan of `asked`: the paths that the flags alone show */
	struct list mounts; /* mount points on the host */
	struct list autos;  /* those entries of `mounts` that belong to an automounter */
	struct list own;    /* hutch's own folders */
	struct list also;   /* $HOME and the working directory, which are always shown */
	struct trace trace;
	struct launch_observer observer; /* callbacks that the launch calls */
	size_t unshown; /* number of host paths that are not shown, because of
			 * LEARN_SHOWN */
	int folder, file; /* owned: the folder of OUT; a file for OUT's content, which
			   * has no name yet, or -1 */
};

void learn_init(struct learn *l, const struct policy *asked, const char *out);
void learn_done(struct learn *l);

/* Returns an error for flags that --learn cannot be used with. */
int learn_check(const struct policy *asked, bool is_dry_run, struct err *e);

/* Writes OUT, and tells on stderr what is in it and what is not. */
int learn_finish(struct learn *l, const struct denials *refused,
		 const struct result *result, struct err *e);

/* --- parts of it ------------------------------------------------------------------- */

/* Functions for OUT (learn_out.c): learn_open_out() checks that OUT can be
 * made and does not exist, learn_write_out() makes it. */
int learn_open_out(struct learn *l, struct err *e);
int learn_write_out(const struct learn *l, const char *text, struct err *e);

/* Returns the text of a policy file for `p`, allocated; secrets appear by
 * their names alone (learn_write.c).  Options of hutch run that have no key in
 * a policy file are left out. */
char *learn_write(const struct policy *p, const char *about);

/* Prints the summary (learn_tell.c). */
void learn_tell(const struct learn *l, const struct wishes *w,
		const struct denials *refused, const struct result *result);

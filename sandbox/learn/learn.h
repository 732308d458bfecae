/* learn -- `hutch run --learn OUT`: writes the policy that a command would
 * need, for a person to look at.
 *
 * The sandbox is the one that the flags ask for, with more to look at and less
 * to change: host folders that it would not show are shown too, as far as its
 * user may read them, and every host folder that can be written to is
 * copy-on-write and dropped at the end, those that the flags show :rw included.
 * All of them are overlays, so that no socket or FIFO of the host's is reached
 * through them (it is another inode there).  The command's system calls are
 * noted down (trace.h).
 *
 *	learn_check, learn_init; launch.observer = learn.observer, its policy learn.wide
 *	launch_prepare() has it make `wide` and `plain` of this host, and see that OUT can be
 *	written
 *	learn_finish, learn_done
 *
 * OUT is a file that does not exist yet.  It has no name until it is complete
 * (open(2), O_TMPFILE; link(2)), or another name where that is not to be had. */
#pragma once
#include <stdbool.h>

#include "policy/policy.h"
#include "sandbox/launch/launch.h"
#include "sandbox/monitor/trace.h"
#include "sandbox/plan/plan.h"

struct err;
struct learn_ground;
struct denials;
struct result;
struct wishes;

struct learn {
	const struct policy *asked; /* borrowed */
	const char *out;	    /* borrowed, as typed */
	struct policy wide; /* the policy that is run; its volumes are owned, the rest
			     * is borrowed */
	struct plan plain;  /* the plan of `asked`, which tells what the flags show
			     * without learning */
	struct list mounts; /* mount points on the host */
	struct list autos;  /* those entries of `mounts` that belong to an automounter */
	struct list own;    /* hutch's own folders */
	struct list also;   /* $HOME and the working directory, wherever they are */
	struct trace trace;
	struct launch_observer observer; /* for the launch, which calls it back */
	size_t unshown; /* number of host paths beyond LEARN_SHOWN */
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

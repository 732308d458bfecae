/* launch -- from a policy to a running sandbox, for every verb that starts one.
 *
 *	launch_ready, launch_close_others
 *	launch_init, launch_prepare, launch_start, supervise it, launch_done
 *	launch_init, launch_plan, plan_print, launch_done	(--dry-run)
 *
 * launch_prepare() looks at the host and changes nothing, with two exceptions: it
 * fetches an image that the store does not have, and, if root started hutch, it makes
 * this process the user that the sandbox stands for (host_user.h).  launch_start()
 * changes the host; before a change, it tells the janitor (janitor.h), which undoes the
 * change if hutch is killed.  With --audit the log records the launch before the host is
 * changed. */
#pragma once
#include "base/list.h"
#include "base/worker.h"
#include "protocol/message.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/netns.h"
#include "sandbox/kernel/program.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/kernel/stdio.h"
#include "sandbox/kernel/terminal.h"
#include "sandbox/launch/audit.h"
#include "egress/launch/egress.h"
#include "egress/launch/refused_host.h"
#include "sandbox/launch/janitor.h"
#include "sandbox/launch/ports.h"
#include "sandbox/launch/spawn.h"
#include "sandbox/monitor/protect_watch.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/store_image.h"
#include "sandbox/root/cow.h"
#include "sandbox/root/etc_folder.h"
#include "sandbox/root/overlay_upper.h"

struct egress_news;
struct err;
struct policy;
struct registry_entry;

/* A module that records what a sandbox uses, to learn a policy for it (learn.h). */
struct launch_observer {
	/* Called before the plan is built, when this process has become the user that
	 * the sandbox stands for. */
	int (*prepare)(void *self, const struct host_user *user, struct err *e);
	void *self;	     /* borrowed */
	struct trace *trace; /* borrowed: records the paths and addresses in system
			      * calls */
};

/* All state of a launch; launch_done() releases it. */
struct launch {
	const struct policy *policy;
	/* Borrowed, set before launch_start(): the sandbox's registry entry; NULL: the
	 * sandbox has no name. */
	const struct registry_entry *entry;
	/* Borrowed, set before launch_prepare(): records what the sandbox uses.  With an
	 * observer, the sandbox's writes to folders of the host are dropped at its end.
	 * NULL: no observer. */
	const struct launch_observer *observer;
	/* Borrowed, set before launch_start(): with --keep, the folder that keeps the
	 * files written to the root.  NULL: --upper names that folder, or the files are
	 * removed with the sandbox. */
	const char *files;
	const char *verb; /* set before launch_start(): the verb of hutch, such as "run";
			   * a generated sandbox name begins with it */
	int words; /* borrowed: the descriptor for notes to the user, also from hutch's
		    * other programs; stderr unless set before launch_start() */
	bool outlives; /* the executor goes on after a command has ended */
	struct host_user user;
	struct plan plan;
	struct store_image store_image; /* the image, if it comes from the image store */
	struct program executor;
	/* fuse-overlayfs, if it serves the root since the kernel's overlayfs is
	 * missing */
	struct root_fuse_overlayfs server;
	struct seccomp_program filter;	/* seccomp filter of the executor and of all
					 * processes that it starts */
	struct seccomp_program profile; /* seccomp filter of the command alone: that of
					 * --seccomp, or the one that plan.pretends asks
					 * for */
	struct stdio stdio;
	struct netns netns;   /* that of --network ns:PATH, until the sandbox is in it */
	struct worker peers;  /* leads to other sandboxes (peers.h) */
	struct egress egress; /* the way to the network, with --network allow */
	struct refused_hosts refused_hosts;
	struct sandbox sandbox;
	struct ports ports;   /* the published ports */
	struct list sockets;  /* paths of the published unix sockets */
	struct protect_watch
		protect_watch; /* notices when the host replaces a file that is protected
				* inside */
	struct terminal terminal;
	struct overlay_upper upper;
	struct etc_folder etc; /* keeps the prepared folder that the sandbox shows */
	/* the changes to copy-on-write folders of the host; launch_done() does not
	 * release this member: the verb does (cow.h) */
	struct cow cow;
	struct cgroup cgroup;
	unsigned degraded; /* enum degraded */
	struct janitor janitor;
	struct audit audit;
	int signals; /* owned: the signalfd of supervise_signals() */
};

/* Prepares this process for launches: sets how it handles signals, and raises a low
 * limit of descriptors. */
void launch_ready(void);

/* Closes all descriptors above 2 that hutch has inherited from its caller, except `keep`
 * and `also`. */
void launch_close_others(int keep, int also);

/* Detaches this process from the caller's terminal and session, so that it can run in
 * the background.  The working directory is kept. */
int launch_leave_caller(struct err *e);

void launch_init(struct launch *l, const struct policy *policy);
void launch_done(struct launch *l);

/* Prepares a launch.  With `has_stdio`, the sandbox runs a single command and ends with
 * it, and the caller's stdin, stdout and stderr are opened for that command.  Otherwise
 * the executor goes on after a command has ended. */
int launch_prepare(struct launch *l, bool has_stdio, struct err *e);
int launch_start(struct launch *l, struct err *e);

/* Returns the processes that are the way to the network; NULL: the policy has no rules
 * about connections. */
struct egress *launch_egress(struct launch *l);
/* Counts and records a decision of hutch-egress; `now` is in ms of base/clock.h.  Returns
 * the host that was refused, with its count so far; NULL: none was. */
const struct refused_host *launch_hear(struct launch *l, const struct egress_news *n,
				       int64_t now);

/* Loads the sandbox's seccomp filters: the built-in filter or, with --seccomp, the floor
 * and the filter of the given profile (seccomp.h).  To be called before root is dropped,
 * since the user that root becomes may be unable to read the profile. */
int launch_load_filter(struct launch *l, struct err *e);

/* Only makes the plan, for --dry-run: nothing is changed on the host. */
int launch_plan(struct launch *l, struct err *e);

/* Returns the policy's command as a request to the executor, with no flags set; the
 * request borrows from the launch and the policy. */
struct exec launch_command(const struct launch *l);

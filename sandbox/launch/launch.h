/* launch -- from a policy to a running sandbox, for every verb that starts one.
 *
 *	launch_ready, launch_close_others
 *	launch_init, launch_prepare, launch_start, supervise it, launch_done
 *	launch_init, launch_plan, plan_print, launch_done	(--dry-run)
 *
 * launch_prepare() looks at the host and changes nothing, with two exceptions: it
 * fetches an image that the store does not have, and, started by root, it makes this
 * process the user that the sandbox stands for.  launch_start() changes the host,
 * and tells the janitor first.  With --audit the launch is on record before the host
 * is changed. */
#pragma once
#include "base/list.h"
#include "protocol/message.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/program.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/kernel/stdio.h"
#include "sandbox/kernel/terminal.h"
#include "sandbox/launch/audit.h"
#include "sandbox/launch/janitor.h"
#include "sandbox/launch/ports.h"
#include "sandbox/launch/spawn.h"
#include "sandbox/monitor/protect_watch.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/store_image.h"
#include "sandbox/root/cow.h"
#include "sandbox/root/overlay_upper.h"

struct err;
struct policy;
struct registry_entry;

/* A module that observes what a sandbox needs (learn.h). */
struct launch_observer {
	/* Called when the process has become the user that the sandbox stands for, and
	 * before the plan is built. */
	int (*prepare)(void *self, const struct host_user *who, struct err *e);
	void *self;	     /* borrowed */
	struct trace *trace; /* borrowed: notes the paths and addresses in system calls */
};

/* All parts of a launch; launch_done() releases them. */
struct launch {
	const struct policy *policy;
	/* Borrowed, set before launch_start(): the sandbox's registry entry; NULL: a
	 * sandbox without a name. */
	const struct registry_entry *entry;
	/* Borrowed, set before launch_prepare(): observes the launch; the sandbox's
	 * writes to folders of the host are dropped at its end.  NULL: neither
	 * happens. */
	const struct launch_observer *observer;
	/* Borrowed, set before launch_start(): the folder of --keep, for the files
	 * that are written to the root; NULL: that of --upper, or one that is removed
	 * with the sandbox. */
	const char *files;
	const char *verb; /* set before launch_start(): the verb of hutch; a generated
			   * name begins with it */
	int words; /* borrowed; for messages of hutch's other programs; stderr unless
		    * set before launch_start() */
	bool outlives; /* the executor outlives a single request */
	struct host_user who;
	struct plan plan;
	struct store_image store_image; /* the image, if it comes from the store */
	struct program executor;
	struct root_fuse_overlayfs server; /* the program that serves the root, if the
					    * root is served */
	struct seccomp_program filter;	/* filter of the executor, and of all processes
					 * that it starts */
	struct seccomp_program profile; /* filter of the command alone: --seccomp, or
					 * the one that plan.pretends asks for */
	struct stdio stdio;
	struct sandbox sandbox;
	struct ports ports;   /* the published ports */
	struct list sockets;  /* paths of the published unix sockets */
	struct protect_watch
		protect_watch; /* watches the host's files that are protected inside */
	struct terminal terminal;
	struct overlay_upper upper;
	struct cow cow; /* changes to folders that are shown copy-on-write;
			 * launch_done() leaves them to the verb, which settles them */
	struct cgroup cgroup;
	unsigned degraded; /* enum degraded */
	struct janitor janitor;
	struct audit audit;
	int signals; /* owned: the signalfd of supervise_signals() */
};

/* Makes this process ready for a launch: signals, room for descriptors. */
void launch_ready(void);

/* Closes the caller's descriptors beyond the standard three, which are not meant for
 * hutch; `keep` and `also` stay open, if they are above 2. */
void launch_close_others(int keep, int also);

/* Gives up the caller's terminal and session, for a process that stays in the
 * background.  The working directory stays. */
int launch_leave_caller(struct err *e);

void launch_init(struct launch *l, const struct policy *policy);
void launch_done(struct launch *l);

/* Prepares a launch.  With `has_stdio`, the caller's stdin, stdout and stderr are
 * made ready for a single command, with which the sandbox ends; otherwise the
 * executor is to outlive single requests. */
int launch_prepare(struct launch *l, bool has_stdio, struct err *e);
int launch_start(struct launch *l, struct err *e);

/* Loads the filters of the command: the built-in one, or the floor and the filter of
 * --seccomp.  To be called before root is dropped, since the user that root becomes
 * may be unable to read the profile. */
int launch_load_filter(struct launch *l, struct err *e);

/* Makes the plan alone, for --dry-run: nothing is made on the host. */
int launch_plan(struct launch *l, struct err *e);

/* Returns the policy's command as a request to the executor, without flags and
 * terminal; the request borrows from the launch and the policy. */
struct exec launch_command(const struct launch *l);

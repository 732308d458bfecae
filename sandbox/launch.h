/* launch -- from a policy to a running sandbox, for every verb that starts one.
 *
 *	launch_ready, launch_close_others
 *	launch_init, launch_prepare, launch_start, supervise it, launch_done
 *	launch_init, launch_plan, plan_print, launch_done	(--dry-run)
 *
 * launch_prepare() looks at the host and changes nothing, but that it fetches an image
 * which the store has not, and for whom this process is: started by root it becomes the user that the inside stands for.
 * launch_start() changes the host, and has told the janitor first.  With --audit the
 * launch is on record before. */
#pragma once
#include "base/list.h"
#include "base/message.h"
#include "sandbox/audit.h"
#include "sandbox/cgroup.h"
#include "sandbox/cow.h"
#include "sandbox/identity.h"
#include "sandbox/janitor.h"
#include "sandbox/plan.h"
#include "sandbox/ports.h"
#include "sandbox/program.h"
#include "sandbox/seccomp.h"
#include "sandbox/sentry.h"
#include "sandbox/spawn.h"
#include "sandbox/stdio.h"
#include "sandbox/stock.h"
#include "sandbox/terminal.h"
#include "sandbox/upper.h"

struct err;
struct policy;
struct registry_entry;

/* A module that observes what a sandbox needs (learn.h). */
struct launch_observer {
	/* Called when the process has become the user that the sandbox stands for, and
	 * before the plan is built. */
	int (*prepare)(void *self, const struct identity *who, struct err *e);
	void *self;	     /* borrowed */
	struct trace *trace; /* borrowed: notes the paths and addresses in calls */
};

/* All that a launch holds; released by launch_done() in one place. */
struct launch {
	const struct policy *policy;
	/* Borrowed, set before launch_start(); NULL: a sandbox without a name. */
	const struct registry_entry *entry;
	/* Borrowed, set before launch_prepare(): observes the launch, and what the sandbox
	 * writes to folders of the host is dropped at its end; NULL: neither. */
	const struct launch_observer *observer;
	/* Borrowed, set before launch_start(): the folder of --keep, for what is written to
	 * the root; NULL: --upper's, or one that goes with the sandbox. */
	const char *files;
	const char *verb; /* set before: what a name is made from where there is none */
	int words; /* borrowed: where another program of ours speaks; stderr unless set
		    * before launch_start() */
	bool outlives; /* the executor outlives what it is asked for */
	struct identity who;
	struct plan plan;
	struct stock stock; /* the image of the store, where it is one */
	struct program executor;
	struct fuse_overlayfs server; /* of the root, where there is one */
	struct seccomp_program filter;	/* of the executor, and inherited */
	struct seccomp_program profile; /* of the command alone: --seccomp, or what
					 * plan.pretends asks for */
	struct stdio stdio;
	struct sandbox sandbox;
	struct ports ports;   /* that are published */
	struct list sockets;  /* paths of those that are unix sockets */
	struct sentry sentry; /* of the host's files that are protected inside */
	struct terminal terminal;
	struct upper upper;
	struct cow cow; /* launch_done() leaves it, for who settles what was changed */
	struct cgroup cgroup;
	unsigned degraded; /* enum degraded */
	struct janitor janitor;
	struct audit audit;
	int signals; /* owned */
};

/* What a launch needs of the process that it is in: signals, room for descriptors. */
void launch_ready(void);

/* Closes what the caller has open beyond the standard three, which is for nobody
 * here; `keep` and `also` stay open, where they are above these. */
void launch_close_others(int keep, int also);

/* For a process that stays in the background: nothing of the caller's terminal and session
 * is held.  Its folder is. */
int launch_leave_caller(struct err *e);

void launch_init(struct launch *l, const struct policy *policy);
void launch_done(struct launch *l);

/* With `has_stdio` the caller's stdin, stdout and stderr are made ready for a
 * command of its own, which the sandbox ends with; else the executor is to outlive
 * what it is asked for. */
int launch_prepare(struct launch *l, bool has_stdio, struct err *e);
int launch_start(struct launch *l, struct err *e);

/* The filters of the command: the built-in one, or the floor and --seccomp's.  Before root
 * is dropped. */
int launch_load_filter(struct launch *l, struct err *e);

/* The plan alone: nothing is opened or made. */
int launch_plan(struct launch *l, struct err *e);

/* The policy's command as the executor is to be asked for it, without flags and
 * terminal; borrows from the launch and the policy. */
struct exec launch_command(const struct launch *l);

/* maker -- one sandbox that is being made for a pool: `hutch create` with a lease
 * (sandbox/control/lease.h), in a process of its own.
 *
 * What it says is the object of --json, from a pipe whose end is the end of the making.
 * The process is a child of ours, to be waited for by whoever gets SIGCHLD. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

#include "sandbox/registry.h"

struct err;
struct list;

#define MAKER_SAID_MAX 8192 /* an object with an error in it */

struct maker {
	int says;  /* owned; -1: nothing is made here */
	int lease; /* owned: our end of the sandbox's connection */
	char name[REGISTRY_NAME_MAX + 1];
	size_t len;
	char said[MAKER_SAID_MAX];
};

struct maker_plan {
	const char *program;	  /* hutch-supervise */
	const char *pool;	  /* what its name begins with */
	const struct list *words; /* flags of hutch create */
	struct rlimit files;	  /* RLIMIT_NOFILE, as we were started with */
};

void maker_init(struct maker *m);
void maker_done(struct maker *m);

int maker_start(struct maker *m, const struct maker_plan *plan, struct err *e);

/* Reads what is there.  True: it has ended; maker_judge() says how. */
bool maker_read(struct maker *m);
/* 0: the sandbox is ready, and the lease the caller's to take. */
int maker_judge(const struct maker *m, struct err *e);

/* pool_spawn -- makes one sandbox for a pool: runs `hutch create` with a lease
 * (supervisor/lease.h), in a process of its own.
 *
 * That process writes the object of --json to a pipe, whose end is the end of
 * the making.  It is a child of ours: the code that gets SIGCHLD waits for it
 * and calls pool_spawn_reaped().
 *
 * The whole making has no time-out: an image may be pulled, which has its own
 * (rootfs-tools/registry/http.h).  Before that the child reads its options, and these
 * may name a FIFO without a writer, or a file on a server that is away: that
 * part has a time-out.  Another pipe is closed when the options were read,
 * since hutch create then closes all descriptors that it was not told of
 * (launch_close_others()). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sandbox/state/registry.h"

struct err;
struct list;

#define POOL_SPAWN_SAID_MAX 8192 /* the most bytes of the --json object with an error
				  * in it */
#define POOL_SPAWN_READS_MS 30000

struct pool_spawn {
	int says;  /* owned; -1: this spawn is idle */
	int lease; /* owned: our end of the sandbox's connection */
	int reads; /* owned: the child closes the other end when it has read its options;
		    * -1: it has */
	int64_t due_ms; /* when the child must have read its options; 0: it has */
	pid_t pid;	/* the child; 0: it was waited for */
	char name[REGISTRY_NAME_MAX + 1];
	size_t len;
	char said[POOL_SPAWN_SAID_MAX];
};

struct pool_spawn_plan {
	const char *program;	  /* the path of hutch-supervise */
	const char *pool;	  /* the start of the sandbox's name */
	const struct list *words; /* options for hutch create */
	struct rlimit files;	  /* RLIMIT_NOFILE, as the keeper was started with */
};

void pool_spawn_init(struct pool_spawn *m);
void pool_spawn_done(struct pool_spawn *m);

int pool_spawn_start(struct pool_spawn *m, const struct pool_spawn_plan *plan,
		     int64_t now, struct err *e);

/* Called when the child has read its options: ends their time-out. */
void pool_spawn_go_on(struct pool_spawn *m);
/* Kills a child that still reads its options, and has no child of its own: nothing is
 * lost. */
void pool_spawn_kill(const struct pool_spawn *m);
/* Sets the error of a child that took too long to read its options.  Returns
 * -1. */
int pool_spawn_late(struct err *e);
/* Notes that the child `pid` was waited for: its number may be another process's from
 * now on. */
void pool_spawn_reaped(struct pool_spawn *m, pid_t pid);

/* Reads the bytes of the child's report that are there.  True: the making has ended;
 * pool_spawn_judge() says how. */
bool pool_spawn_read(struct pool_spawn *m);
/* Tells how the making ended.  0: the sandbox is ready, and the caller may take the
 * lease. */
int pool_spawn_judge(const struct pool_spawn *m, struct err *e);

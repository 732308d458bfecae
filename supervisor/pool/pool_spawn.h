/* pool_spawn -- makes one sandbox for a pool, by running `hutch create` with a lease
 * (supervisor/lease.h) in a child process.
 *
 * The child writes the JSON object of --json to the pipe `says`; when that pipe is
 * closed, the child has finished.  The pool's handler of SIGCHLD waits for the child
 * and calls pool_spawn_reaped().
 *
 * There is no time-out for the whole, since the child may have to pull an image, which
 * has its own time-out (rootfs-tools/registry/http.h).  But first the child reads its
 * options, which may name a FIFO without a writer or a file on a server that does not
 * answer; for this part there is a time-out.  The pipe `reads` shows when the options
 * have been read: hutch create then closes all descriptors that no option names
 * (launch_close_others()), and so its end of that pipe. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sandbox/state/registry.h"

struct err;
struct list;

#define POOL_SPAWN_SAID_MAX 8192 /* the longest JSON object that is read, which may
				  * contain an error */
#define POOL_SPAWN_READS_MS 30000

struct pool_spawn {
	int says;  /* owned; the pipe from which the JSON object is read; -1: this slot
		    * is idle */
	int lease; /* owned: the keeper's end of the lease */
	int reads; /* owned: the pipe that the child closes when it has read its
		    * options; -1: it has */
	int64_t due_ms; /* the time by which the child must have read its options; 0: it
			 * has */
	pid_t pid;	/* the child; 0: waitpid(2) has returned it */
	char name[REGISTRY_NAME_MAX + 1];
	size_t len;
	char said[POOL_SPAWN_SAID_MAX];
};

struct pool_spawn_plan {
	const char *program;	  /* the path of hutch-supervise */
	const char *pool;	  /* the pool's name, with which the sandbox's name
				   * begins */
	const struct list *words; /* options for hutch create */
	struct rlimit files;	  /* RLIMIT_NOFILE as it was when the keeper started */
};

void pool_spawn_init(struct pool_spawn *m);
void pool_spawn_done(struct pool_spawn *m);

int pool_spawn_start(struct pool_spawn *m, const struct pool_spawn_plan *plan,
		     int64_t now, struct err *e);

/* To be called when the child has read its options: ends the time-out for that. */
void pool_spawn_go_on(struct pool_spawn *m);
/* Kills the child if it still reads its options: it has made nothing yet that would be
 * left behind. */
void pool_spawn_kill(const struct pool_spawn *m);
/* Sets the error for a child that has not read its options in time.  Returns -1. */
int pool_spawn_late(struct err *e);
/* Notes that waitpid(2) has returned the child `pid`; from now on the pid may belong to
 * another process. */
void pool_spawn_reaped(struct pool_spawn *m, pid_t pid);

/* Reads from the pipe `says` without blocking.  True: the child has finished;
 * pool_spawn_judge() tells the outcome. */
bool pool_spawn_read(struct pool_spawn *m);
/* Tells the outcome.  0: the sandbox is ready, and the caller may take the lease. */
int pool_spawn_judge(const struct pool_spawn *m, struct err *e);

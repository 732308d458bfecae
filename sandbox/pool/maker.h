/* maker -- one sandbox that is being made for a pool: `hutch create` with a lease
 * (sandbox/control/lease.h), in a process of its own.
 *
 * What it says is the object of --json, from a pipe whose end is the end of the making.
 * The process is a child of ours, to be waited for by whoever gets SIGCHLD, who says so:
 * maker_reaped().
 *
 * How long it may take has no bound as a whole: an image may be pulled, which has its own
 * (rootfs-tools/http.h).  Before that it reads its words, and what these name may be a
 * FIFO without a writer, or a file of a server that is away: that has one.  Another pipe
 * is closed when the words were read, since hutch create closes then all that it was not
 * told of (launch_close_others()). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sandbox/registry.h"

struct err;
struct list;

#define MAKER_SAID_MAX 8192 /* an object with an error in it */
#define MAKER_READS_MS 30000

struct maker {
	int says;  /* owned; -1: nothing is made here */
	int lease; /* owned: our end of the sandbox's connection */
	int reads; /* owned: closed at the other end when the words were read; -1: they were */
	int64_t due_ms; /* by when they are to be; 0: they were */
	pid_t pid;	/* 0: it was waited for */
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

int maker_start(struct maker *m, const struct maker_plan *plan, int64_t now, struct err *e);

/* Its words were read. */
void maker_go_on(struct maker *m);
/* It is still reading its words, and has no child yet: nothing is lost with it. */
void maker_kill(const struct maker *m);
/* Why it is given up.  -1. */
int maker_late(struct err *e);
/* This child of ours is no more: there may be another one of that number. */
void maker_reaped(struct maker *m, pid_t pid);

/* Reads what is there.  True: it has ended; maker_judge() says how. */
bool maker_read(struct maker *m);
/* 0: the sandbox is ready, and the lease the caller's to take. */
int maker_judge(const struct maker *m, struct err *e);

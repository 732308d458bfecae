/* errands -- MSG_ERRAND: what is looked for or changed in folders, each by a process
 * of its own (errand.h), so that no tree, however large, and no file system that does
 * not answer keeps anybody else waiting.
 *
 * An errand is told about once: when its process has ended, was cancelled, or had its
 * time and did not come back.  A process that cannot be killed, since it waits for a
 * file system, is forgotten when it can be.
 *
 * One turn of the executor's loop: errands_watch, poll(2) for no longer than
 * errands_timeout, errands_serve, errands_reaped for each child that is no command,
 * errands_expire.  What is to be said goes to `replies`. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct errand_child;
struct errand_request;
struct everyone;
struct exec;
struct pollfd;
struct processes;
struct replies;
struct user;

/* More than these get OUTCOME_ERROR, EAGAIN. */
#define ERRANDS_MAX 16

/* Zero but for what is borrowed. */
struct errands {
	struct errand_child *all[ERRANDS_MAX]; /* owned */
	size_t count;
	struct replies *replies;     /* borrowed */
	struct processes *processes; /* borrowed; counts the descriptors */
	const struct user *user;     /* borrowed */
	const struct everyone *everyone; /* borrowed; whose time it is */
	void (*run)(const void *order); /* what a process does: errand_run() */
};

void errands_done(struct errands *s);

/* `r->place` says whose it is, whatever the session is; `as` how commands of it are run,
 * for programs of the rootfs that may help; NULL: none. */
void errands_start(struct errands *s, uint32_t id, const struct errand_request *r,
		   const struct exec *as);

/* True while it was not told about. */
bool errands_has(const struct errands *s, uint32_t id);
/* False: there is none of this id. */
bool errands_cancel(struct errands *s, uint32_t id);

/* At most ERRANDS_MAX. */
size_t errands_watch(struct errands *s, struct pollfd *fds);
void errands_serve(struct errands *s, const struct pollfd *fds);
/* False: it was none of these. */
bool errands_reaped(struct errands *s, pid_t pid);

/* Milliseconds until something is due; -1: never.  Then errands_expire(). */
int errands_timeout(const struct errands *s);
void errands_expire(struct errands *s);

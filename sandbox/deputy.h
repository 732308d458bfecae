/* deputy -- makes what the inside asks to be made, so that names which are protected and
 * not there stay away (--protect-missing).
 *
 * The kernel asks the listener of the filter (refusals.h) about every call that gives a
 * name: open(2) and its kin with O_CREAT, mkdir, mknod, symlink, link, rename, bind.  None
 * of them may go on, since another thread could change what a pointer leads to behind the
 * look (seccomp_unotify(2)).  So this process does it in place of the caller: in the same
 * mount namespace, in his folder, with his umask and no more of the capabilities than he
 * has; it answers with what came of it, a descriptor or an error.  The supervisor takes no
 * part but to pass on what the kernel says of the call.
 *
 *	supervisor			deputy
 *	deputy_start ------------------> (waits)
 *	deputy_listen -----------------> enters all namespaces of the sandbox but that of
 *					 processes, for good
 *	deputy_hand, one for each call -> reads the caller's memory, looks the path up,
 *					 does it one after the other, answers the kernel
 *	deputy_done (its socket closes)  ends
 *
 * It does them one after the other, and nobody else inside can give a name, so what was
 * looked at stays as it was: a folder is known by a descriptor, and no name is followed
 * twice.  What can wait for somebody, a FIFO or a lease, a child of its own waits for.
 *
 * It is outside of the pid namespace: nobody inside sees, signals or traces it.  A
 * process inside of it opens files of /proc, one for each call (deputy_parts.h).  The deputy has no
 * Landlock domain, since it could then look at nobody's folder (landlock(7), ptrace
 * restrictions); instead it makes nothing where the root of the sandbox does not lead.  It
 * has a filter of its own (policy/seccomp/deputy.json), and is in the sandbox's cgroup.
 *
 * What would be a way around is refused: openat2(2), whose flags are in memory (ENOSYS),
 * io_uring, chroot, Landlock of the inside's own, by which the deputy would not be held, and
 * the calls of btrfs that make a subvolume.
 *
 * A descriptor is his before he is answered: with SECCOMP_ADDFD_FLAG_SEND it would still be
 * open here when he goes on.  From 5.19 on, a caller who has been heard waits for the answer
 * whatever signals come, but for one that ends him; before that a call that is interrupted is
 * made again, and may find that it has been done. */
#pragma once
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct plan;
struct seccomp_program;

struct deputy {
	pid_t pid;  /* 0: there is none */
	int socket; /* owned */
	bool is_held; /* a call that the socket had no room for */
	struct seccomp_notif held;
};

void deputy_init(struct deputy *d);
/* Ends it and waits for it. */
void deputy_done(struct deputy *d);

/* All borrowed, for the call. */
struct deputy_parts {
	const struct plan *plan;
	const int *stdio; /* three of the caller's that the inside gets; NULL: it gets none */
	int pidfd;	  /* of pid 1 of the sandbox, which it joins when it listens */
	int cgroup;	  /* a folder to be cloned into; 0 or less: none */
};

int deputy_start(const struct deputy_parts *parts, struct deputy *ret, struct err *e);

/* The caller's `listener` is passed on as a copy. */
int deputy_listen(struct deputy *d, int listener, struct err *e);

/* Whether a call is one that it does, where the filter allows it. */
bool deputy_takes(const struct seccomp_data *data);

/* Passes on a call that waits; nothing more is to be received until what is held is gone. */
void deputy_hand(struct deputy *d, const struct seccomp_notif *call);
void deputy_flush(struct deputy *d);

struct pollfd deputy_watch(const struct deputy *d);
/* After POLLIN or POLLHUP: it has ended, or could not begin. */
void deputy_explain(struct deputy *d, struct err *e);

/* The program whose listener is told of those, and in front of `program`.  Owned. */
void deputy_program(const struct seccomp_program *program, struct seccomp_program *ret);

/* broker -- makes files in place of the inside, so that protected names which
 * do not exist stay away (--protect-missing).
 *
 * The kernel asks the listener of the filter (denials.h) about every call that
 * gives a name: open(2) and its kin with O_CREAT, mkdir, mknod, symlink, link,
 * rename, bind.  No such call may simply go on, since another thread could
 * change the memory behind a pointer after the look (seccomp_unotify(2)).  So
 * the broker makes the call in place of the caller: in the same mount
 * namespace, in the caller's folder, with the caller's umask and no more
 * capabilities than the caller has.  It answers with the result, a descriptor
 * or an error.  The supervisor only passes on what the kernel says of the call.
 *
 *	supervisor			broker
 *	broker_start ------------------> (waits)
 *	broker_listen -----------------> enters all namespaces of the sandbox but that of
 *					 processes, for good
 *	broker_hand, one for each call -> reads the caller's memory, looks the path up,
 *					 makes the call, answers the kernel
 *	broker_done (its socket closes)  ends
 *
 * The broker makes one call after the other, and no other process inside can
 * give a name, so a place that was looked at stays as it was: a folder is known
 * by a descriptor, and no name is followed twice.  A call that can wait for
 * another process, by a FIFO or a lease, waits in a child of the broker.
 *
 * The broker is outside of the pid namespace: no process inside sees, signals
 * or traces it.  A process inside of that namespace opens files of /proc, one
 * for each call (broker_parts.h).  The broker has no Landlock domain, since it
 * could then look at no caller's folder (landlock(7), ptrace restrictions);
 * instead it makes nothing where the root of the sandbox does not lead.  It has
 * a filter of its own (policy/seccomp/broker.json), and is in the sandbox's
 * cgroup.
 *
 * Ways around the broker are refused: openat2(2), whose flags are in memory
 * (ENOSYS), io_uring, chroot, Landlock rules of the inside, which would not
 * hold the broker, and the calls of btrfs that make a subvolume.
 *
 * A descriptor is installed in the caller before the call is answered: with
 * SECCOMP_ADDFD_FLAG_SEND it would still be open here when the caller goes on.
 * From 5.19 on, a caller whose call was received waits for the answer through
 * every signal but a fatal one.  Before, a call that is interrupted is made
 * again, and may find that it has been done. */
#pragma once
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct plan;
struct seccomp_program;

struct broker {
	pid_t pid;  /* 0: no broker runs */
	int socket; /* owned */
	bool is_held; /* `call` is held: the socket had no room for it */
	struct seccomp_notif held;
};

void broker_init(struct broker *d);
/* Ends the broker and waits for it. */
void broker_done(struct broker *d);

/* Settings of broker_start().  All members are borrowed, for the duration of
 * that call. */
struct broker_parts {
	const struct plan *plan;
	const int *stdio; /* the three standard descriptors of hutch's caller that the
			   * inside gets; NULL: none */
	int pidfd;	  /* a pidfd of the sandbox's pid 1, whose namespaces are
			   * joined by broker_listen() */
	int cgroup;	  /* the folder of a cgroup for the broker; 0 or less: the
			   * broker is moved to none */
};

int broker_start(const struct broker_parts *parts, struct broker *ret, struct err *e);

/* Passes a copy of the `listener` to the broker. */
int broker_listen(struct broker *d, int listener, struct err *e);

/* Returns whether the broker makes a call like this one, if the filter allows
 * the call. */
bool broker_takes(const struct seccomp_data *data);

/* broker_hand() passes on a call that waits; a call for which the socket has
 * no room is held until broker_flush().  No other call is to be received while
 * one is held. */
void broker_hand(struct broker *d, const struct seccomp_notif *call);
void broker_flush(struct broker *d);

struct pollfd broker_watch(const struct broker *d);
/* Sets *e to the reason why the broker has ended, or could not begin.  Called
 * after POLLIN or POLLHUP. */
void broker_explain(struct broker *d, struct err *e);

/* Puts instructions in front of `program` that report the broker's calls to
 * the listener and refuse the ways around the broker.  The result is owned by
 * the caller. */
void broker_program(const struct seccomp_program *program, struct seccomp_program *ret);

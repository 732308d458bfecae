/* broker -- makes files on behalf of the processes in the sandbox, so that these
 * cannot make protected files that do not exist yet (--protect-missing).
 *
 * The kernel asks the listener of the filter (denials.h) about every call that
 * creates a name: open(2) and its kin with O_CREAT, mkdir, mknod, symlink, link,
 * rename, bind.  No such call may be let through, since another thread could
 * change the path in memory after it was checked (seccomp_unotify(2)).  So the
 * broker makes the call in place of the caller: in the same mount namespace, in
 * the caller's folder, with the caller's umask and no more capabilities than the
 * caller has.  It answers with the result, a descriptor or an error.  The
 * supervisor only passes on the kernel's description of the call.
 *
 *	supervisor			broker
 *	broker_start ------------------> (waits)
 *	broker_listen -----------------> enters all namespaces of the sandbox but that of
 *					 processes, for good
 *	broker_hand, one for each call -> reads the caller's memory, looks the path up,
 *					 makes the call, answers the kernel
 *	broker_done (its socket closes)  ends
 *
 * The broker makes one call after the other, and no process inside can create a
 * name, so a path that was checked cannot change before the call: the broker
 * holds folders by descriptors, and follows no name twice.  A call that can wait
 * for another process, by a FIFO or a lease, waits in a child of the broker.
 *
 * The broker is outside of the pid namespace: no process inside sees, signals or
 * traces it.  A process inside of that namespace opens files of /proc, one for
 * each call (broker_parts.h).  The broker has no Landlock domain, since it could
 * then look at no caller's folder (landlock(7), ptrace restrictions); instead it
 * makes nothing in a place that no path from the sandbox's root leads to.  It has
 * a filter of its own (policy/seccomp/broker.json), and is in the sandbox's
 * cgroup.
 *
 * Ways around the broker are refused: openat2(2), whose flags are in memory
 * (ENOSYS), io_uring, chroot, Landlock rules of processes inside, which would not
 * bind the broker, and the calls of btrfs that make a subvolume.
 *
 * A descriptor is installed in the caller before the call is answered: with
 * SECCOMP_ADDFD_FLAG_SEND the broker would still have it open when the caller
 * goes on. From 5.19 on, a caller whose call was received waits for the answer
 * through every signal but a fatal one.  Before, a call that is interrupted is
 * made again, and may find that it has been done. */
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
	bool is_held; /* `held` waits to be sent: the socket had no room for it */
	struct seccomp_notif held;
};

void broker_init(struct broker *d);
/* Ends the broker and waits for it. */
void broker_done(struct broker *d);

/* Settings of broker_start().  All members are borrowed, for the duration of
 * that call. */
struct broker_parts {
	const struct plan *plan;
	const int *stdio; /* the three standard descriptors of hutch's caller that
			   * processes inside get; NULL: none */
	int pidfd;	  /* a pidfd of the sandbox's pid 1, whose namespaces are
			   * joined by broker_listen() */
	int cgroup;	  /* the folder of the cgroup that the broker is put into; 0 or
			   * less: the broker stays in the cgroup of its parent */
};

int broker_start(const struct broker_parts *parts, struct broker *ret, struct err *e);

/* Passes a copy of the seccomp filter's listener to the broker. */
int broker_listen(struct broker *d, int listener, struct err *e);

/* Returns whether the broker makes this call in place of the caller, provided that
 * the filter allows the call. */
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

/* Puts BPF instructions in front of `program` that send the broker's calls to the
 * listener, and refuse other calls that could create names.  The result is owned by
 * the caller. */
void broker_program(const struct seccomp_program *program, struct seccomp_program *ret);

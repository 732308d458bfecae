/* broker_parts -- declarations shared by the parts of broker.h, all in the
 * broker's process. */
#pragma once
#include <stdbool.h>
#include <linux/stat.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/spot.h"
#include "sandbox/kernel/notify_target.h"
#include "sandbox/plan/protect_missing.h"

/* A folder of the host that the sandbox shows. */
struct shown {
	int fd;		    /* owned: the root of the mount that shows the folder */
	uint64_t mount;	    /* the id of the mount that shows the folder (statx(2)) */
	const char *source; /* borrowed from the plan: the folder's path on the host */
};

/* A child of the broker that opens a file.  A process inside may make it wait for any
 * time. */
struct waiter {
	pid_t pid; /* 0: this entry is free */
	uint64_t call;
};
#define BROKER_WAITERS 64

/* The broker's state, which all calls share. */
struct broker_work {
	int listener;	/* owned, like all descriptors of this struct: the filter's
			 * listener */
	int proc;	/* the descriptor of the host's /proc */
	int opener;	/* a socket to the opener (broker_inside.c) */
	uint64_t caps;	/* the capabilities that a process inside may have */
	uid_t uid;	/* the user of every process inside */
	struct protect_missing *protect_missing;
	struct shown *shown;
	size_t shown_count;
	uint64_t *mounts; /* the ids of all mounts that hutch has made */
	size_t mount_count;
	struct statx handed[3]; /* the files that --stdio inherit hands to processes
				 * inside; otherwise zero */
	struct waiter waiters[BROKER_WAITERS];
};

/* The state for one call.  The facts about the caller were read while it waited for
 * the answer. */
struct job {
	struct broker_work *work; /* borrowed */
	struct notify_target target;
	mode_t umask;
	uint64_t caps; /* the caller's effective capabilities */
	pid_t leader; /* pid on the host of the caller's process (of its first thread) */
	pid_t process, thread; /* pids of the caller's process and thread in the
				* sandbox's pid namespace */
	struct spot_search path_walk;
};

/* The functions below return 0 or a negative errno; JOB_ANSWERED means that
 * another process answers the call. */
#define JOB_ANSWERED 1

void job_answer(const struct job *j, int error);
/* Answers the call with a copy of `fd` in the caller, and closes `fd`. */
void job_hand_over(const struct job *j, int fd, bool is_cloexec);

/* --- the caller (broker_caller.c) -----------------------------------------------------
 */

int job_begin(struct job *j);

/* Read the caller's memory (notify_target.h): job_read() exactly `size` bytes,
 * job_read_path() a path that ends in a 0. */
int job_read(const struct job *j, uint64_t at, void *to, size_t size);
int job_read_path(const struct job *j, uint64_t at, char *to);

/* Opens the folder that a relative path of the caller begins in; `fd` is the caller's
 * number for that folder, or AT_FDCWD.  Returns a descriptor of this process. */
int job_base(const struct job *j, int fd);

/* Returns a copy of the caller's descriptor `fd`, a socket.  The copy comes from the
 * descriptor table of the caller's first thread. */
int job_copy(const struct job *j, int fd);

/* Opens the caller's controlling terminal. */
int job_terminal(const struct job *j, int flags);

/* --- where (broker_place.c) ---------------------------------------------------------- */

/* Reads the target of a symbolic link as the caller would see it.  The functions of
 * spot.h call it. */
int job_read_link(void *job, int dir, const char *name, char *to);

/* Tells in which mount a file is, and the file's device and inode number. */
bool spot_look(int fd, struct statx *ret);

/* Writes the path of a descriptor of this process, "self/fd/N", relative to the
 * folder `proc`.  By this path, a file that is known only by a descriptor can be
 * opened and linked. */
#define OWN_PATH_MAX 32
void own_path(int fd, char *to);

/* Returns whether Landlock would let the caller open the file. */
bool place_is_open(const struct job *j, int fd);

/* Returns 0 if a file of this kind may be made at that place, else a negative
 * errno. */
int spot_allows(const struct job *j, const struct spot *s, enum making what);

/* --- what is opened (broker_open.c) -------------------------------------------------- */

/* Carries out open(2) or a related call in place of the caller, and answers it. */
int job_open(struct job *j, int base, const char *path, int flags, mode_t mode);

/* --- what is opened of /proc (broker_inside.c) --------------------------------------- */

/* Some files of /proc, such as /proc/sysvipc and /proc/sys/kernel/pid_max, show
 * the pid namespace of the process that looks their name up, or opens them
 * (pid_namespaces(7)).  The broker is in the host's pid namespace, and no
 * process can change its own.  So the broker has a child, the opener, which is
 * outside as well and whose children are in the sandbox's: for each call, one
 * child opens the file and answers. */

/* Runs the opener: serves requests until the broker closes the socket.  The children
 * that it makes are in the sandbox's pid namespace. */
_Noreturn void inside_serve(struct broker_work *w, int socket);

/* Asks the opener to open an existing file of a procfs and to answer the call. */
int job_open_inside(const struct job *j, const struct spot *s, int flags, mode_t mode);

/* --- what is bound (broker_bind.c) --------------------------------------------------- */

/* Carries out bind(2) in place of the caller, with a descriptor of the caller's and
 * an address in the caller's memory. */
int job_bind(struct job *j, int fd, uint64_t address, uint64_t len);

/* --- what is made (broker_calls.c) --------------------------------------------------- */

/* Makes the call that waits at the listener in place of its caller, and answers it. */
void broker_do(struct broker_work *w, const struct seccomp_notif *call);

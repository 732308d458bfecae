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

/* A child that opens a file for which it may have to wait as long as the inside
 * likes. */
struct waiter {
	pid_t pid; /* 0: the place is free */
	uint64_t call;
};
#define BROKER_WAITERS 64

/* The broker's state, which all calls share. */
struct broker_work {
	int listener;	/* owned, like all descriptors of this struct: the filter's
			 * listener */
	int proc;	/* the folder of the host's /proc */
	int opener;	/* a socket to the opener (broker_inside.c) */
	uint64_t caps;	/* the capabilities that a process inside may have */
	uid_t uid;	/* the user of every process inside */
	struct protect_missing *protect_missing;
	struct shown *shown;
	size_t shown_count;
	uint64_t *mounts; /* the ids of all mounts that hutch has made */
	size_t mount_count;
	struct statx handed[3]; /* the files that --stdio inherit hands to the inside;
				 * otherwise zero */
	struct waiter waiters[BROKER_WAITERS];
};

/* The state for one call.  The facts about the caller were true when they were
 * read, and the caller waits. */
struct job {
	struct broker_work *work; /* borrowed */
	struct notify_target target;
	mode_t umask;
	uint64_t caps; /* the caller's effective capabilities */
	pid_t leader; /* the first thread of the caller's process, as the host numbers
		       * it */
	pid_t process, thread; /* the caller's process and thread, as the inside
				* numbers them */
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

/* Read the caller's memory (notify_target.h): job_read() all of `size` bytes,
 * job_read_path() a path. */
int job_read(const struct job *j, uint64_t at, void *to, size_t size);
int job_read_path(const struct job *j, uint64_t at, char *to);

/* Opens the folder that a relative path begins in, as a descriptor of this
 * process; `fd` is the caller's number for it, or AT_FDCWD. */
int job_base(const struct job *j, int fd);

/* Copies a socket of the caller's first thread to a descriptor of this process. */
int job_copy(const struct job *j, int fd);

/* Opens the caller's controlling terminal. */
int job_terminal(const struct job *j, int flags);

/* --- where (broker_place.c) ---------------------------------------------------------- */

/* Reads a link as the caller would follow it.  A callback for spot.h. */
int job_read_link(void *job, int dir, const char *name, char *to);

/* Tells in which mount a file is, and the file's device and inode number. */
bool spot_look(int fd, struct statx *ret);

/* Writes a path for a descriptor of this process, below `proc`: a file that is
 * known by a descriptor is opened, linked and named through that path. */
#define OWN_PATH_MAX 32
void own_path(int fd, char *to);

/* Returns whether Landlock would let the caller open the file. */
bool place_is_open(const struct job *j, int fd);

/* Returns 0 if a file of this kind may be made at that place, else a negative
 * errno. */
int spot_allows(const struct job *j, const struct spot *s, enum making what);

/* --- what is opened (broker_open.c) -------------------------------------------------- */

/* Makes open(2) or a related call at a path, and answers the call. */
int job_open(struct job *j, int base, const char *path, int flags, mode_t mode);

/* --- what is opened of /proc (broker_inside.c) --------------------------------------- */

/* Some files of /proc, such as /proc/sysvipc and /proc/sys/kernel/pid_max, show
 * the pid namespace of the process that looks their name up, or opens them
 * (pid_namespaces(7)).  The broker is in the host's pid namespace, and no
 * process can change its own.  So the broker has a child, the opener, which is
 * outside as well and whose children are in the sandbox's: for each call, one
 * child opens the file and answers. */

/* The loop of the opener, whose children are in the sandbox's pid namespace from here on. */
_Noreturn void inside_serve(struct broker_work *w, int socket);

/* Lets the opener open an existing name in a folder of a procfs. */
int job_open_inside(const struct job *j, const struct spot *s, int flags, mode_t mode);

/* --- what is bound (broker_bind.c) --------------------------------------------------- */

/* Makes bind(2) of a descriptor of the caller's to an address in the caller's
 * memory. */
int job_bind(struct job *j, int fd, uint64_t address, uint64_t len);

/* --- what is made (broker_calls.c) --------------------------------------------------- */

/* Makes the call that waits at the listener, and answers it. */
void broker_do(struct broker_work *w, const struct seccomp_notif *call);

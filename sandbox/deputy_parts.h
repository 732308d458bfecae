/* deputy_parts -- between the parts of deputy.h, in its own process. */
#pragma once
#include <stdbool.h>
#include <linux/stat.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/way.h"
#include "sandbox/caller.h"
#include "sandbox/missing.h"

/* A folder of the host's, as the sandbox shows it. */
struct shown {
	int fd;		    /* owned: its root */
	uint64_t mount;	    /* the kernel's number of it (statx(2)) */
	const char *source; /* borrowed from the plan */
};

/* A child that opens what may take as long as somebody likes. */
struct waiter {
	pid_t pid; /* 0: none */
	uint64_t call;
};
#define DEPUTY_WAITERS 64

/* Of all calls. */
struct deputy_work {
	int listener;	/* owned, as all are */
	int proc;	/* the host's /proc */
	int opener;	/* a socket of it (deputy_inside.c) */
	uint64_t caps;	/* that somebody inside may have */
	uid_t uid;	/* of everybody inside */
	struct missing *missing;
	struct shown *shown;
	size_t shown_count;
	uint64_t *mounts; /* all that hutch has made */
	size_t mount_count;
	struct statx handed[3]; /* of --stdio inherit; else zero */
	struct waiter waiters[DEPUTY_WAITERS];
};

/* Of one call.  What it says of the caller was true when it was read, and he waits. */
struct job {
	struct deputy_work *work; /* borrowed */
	struct caller caller;
	mode_t umask;
	uint64_t caps; /* his effective ones */
	pid_t leader; /* of his threads, as the host numbers it */
	pid_t process, thread; /* he, as the inside does */
	struct way way;
};

/* What is done gives 0 or an errno, negative; or this, where somebody else answers. */
#define JOB_ANSWERED 1

void job_answer(const struct job *j, int error);
/* Takes `fd`. */
void job_hand_over(const struct job *j, int fd, bool is_cloexec);

/* --- who asks (deputy_caller.c) ------------------------------------------------------ */

int job_begin(struct job *j);

/* The memory of the caller (caller.h): all of `size`, or a path. */
int job_read(const struct job *j, uint64_t at, void *to, size_t size);
int job_read_path(const struct job *j, uint64_t at, char *to);

/* A descriptor, of who calls this, of the folder that a relative path begins in; `fd` is the
 * number that the caller has it by, or AT_FDCWD. */
int job_base(const struct job *j, int fd);

/* A socket of his first thread's, of who calls this. */
int job_copy(const struct job *j, int fd);

/* The controlling terminal of the caller, opened. */
int job_terminal(const struct job *j, int flags);

/* --- where (deputy_place.c) ---------------------------------------------------------- */

/* For way.h: as the caller would follow it. */
int job_read_link(void *job, int dir, const char *name, char *to);

/* Of which mount a file is, and which of its files. */
bool spot_look(int fd, struct statx *ret);

/* Where a descriptor of whoever looks there is below `proc`: a file that is known by one
 * is opened, linked and named by it. */
#define OWN_PATH_MAX 32
void own_path(int fd, char *to);

/* Whether Landlock would let the caller open it. */
bool place_is_open(const struct job *j, int fd);

/* Whether this may come into being there. */
int spot_allows(const struct job *j, const struct spot *s, enum making what);

/* --- what is opened (deputy_open.c) -------------------------------------------------- */

/* open(2) and its kin at a path.  Answers it. */
int job_open(struct job *j, int base, const char *path, int flags, mode_t mode);

/* --- what is opened of /proc (deputy_inside.c) --------------------------------------- */

/* The pid namespace of the process that looks a name up, or opens it, decides what some files
 * there show: /proc/sysvipc, /proc/sys/kernel/pid_max (pid_namespaces(7)).  The deputy is in
 * the host's, and no process can change its own.  So the deputy has a child, the opener, which
 * is outside as well and whose children are in the sandbox's: one child for each call, which
 * opens the file and answers the call. */

/* The loop of the opener, whose children are in the sandbox's pid namespace from here on. */
_Noreturn void inside_serve(struct deputy_work *w, int socket);

/* Has the opener open a name that is there in a folder of a procfs. */
int job_open_inside(const struct job *j, const struct spot *s, int flags, mode_t mode);

/* --- what is bound (deputy_bind.c) --------------------------------------------------- */

/* bind(2) of a descriptor of the caller's to what is in his memory. */
int job_bind(struct job *j, int fd, uint64_t address, uint64_t len);

/* --- what is made (deputy_calls.c) --------------------------------------------------- */

/* Does the call that waits and answers it. */
void deputy_do(struct deputy_work *w, const struct seccomp_notif *call);

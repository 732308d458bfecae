/* caps -- which capabilities the executor has, and for whom.
 *
 * It is started with some in its permitted set.  Those that are also in the
 * bounding set are *handed on*: root's commands get exactly these, and others'
 * those of them that are in `others`, in no way more: a command that is another user
 * cannot get back what it lacks, for no_new_privs is set.  What is
 * permitted beyond them is the executor's *own*: SYS_PTRACE, for the process that pauses
 * all (freezer.h); with a range of ids mapped SETUID, SETGID and KILL, too, to turn
 * into other users and to signal them.  No command may do any of that.  An executor that
 * is not uid 0 has them all inheritable and ambient as well, since it would have lost them
 * over its own execve otherwise (capabilities(7)).
 *
 * The executor's effective set is these three, where permitted; it uses no
 * other capability itself.  In a child, caps_keep() and caps_hand_on() stand
 * around the calls that change ids.  They run between vfork(2) and execve(2). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct caps {
	uint64_t permitted; /* one bit a capability, 1 << CAP_* */
	uint64_t handed_on;
	uint64_t others; /* of these, to users that are not root; caps_init() sets all */
	uint64_t own;
	uint64_t inherited; /* inheritable and ambient */
};

/* Reads the calling process's sets and lowers what it will not use, inheritable
 * and ambient to what is handed on.  -1 with errno set. */
int caps_init(struct caps *ret);

/* Effective as caps_init() left it, whatever changes of the file system uid did
 * to it.  -1 with errno set. */
int caps_settle(const struct caps *c);

/* Effective beside that what is handed on to `uid`, until caps_settle(): for a moment in
 * which the executor does what a command would.  -1 with errno set. */
int caps_wear(const struct caps *c, uint32_t uid);

/* True when a command as the executor's own user needs nothing done to it:
 * the kernel's rules for execve give it what is handed on. */
bool caps_are_plain(const struct caps *c);

/* Keeps the permitted set over the coming change of ids, until execve.  -1 with
 * errno set. */
int caps_keep(const struct caps *c);

/* Leaves what is handed on to `uid`, so that execve as that user gives exactly that.  -1 with
 * errno set. */
int caps_hand_on(const struct caps *c, uint32_t uid);

/* In a child that traces (seize.h): CAP_SYS_PTRACE, and nothing else.  -1 with errno set. */
int caps_trace(const struct caps *c);

/* In a child that will not execve: what a command of `uid` gets, effective, and nothing else.
 * -1 with errno set. */
int caps_use(const struct caps *c, uint32_t uid);

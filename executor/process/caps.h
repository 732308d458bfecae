/* caps -- the executor's capabilities, and those of the commands.
 *
 * The executor starts with some capabilities in its permitted set.  Those that are also
 * in the bounding set are *handed on*: root's commands get exactly these, and commands
 * of other users those of them that are in `others`.  A command of another user cannot
 * get back the ones that it lacks, since no_new_privs is set.  The permitted ones
 * beyond them are the executor's *own*: SYS_PTRACE, for the process that pauses all
 * (freezer.h); with a range of ids mapped also SETUID, SETGID and KILL, to turn into
 * other users and to signal them.  No command gets these.  An executor that is not uid
 * 0 has them all inheritable and ambient as well, since its own execve would have
 * dropped them otherwise (capabilities(7)).
 *
 * The executor's effective set is SETUID, SETGID and KILL, where permitted; it uses no
 * other capability itself.  In a child, caps_keep() and caps_hand_on() stand around the
 * calls that change ids.  They run between vfork(2) and execve(2). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct caps {
	uint64_t permitted; /* one bit a capability, 1 << CAP_* */
	uint64_t handed_on;
	uint64_t others; /* the part of the capabilities handed on that users other than
			  * root get; caps_init() sets all */
	uint64_t own;
	uint64_t inherited; /* the executor's inheritable and ambient capabilities */
};

/* Reads the calling process's sets, and lowers its effective set to the used
 * capabilities, and inheritable and ambient to those that are handed on.  -1 with errno
 * set. */
int caps_init(struct caps *ret);

/* Restores the effective set of caps_init(), after a change of the file system uid.  -1
 * with errno set. */
int caps_settle(const struct caps *c);

/* Adds the capabilities that are handed on to `uid` to the effective set, until
 * caps_settle(): for a moment in which the executor does what a command would.  -1 with
 * errno set. */
int caps_wear(const struct caps *c, uint32_t uid);

/* Returns true when a command of the executor's own user needs no caps_keep() and
 * caps_hand_on(): by the kernel's rules for execve(2) the command gets exactly the
 * capabilities that are handed on. */
bool caps_are_plain(const struct caps *c);

/* Keeps the permitted set over the coming change of ids, until execve.  -1 with errno
 * set. */
int caps_keep(const struct caps *c);

/* Sets the process up so that execve as `uid` gives exactly the capabilities that are
 * handed on to that user.  -1 with errno set. */
int caps_hand_on(const struct caps *c, uint32_t uid);

/* In a child that traces (seize.h): keeps CAP_SYS_PTRACE, and nothing else.  -1 with
 * errno set. */
int caps_trace(const struct caps *c);

/* In a child that will not execve: makes the capabilities of a command of `uid`
 * effective, and keeps nothing else.  -1 with errno set. */
int caps_use(const struct caps *c, uint32_t uid);

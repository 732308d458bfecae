/* caps -- the executor's capabilities, and those of the commands.
 *
 * The executor starts with some capabilities in its permitted set.  Those that are also
 * in the bounding set are *handed on*: root's commands get exactly these, and commands of
 * other users those of them that are in `others`.  A command of another user cannot get
 * back the ones that it lacks, since no_new_privs is set.  Permitted capabilities outside
 * the bounding set are the executor's *own*: SYS_PTRACE, for the process that stops all
 * others (freezer.h); with a range of ids mapped also SETUID, SETGID and KILL, to become
 * other users and to signal their processes.  No command gets these.  The launcher makes
 * all of them inheritable and ambient for an executor that is not uid 0, since its execve
 * would drop them otherwise (capabilities(7)).
 *
 * The executor's effective set is SETUID, SETGID and KILL, where permitted; it uses no
 * other capability itself.  A child calls caps_keep() before it changes its ids and
 * caps_hand_on() after that, between vfork(2) and execve(2). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct caps {
	uint64_t permitted; /* a bit set, in which bit CAP_x stands for the capability
			     * CAP_x */
	uint64_t handed_on;
	uint64_t others; /* the capabilities that users other than root get at most;
			  * caps_init() sets it to all of handed_on */
	uint64_t own;
	uint64_t inherited; /* the executor's inheritable and ambient capabilities */
};

/* Reads the calling process's sets.  Lowers its effective set to those that the executor
 * uses itself, and its inheritable and ambient sets to those that are handed on.  Returns
 * -1 with errno set. */
int caps_init(struct caps *ret);

/* Sets the effective set as caps_init() left it; needed after a change of the file system
 * uid, which changes it.  Returns -1 with errno set. */
int caps_settle(const struct caps *c);

/* Adds the capabilities that a command of `uid` gets to the effective set, until
 * caps_settle(): the executor uses it to access files with the rights of a command.
 * Returns -1 with errno set. */
int caps_wear(const struct caps *c, uint32_t uid);

/* Returns true if a command of the executor's own user needs neither caps_keep() nor
 * caps_hand_on(): execve(2) by itself gives it exactly the capabilities that are handed
 * on. */
bool caps_are_plain(const struct caps *c);

/* Makes the process keep its permitted set when it changes its ids, until execve
 * (PR_SET_KEEPCAPS).  Returns -1 with errno set. */
int caps_keep(const struct caps *c);

/* Sets the capabilities so that execve as `uid` gives exactly those that are handed on to
 * that user.  Returns -1 with errno set. */
int caps_hand_on(const struct caps *c, uint32_t uid);

/* In a child that traces (seize.h): drops all capabilities but CAP_SYS_PTRACE.  Returns
 * -1 with errno set. */
int caps_trace(const struct caps *c);

/* In a child that will not execve: makes the capabilities of a command of `uid`
 * effective, and drops all others.  Returns -1 with errno set. */
int caps_use(const struct caps *c, uint32_t uid);

/* seccomp -- installs and compiles the seccomp filters of a sandbox's processes.
 *
 * A program is compiled BPF.  It consists of the floor, hutch's own fixed rules, and of
 * a profile (policy/seccomp/compile.h).  The default program is an array made when hutch
 * is built.  Another profile is compiled by libexec/hutch-seccomp, a process of its own,
 * since the launcher links neither libseccomp nor a JSON reader; the resulting program
 * is kept in a cache (sandbox/kernel/seccomp_cache.h), so that only the first launch
 * waits for the compiler.
 *
 *	struct seccomp_program program;
 *
 *	if (seccomp_obtain(&request, &program, e))	parent
 *		return -1;
 *	...
 *	if (seccomp_install(&program, e))		child, last before execveat
 *	...
 *	seccomp_done(&program);
 *
 * Under the floor clone3 answers ENOSYS to every process that runs after the install. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct sock_filter;

struct seccomp_program {
	const struct sock_filter *insns;
	size_t count;
	void *owned; /* NULL: `insns` is built in or borrowed */
};

/* Whether commands may make namespaces (--nesting). */
enum seccomp_nesting {
	SECCOMP_FLAT,  /* they may not */
	SECCOMP_NESTS, /* they may make them, and mount in them */
};

struct seccomp_request {
	const char *profile;	 /* the path of a file with OCI's or Docker's JSON;
				  * NULL: the built-in program */
	const char *whole;	 /* in place of `profile`: the JSON of an OCI container's
				  * filter, to which hutch's floor is not added */
	size_t whole_len;
	const char *cache_dir;	 /* the folder of the cache of compiled programs; NULL:
				  * no cache */
	const char *compiler;	 /* path of hutch-seccomp */
	enum seccomp_nesting nesting;
	const char *const *caps; /* "CAP_..." names, ending with NULL; may be NULL.
				  * The capabilities that the sandbox may hold, for the
				  * conditions in Docker's profiles. */
};

/* Returns the built-in program. */
void seccomp_default(enum seccomp_nesting nesting, struct seccomp_program *ret);

/* Returns the floor alone.  It is the executor's filter if the user has given commands a
 * profile, since that profile may forbid system calls that an init needs.  Commands
 * install the profile on top of the floor. */
void seccomp_floor(enum seccomp_nesting nesting, struct seccomp_program *ret);

/* Returns a filter for commands under which calls that change owners and ids, and calls
 * that make devices, do nothing and report success (policy/seccomp/pretend.json).  It
 * may be installed only on top of the default program or of the floor.  If two filters
 * return an error, the kernel uses the error of the filter that was installed last
 * (seccomp(2)), and this filter's error is 0, success.  So this filter names no call
 * that the default program or the floor refuses. */
void seccomp_pretend(struct seccomp_program *ret);

/* Returns the filter of seccomp_pretend() for use on top of a program that reports
 * refused calls to a listener (seccomp_install_telling()).  An error of this filter
 * would take precedence over the listener of the program below, so this variant allows
 * the calls that its floor would refuse: the program below refuses them.  To be freed by
 * seccomp_done(). */
void seccomp_pretend_above(struct seccomp_program *ret);

/* The filters that commands without namespaces (landlock_run.h) have on top of the
 * others.  They refuse system calls by which a command could harm the user's other
 * programs, and system calls that Landlock does not check. */
enum seccomp_landlock {
	SECCOMP_LANDLOCK,	      /* in every case */
	SECCOMP_LANDLOCK_OFFLINE, /* without a network: no socket can be made */
	SECCOMP_LANDLOCK_ONLINE,  /* with the host's network: only TCP sockets can be
				   * made */
	SECCOMP_LANDLOCK_EARLY,   /* before Landlock's ABI 6: signals and truncate(2) are
				   * refused */
};
void seccomp_landlock(enum seccomp_landlock which, struct seccomp_program *ret);

/* Finds or compiles the program for a request.  Fails with a sentence that
 * names the profile if it can't be read or the compiler refuses it.  A cache
 * that is absent, can't be made, or is not the user's own (owner, group or
 * world writable, a link) is not used, which is no error.  Needs descriptors 0,
 * 1 and 2 to be open and SIGCHLD not to be ignored.  On failure `ret` is
 * untouched. */
int seccomp_obtain(const struct seccomp_request *request, struct seccomp_program *ret,
		   struct err *e);

/* Puts the calling thread, and the processes that it starts, under the program
 * for ever.  Needs no_new_privs (seccomp(2)). */
int seccomp_install(const struct seccomp_program *program, struct err *e);

/* Tells whether a listener is told of calls for which a program returns `action`
 * (SECCOMP_RET_...).  A listener is told of errors, with two exceptions: ENOSYS, which
 * programs provoke on purpose and take for an older kernel (clone3, for every thread),
 * and error 0, which only pretends success. */
bool seccomp_is_notified(uint32_t action);

/* Returns a copy of the program in which `by` replaces the return values that a listener
 * is told of (seccomp_is_notified()).  With SECCOMP_RET_USER_NOTIF as `by`, the copy is
 * called the program's telling form.  Allocated. */
struct sock_filter *seccomp_replace_notified(const struct seccomp_program *program,
					     uint32_t by);

/* Installs a program's telling form (seccomp_replace_notified()), under which refused
 * calls wait for the listener's answer.  *ret_listener is owned by the caller and close-
 * on-exec.  If there can be no listener, since a filter around this process has one or
 * since the kernel or that filter forbids it, the program itself is installed and
 * *ret_listener is -1. */
int seccomp_install_telling(const struct seccomp_program *program, int *ret_listener,
			    struct err *e);

/* Installs, with a listener, a program that sends calls to the listener already: a
 * telling form, or a program that reports more calls than the refused ones (trace.h).
 * Fails, and says why, where there can be no listener. */
int seccomp_install_listening(const struct seccomp_program *program, int *ret_listener,
			      struct err *e);

/* Does the same as seccomp_install_listening().  Since kernel 5.19, moreover, only fatal
 * signals interrupt a process whose call the listener has received. */
int seccomp_install_killable(const struct seccomp_program *program, int *ret_listener,
			   struct err *e);

/* Puts the calling thread under a filter that allows everything and has a listener
 * (seccomp_unotify(2)), to test whether there can be one.  Returns the listener's
 * descriptor.  Only one filter around a process can have a listener, so under an
 * outer sandbox with a listener the error is EBUSY.  Needs no_new_privs. */
int seccomp_try_listener(struct err *e);

/* Frees what a program owns; the zero object is allowed. */
void seccomp_done(struct seccomp_program *program);

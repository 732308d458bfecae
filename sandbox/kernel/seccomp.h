/* seccomp -- the filter that a sandbox's processes live under.
 *
 * A program is finished BPF: the fixed floor and a profile
 * (policy/seccomp/compile.h).  The default program is an array made when hutch is
 * built.  Another profile is compiled by libexec/hutch-seccomp, a process of its
 * own, since the launcher links neither libseccomp nor a JSON reader; the resulting
 * program is kept under its content in a cache (sandbox/kernel/seccomp_cache.h), so
 * that only the first launch waits for the compiler.
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
 * Under the floor clone3 answers ENOSYS to every process that runs after the
 * install. */
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

struct seccomp_request {
	const char *profile;	 /* the path of a file with OCI's or Docker's JSON;
				  * NULL: the built-in program */
	const char *cache_dir;	 /* the folder in which programs are kept; NULL: they
				  * are not kept */
	const char *compiler;	 /* path of hutch-seccomp */
	const char *const *caps; /* "CAP_..." names, ending with NULL; may be NULL.
				  * The capabilities that the sandbox may hold, for the
				  * conditions in Docker's profiles. */
};

/* Returns the built-in program. */
void seccomp_default(struct seccomp_program *ret);

/* Returns the floor alone, for the executor when commands have a profile of the
 * user's, which may forbid calls that an init needs.  Commands enter that profile on
 * top of the floor. */
void seccomp_floor(struct seccomp_program *ret);

/* Returns a filter for commands, on top of the default program or the floor, with
 * which calls that change owners and ids, and calls that make devices, report
 * success (policy/seccomp/pretend.json).  If two filters answer with an error, the
 * error of the last one counts (seccomp(2)), and this filter's error is 0.  So this
 * filter names no call that the default program or the floor refuses, and goes on
 * top of no other program. */
void seccomp_pretend(struct seccomp_program *ret);

/* Returns the filter of seccomp_pretend() for use on top of a program in its telling
 * form (seccomp_install_telling()).  An error of a filter on top would go before the
 * listener of the one below, so here the part that is the floor lets calls through
 * that the program below refuses.  Owned. */
void seccomp_pretend_above(struct seccomp_program *ret);

/* The filters that commands without namespaces (landlock_run.h) have on top of the
 * others.  They refuse calls by which a command could harm the user's other
 * programs, and calls that Landlock does not see. */
enum seccomp_landlock {
	SECCOMP_LANDLOCK,	      /* in every case */
	SECCOMP_LANDLOCK_OFFLINE, /* without a network: no socket can be made */
	SECCOMP_LANDLOCK_ONLINE,  /* with the host's network: only TCP sockets can be
				   * made */
	SECCOMP_LANDLOCK_EARLY,   /* before Landlock's ABI 6: refuses signals, and
				   * truncate(2) */
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

/* Tells whether a listener learns of a program's answer (SECCOMP_RET_...).  A
 * listener learns of errors, except ENOSYS, which programs provoke and take for an
 * older kernel (clone3, for every thread), and except 0, which only pretends. */
bool seccomp_is_told(uint32_t action);

/* Returns a copy of the program in which `by` replaces the answers that a listener
 * learns of; with SECCOMP_RET_USER_NOTIF the copy is the program's telling form.
 * Allocated. */
struct sock_filter *seccomp_replace_told(const struct seccomp_program *program,
					 uint32_t by);

/* Installs a program in its telling form, with which refused calls wait for a
 * listener.  *ret_listener is the listener, owned by the caller and close-on-exec.
 * Where there can be no listener (a filter around this process has one, or the
 * kernel or that filter allows none) the program itself is installed and
 * *ret_listener is -1. */
int seccomp_install_telling(const struct seccomp_program *program, int *ret_listener,
			    struct err *e);

/* Installs, with a listener, a program that is in its telling form already or asks
 * about more calls (trace.h).  Fails, and says why, where there can be no listener. */
int seccomp_install_listening(const struct seccomp_program *program, int *ret_listener,
			      struct err *e);

/* Does the same as seccomp_install_listening(), but where the kernel can (5.19), a
 * process whose call the listener has received waits for the answer in spite of all
 * signals that do not kill it. */
int seccomp_install_killable(const struct seccomp_program *program, int *ret_listener,
			   struct err *e);

/* Puts the calling thread under a filter that allows everything and has a listener
 * (seccomp_unotify(2)), to test whether there can be one.  Returns the listener's
 * descriptor.  Only one filter around a process can have a listener, so under an
 * outer sandbox with a listener the error is EBUSY.  Needs no_new_privs. */
int seccomp_try_listener(struct err *e);

/* Frees what a program owns; the zero object is allowed. */
void seccomp_done(struct seccomp_program *program);

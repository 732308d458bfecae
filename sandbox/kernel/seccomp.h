/* seccomp -- the filter that a sandbox's processes live under.
 *
 * A program is finished BPF: the fixed floor and a profile (policy/seccomp/compile.h).  The
 * default one is an array made when hutch is built.  Another profile is compiled by
 * libexec/hutch-seccomp, a process of its own, since the launcher links neither
 * libseccomp nor a JSON reader; its result is kept under its content in a cache
 * (sandbox/kernel/seccomp_cache.h), so that only the first launch waits for it.
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
	void *owned; /* NULL for the built-in program */
};

struct seccomp_request {
	const char *profile;	 /* file with OCI's or Docker's JSON; NULL: built in */
	const char *cache_dir;	 /* NULL: nothing is kept */
	const char *compiler;	 /* hutch-seccomp */
	const char *const *caps; /* "CAP_...", ends with NULL; may be NULL.  The
				  * capabilities that the sandbox may hold, for Docker's
				  * conditions. */
};

/* The built-in program. */
void seccomp_default(struct seccomp_program *ret);

/* The floor alone, for the executor when commands have a profile of the user's,
 * which may forbid calls that an init needs.  Commands enter that profile on
 * top of the floor. */
void seccomp_floor(struct seccomp_program *ret);

/* A filter for commands, on top of either: calls that change owners and ids,
 * and calls that make devices, report success (policy/seccomp/pretend.json).
 * If two filters answer with an error the last one's counts (seccomp(2)), and
 * its error here is 0.  So this filter names no call that the default program
 * or the floor refuses, and goes on top of no other program. */
void seccomp_pretend(struct seccomp_program *ret);

/* The same filter for use on top of a program in its telling form
 * (seccomp_install_telling()): an error of a filter on top goes before a
 * listener of one below, so here the part that is the floor lets through what
 * the one below refuses.  Owned. */
void seccomp_pretend_above(struct seccomp_program *ret);

/* Filters on top of all of these where there are no namespaces (landlock_run.h).  They
 * refuse calls by which a command could harm the user's other programs, and
 * calls that Landlock does not see. */
enum seccomp_landlock {
	SECCOMP_LANDLOCK,	      /* always */
	SECCOMP_LANDLOCK_OFFLINE, /* no socket can be made */
	SECCOMP_LANDLOCK_ONLINE,  /* only TCP sockets can be made */
	SECCOMP_LANDLOCK_EARLY,   /* before Landlock's ABI 6: signals, and truncate(2) */
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

/* Whether a listener learns of a program's answer (SECCOMP_RET_...).  It learns
 * of errors, except ENOSYS, which programs provoke and take for an older kernel
 * (clone3, for every thread), and except 0, which only pretends. */
bool seccomp_is_told(uint32_t action);

/* A copy of the program in which `by` replaces the answers that a listener
 * learns of; with SECCOMP_RET_USER_NOTIF that is its telling form.
 * Allocated. */
struct sock_filter *seccomp_replace_told(const struct seccomp_program *program,
					 uint32_t by);

/* Installs the telling form; *ret_listener is its listener, the caller's and
 * close-on-exec.  Where there can be no listener (one around this process, or a
 * kernel or a filter that has none) the program itself is installed and
 * *ret_listener is -1. */
int seccomp_install_telling(const struct seccomp_program *program, int *ret_listener,
			    struct err *e);

/* Installs, with a listener, a program that is in its telling form already or
 * asks about more calls (trace.h).  That there can be no listener is an error
 * that says why. */
int seccomp_install_listening(const struct seccomp_program *program, int *ret_listener,
			      struct err *e);

/* The same, but where the kernel can (5.19), a process whose call was received
 * waits for the answer in spite of all signals that do not kill it. */
int seccomp_install_killable(const struct seccomp_program *program, int *ret_listener,
			   struct err *e);

/* Puts the calling thread under a filter that allows everything and has a
 * listener (seccomp_unotify(2)).  Returns a descriptor.  Only one filter around
 * a process can have a listener, so under an outer sandbox with its own the
 * error is EBUSY.  Needs no_new_privs. */
int seccomp_try_listener(struct err *e);

/* Frees what a program owns; the zero object is allowed. */
void seccomp_done(struct seccomp_program *program);

/* seccomp -- the filter that a sandbox's processes live under.
 *
 * A program is finished BPF: the fixed floor and a profile (policy/compile.h).  The
 * default one is an array made when hutch is built.  Another profile is compiled by
 * libexec/hutch-seccomp, a process of its own, since the launcher links neither
 * libseccomp nor a JSON reader; its result is kept under its content in a cache
 * (sandbox/seccomp_cache.h), so that only the first launch waits for it.
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
 * Under the floor clone3 answers ENOSYS to whoever runs after the install. */
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
	const char *const *caps; /* "CAP_...", ends with NULL; may be NULL.  What
				  * the sandbox may hold: Docker's conditions. */
};

/* The built-in program. */
void seccomp_default(struct seccomp_program *ret);

/* The floor alone: for the executor when commands have a profile of the user's,
 * which may forbid what an init needs.  They enter theirs on top of it. */
void seccomp_floor(struct seccomp_program *ret);

/* On top of either, for commands: calls that change owners and ids, and that make devices,
 * say that they did it (policy/seccomp/pretend.json).  Of two filters that answer with an
 * error the last one's is told (seccomp(2)), and 0 is none: so it names no call that the
 * default program or the floor refuses, and goes on top of no other. */
void seccomp_pretend(struct seccomp_program *ret);

/* The same for where what is below tells (seccomp_install_telling()): an error of a
 * filter on top goes before a listener of one below, so that here the floor lets
 * through what the one below refuses.  Owned. */
void seccomp_pretend_above(struct seccomp_program *ret);

/* On top of all of these, where there are no namespaces (rung.h): what a command could do
 * to the user's other programs, and what Landlock does not see. */
enum seccomp_rung {
	SECCOMP_RUNG,	      /* always */
	SECCOMP_RUNG_OFFLINE, /* no socket at all */
	SECCOMP_RUNG_ONLINE,  /* TCP alone */
	SECCOMP_RUNG_EARLY,   /* before Landlock's ABI 6: signals, and truncate(2) */
};
void seccomp_rung(enum seccomp_rung which, struct seccomp_program *ret);

/* The program for a request.  Fails with a sentence that names the profile if it
 * can't be read or is refused by the compiler.  A cache that is absent, can't be
 * made, or is not the user's own (owner, group or world writable, a link) is not
 * used, which is no error.  Needs descriptors 0, 1 and 2 to be open and SIGCHLD not
 * to be ignored.  On failure `ret` is untouched. */
int seccomp_obtain(const struct seccomp_request *request, struct seccomp_program *ret,
		   struct err *e);

/* Puts the calling thread, and what it starts, under the program for ever.  Needs
 * no_new_privs (seccomp(2)). */
int seccomp_install(const struct seccomp_program *program, struct err *e);

/* Whether a listener is told of what a program answers (SECCOMP_RET_...): errors, but
 * for ENOSYS, which programs try and take for an older kernel (clone3, for every
 * thread), and for 0, which pretends. */
bool seccomp_is_told(uint32_t action);

/* The program with what is told replaced: by SECCOMP_RET_USER_NOTIF it is its telling
 * form.  Allocated. */
struct sock_filter *seccomp_replace_told(const struct seccomp_program *program,
					 uint32_t by);

/* The same as seccomp_install(), with the telling form and its listener in
 * *ret_listener, the caller's and close-on-exec.  Where there can be no listener (one
 * around this process, or a kernel or a filter that has none) it is the program itself
 * and -1. */
int seccomp_install_telling(const struct seccomp_program *program, int *ret_listener,
			    struct err *e);

/* The same for a program that is its telling form, or tells of more (trace.h): that there
 * can be no listener is an error that says why. */
int seccomp_install_listening(const struct seccomp_program *program, int *ret_listener,
			      struct err *e);

/* The same, and whoever has been heard waits for his answer whatever signals come, but for
 * one that ends him, where the kernel has that (5.19). */
int seccomp_install_asking(const struct seccomp_program *program, int *ret_listener,
			   struct err *e);

/* Puts the calling thread under a filter that allows everything and has a listener
 * (seccomp_unotify(2)): a descriptor.  One filter around a process can have one, so
 * under an outer sandbox with its own it is EBUSY.  Needs no_new_privs. */
int seccomp_try_listener(struct err *e);

/* Frees what a program owns; the zero object is allowed. */
void seccomp_done(struct seccomp_program *program);

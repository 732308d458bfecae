/* namespaces -- which namespaces the command gets, and how it gets them.
 *
 * Nothing is unshared that was not asked for, but a user namespace where an ordinary
 * user would have no right to do the rest, and the mount namespace. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct args;
struct err;

struct namespaces {
	uint64_t flags;		       /* CLONE_NEW*, for the child */
	bool makes_user;	       /* CLONE_NEWUSER is one of them */
	uint32_t outer_uid, outer_gid; /* the caller's ids */
	uint32_t uid, gid;	       /* the ids inside */
};

/* Decides, and asks the kernel what the -try options are to do. */
int namespaces_decide(const struct args *a, struct namespaces *ret, struct err *e);

/* Enters --userns and --pidns, before the child is made: its children are in that pid
 * namespace. */
int namespaces_join(const struct args *a, struct err *e);

/* In the child: changes to the ids of --userns, or maps the ids of a new user namespace,
 * unless the caller maps them. */
int namespaces_take_ids(const struct args *a, const struct namespaces *n, struct err *e);

/* Makes a network namespace of this process usable: its loopback device. */
int namespaces_start_loopback(struct err *e);

/* In the child, after all mounts: enters --userns2, and sees to it that there can be no
 * user namespace inside (--disable-userns, --assert-userns-disabled).  `proc` is a
 * descriptor of the host's procfs. */
int namespaces_finish(const struct args *a, const struct namespaces *n, int proc,
		      struct err *e);

/* Explains why the child could not be made; errno is that of clone3(2). */
int namespaces_explain(const struct namespaces *n, struct err *e);

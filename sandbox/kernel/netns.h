/* netns -- a network namespace that exists already, and that a sandbox is to be in.
 *
 * setns(2) takes CAP_SYS_ADMIN in the user namespace that owns the network namespace,
 * and in the caller's own.  Root has both for as long as it is root.  An ordinary user
 * has them in a process that has entered the owner, where the owner is a user namespace
 * of theirs, such as that of rootless podman (user_namespaces(7)).  The sandbox is then
 * made by that process, and its own user namespace is below the owner.
 *
 *	netns_open	checks the file, and whether this user may enter
 *	netns_enter	moves the calling process there
 *	netns_done
 *
 * The file is that of ip-netns(8), /run/netns/NAME, or /proc/PID/ns/net. */
#pragma once
#include <stdbool.h>

struct err;

struct netns {
	int space; /* owned: the network namespace; -1: none */
	int owner; /* owned: the user namespace to be entered before it; -1: none */
};

void netns_init(struct netns *n);
void netns_done(struct netns *n);

/* Opens the namespace; `is_root`: root is to enter it.  ERR_USAGE: the file is no
 * network namespace, or that of the caller itself; ERR_REFUSED: this user may not enter
 * it.  On failure *ret is untouched. */
int netns_open(const char *path, bool is_root, struct netns *ret, struct err *e);

/* Enters the namespace, for good.  With an owner, the process must have one thread and
 * share its working directory with no other (setns(2)). */
int netns_enter(const struct netns *n, struct err *e);

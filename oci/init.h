/* init -- the container's first process, from its clone to the command.
 *
 * It is cloned by `create` and lives in the container's namespaces.  It sets them up in
 * steps, to which `create` agrees through the link, and then waits for `start` at the
 * socket in the container's folder.  The parent of the process is `create`, and, when
 * that has ended, the subreaper above it: conmon, or a shim of containerd's. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroups_order;
struct config;
struct err;
struct filter;
struct link_message;
struct notify;
struct state;

/* Descriptors of the caller's for the command. */
struct preserved {
	uint64_t bits[16]; /* one for each number from 3 on */
	size_t listened;   /* how many of the first are those of LISTEN_FDS */
};

struct init_order {
	struct config *config; /* of this process's own memory after the clone */
	const struct state *state;
	const struct cgroups_order *cgroups;
	const struct filter *filter;
	int link;	      /* the process's end of the pair */
	int console;	      /* connection to the console socket; -1: none */
	int waiting;	      /* the socket at which it waits for `start` */
	bool has_old_keyring; /* --no-new-keyring */
	bool keeps_root;      /* --no-pivot */
	struct notify *notify; /* of notify_prepare() */
	int *detached;	      /* of mounts_detach() */
	mode_t umask;	      /* in the process: that of the caller */
	const struct preserved *preserved;
};

/* In a new process: enters the cgroups of v1 whose descriptors come by the link
 * (cgroups_v1_open_each()), until the verb says to go on. */
int init_enter_cgroups(int link, struct link_message *ret, struct err *e);

_Noreturn void init_run(struct init_order *o);

/* Leaves the preserved descriptors open to the command. */
void init_keep_fds(const struct preserved *kept);

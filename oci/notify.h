/* notify -- carries sd_notify(3) from a container to the service manager of the host.
 *
 * Where the variable NOTIFY_SOCKET is set, `create` shows a folder of the container's state
 * at /run/notify inside, and `start` makes a socket in it, waits for READY=1, and tells the
 * host's socket that, with the container's process as MAINPID. */
#pragma once
#include <stdbool.h>

struct config;
struct err;
struct process;
struct raw_plan;
struct state;

#define NOTIFY_FOLDER "notify"

struct notify {
	bool is_wanted;
	int mount; /* owned: the folder's, for a container in another user namespace, which
		    * may not look into the state; -1: the process makes it itself */
};

/* create: makes the folder, if one is wanted.  *ret has a mount of -1 before. */
int notify_prepare(const struct state *s, const struct config *c, struct notify *ret,
		   struct err *e);
/* In the process: adds the mount of the folder, and sets the variable to the socket inside. */
void notify_show(const struct state *s, const struct notify *n, struct raw_plan *plan,
		 struct process *p);

/* start: opens the socket, before the command runs; -1 without an error: none is asked for. */
int notify_open(const struct state *s, struct err *e);
/* Waits for READY=1, or for the end of the container's process, and hands it on. */
int notify_hand_on(int socket, const struct state *s, struct err *e);

/* registry_watch -- which sandboxes come to be, as they do.
 *
 *	registry_watch_open	what comes from now on is told
 *	registry_watch_list	those that are there already
 *	registry_watch_take	when `fd` is readable
 *	registry_watch_done
 *
 * A sandbox is told of when its socket is there.  Its folder stands in the state folder
 * before that: then it is watched until the socket is moved into it (inotify(7)).  One
 * that is renamed is told of again, and so may be others when too much happens at once:
 * who must know goes by the id. */
#pragma once
#include <stddef.h>

struct err;
struct registry_place;

struct registry_watch {
	int fd;	   /* owned */
	int state; /* owned: the state folder, made if there was none */
	struct registry_place *places; /* owned: folders without a socket yet */
	size_t count;
};

/* On failure there is nothing to release. */
int registry_watch_open(struct registry_watch *w, struct err *e);
void registry_watch_done(struct registry_watch *w);

/* Both call `take` with each name that there is to tell, and do not wait. */
int registry_watch_list(struct registry_watch *w, void (*take)(void *who, const char *name),
			void *who, struct err *e);
int registry_watch_take(struct registry_watch *w, void (*take)(void *who, const char *name),
			void *who, struct err *e);

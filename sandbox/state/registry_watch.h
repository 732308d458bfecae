/* registry_watch -- reports new sandboxes as they appear.
 *
 *	registry_watch_open	sandboxes that appear from now on are reported
 *	registry_watch_list	reports those that are there already
 *	registry_watch_take	when `fd` is readable
 *	registry_watch_done
 *
 * A sandbox is reported when its socket is there.  Its folder is in the state
 * folder before that, and is watched until the socket is moved into it
 * (inotify(7)).  A renamed sandbox is reported again, and so may others be after
 * the kernel has dropped events.  A caller tells by the id whether it knows a
 * sandbox already. */
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

/* Begins to watch the state folder.  On failure there is nothing to release. */
int registry_watch_open(struct registry_watch *w, struct err *e);
void registry_watch_done(struct registry_watch *w);

/* Both functions call `take` with each name to be reported, and do not wait. */
int registry_watch_list(struct registry_watch *w,
			void (*take)(void *context, const char *name), void *context,
			struct err *e);
int registry_watch_take(struct registry_watch *w,
			void (*take)(void *context, const char *name), void *context,
			struct err *e);

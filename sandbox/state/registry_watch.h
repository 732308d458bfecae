/* registry_watch -- reports new sandboxes as they appear.
 *
 *	registry_watch_open	sandboxes that appear from now on are reported
 *	registry_watch_list	reports those that are there already
 *	registry_watch_take	when `fd` is readable
 *	registry_watch_done
 *
 * and registry_watch_name, which tells when one sandbox has given up its name.
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

/* Returns a descriptor, which the caller owns, that becomes readable when the sandbox with
 * this name and id gives up its name: its folder is then moved away.  ERR_NOT_FOUND: it has
 * no such name any more. */
int registry_watch_name(const char *name, const char *id, struct err *e);

#include "sandbox/state/registry_watch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/registry_end.h"
#include "sandbox/state/state_dir.h"

struct registry_place {
	int watch; /* a watch descriptor of inotify's */
	char name[REGISTRY_NAME_MAX + 1];
};

struct teller {
	void (*take)(void *context, const char *name);
	void *context;
};

/* Watches the folder by its descriptor, since its path may lead to another folder by
 * now. */
static int watch_folder(int fd, int folder, uint32_t events)
{
	AUTO_FREE char *path = text_format("/proc/self/fd/%d", folder);

	return inotify_add_watch(fd, path, events | IN_ONLYDIR);
}

static int cannot_watch(const char *what, struct err *e)
{
	(void)err_sys(e, "watch %s", what);
	return err_remedy(
		e, "fs.inotify.max_user_instances and max_user_watches of sysctl(8) "
		   "bound what one user may watch");
}

int registry_watch_open(struct registry_watch *w, struct err *e)
{
	*w = (struct registry_watch){ .fd = -1, .state = state_dir_state(true, e) };
	if (w->state < 0)
		return -1;
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd >= 0 && watch_folder(w->fd, w->state, IN_MOVED_TO) >= 0)
		return 0;
	(void)cannot_watch("for sandboxes that are made", e);
	registry_watch_done(w);
	return -1;
}

void registry_watch_done(struct registry_watch *w)
{
	if (!w)
		return;
	own_close(&w->fd);
	own_close(&w->state);
	free(w->places);
	*w = (struct registry_watch){ .fd = -1, .state = -1 };
}

static struct registry_place *find(struct registry_watch *w, int watch)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->places[i].watch == watch)
			return &w->places[i];
	return NULL;
}

static void forget(struct registry_watch *w, struct registry_place *p)
{
	*p = w->places[--w->count];
}

/* The folder is watched before the socket is looked for, so that the socket is
 * not missed. */
static void on_folder(struct registry_watch *w, const char *name, const struct teller *t)
{
	AUTO_CLOSE int folder = state_dir_folder(w->state, name, NULL);
	int watch = folder < 0 ? -1 : watch_folder(w->fd, folder, IN_MOVED_TO);

	if (watch < 0)
		return; /* the folder is gone again, and so is the sandbox */
	if (faccessat(folder, STATE_DIR_SOCKET, F_OK, 0) == 0) {
		(void)inotify_rm_watch(w->fd, watch);
		t->take(t->context, name);
		return;
	}
	w->places = mem_resize(w->places, w->count + 1, sizeof(*w->places));
	struct registry_place *p = &w->places[w->count++];
	p->watch = watch;
	(void)snprintf(p->name, sizeof(p->name), "%s", name);
}

static void on_file(struct registry_watch *w, struct registry_place *p, const char *name,
		    const struct teller *t)
{
	if (strcmp(name, STATE_DIR_SOCKET) != 0)
		return;
	struct registry_place here = *p;
	forget(w, p);
	(void)inotify_rm_watch(w->fd, here.watch); /* fails if the folder is gone, and
						    * the watch with it */
	t->take(t->context, here.name);
}

static int list(struct registry_watch *w, const struct teller *t, struct err *e)
{
	struct registry_list all;

	if (registry_list(false, &all, e) < 0)
		return -1;
	for (size_t i = 0; i < all.count; i++)
		on_folder(w, all.items[i].name, t);
	registry_list_done(&all);
	return 0;
}

int registry_watch_list(struct registry_watch *w,
			void (*take)(void *context, const char *name), void *context,
			struct err *e)
{
	const struct teller t = { take, context };

	return list(w, &t, e);
}

static int on_event(struct registry_watch *w, const struct inotify_event *x,
		    const struct teller *t, struct err *e)
{
	struct registry_place *p = find(w, x->wd);

	if (x->mask & IN_Q_OVERFLOW)
		return list(w, t, e); /* some events were lost (IN_Q_OVERFLOW) */
	if (p && (x->mask & IN_IGNORED))
		forget(w, p);
	else if (p && x->len > 0)
		on_file(w, p, x->name, t);
	else if (!p && x->len > 0 && registry_check_name(x->name, NULL) == 0)
		on_folder(w, x->name, t);
	return 0;
}

int registry_watch_take(struct registry_watch *w,
			void (*take)(void *context, const char *name), void *context,
			struct err *e)
{
	_Alignas(struct inotify_event) char bytes[4096];
	const struct teller t = { take, context };
	ssize_t n;

	while ((n = read(w->fd, bytes, sizeof(bytes))) > 0)
		for (const char *at = bytes; at < bytes + n;) {
			const struct inotify_event *x =
				(const struct inotify_event *)(const void *)at;
			if (on_event(w, x, &t, e) < 0)
				return -1;
			at += sizeof(*x) + x->len;
		}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return err_sys(e, "watch for sandboxes that are made");
	return 0;
}

/* --- one name ---------------------------------------------------------------- */

int registry_watch_name(const char *name, const char *id, struct err *e)
{
	struct registry_entry r;

	if (registry_open(name, &r, e) < 0)
		return -1;
	const bool is_other = strcmp(r.id, id) != 0;
	AUTO_CLOSE int fd = is_other ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	const int watch = fd < 0 ? -1 : watch_folder(fd, r.folder, IN_MOVE_SELF);
	const int sys = errno;
	registry_done(&r);
	if (is_other)
		return registry_absent(name, e);
	errno = sys;
	return watch < 0 ? cannot_watch("the end of a sandbox", e) : fd_take(&fd);
}

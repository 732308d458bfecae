#include "lib/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/own.h"
#include "lib/call.h"
#include "lib/error.h"
#include "lib/opening.h"
#include "lib/reader.h"
#include "policy/json/json_string.h"

#ifndef HUTCH_VERSION
#define HUTCH_VERSION "0.1.0"
#endif

const char *hutch_version(void)
{
	return HUTCH_VERSION;
}

/* --- whose it is ----------------------------------------------------------- */

/* Makes a page that the kernel clears in a child of fork(2), so that the library
 * notices that it runs in a child.  A counter kept by the host program could be
 * wrong, and a pid may occur again in another namespace. */
static char *new_mark(void)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *mark = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (mark == MAP_FAILED)
		return NULL;
	if (madvise(mark, size, MADV_WIPEONFORK) == 0) { /* MADV_WIPEONFORK exists
							  * since Linux 4.14 */
		mark[0] = 1;
		return mark;
	}
	int sys = errno;
	(void)munmap(mark, size);
	errno = sys;
	return NULL;
}

int handle_enter(struct hutch *h, struct hutch_error *e)
{
	/* The page `mine`, which is cleared in a child of fork(2), is checked before
	 * the lock is taken: another thread of the parent may have held the lock, and
	 * then pthread_mutex_lock() would never return in the child. */
	if (!h->mine[0]) {
		(void)error_set(e, HUTCH_FORKED,
			    "the handle of sandbox '%s' belongs to the process that "
			    "opened it, of which this one is a fork",
			    h->name);
		return error_remedy(e, "open one here with hutch_attach()");
	}
	(void)pthread_mutex_lock(&h->lock); /* locking a plain mutex cannot fail */
	return 0;
}

int handle_leave(struct hutch *h, int rc)
{
	(void)pthread_mutex_unlock(&h->lock);
	return rc;
}

/* --- what is watched ------------------------------------------------------- */

static int watch_in(int set, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

int handle_watch(struct hutch *h, int fd, struct hutch_error *e)
{
	return watch_in(h->io, fd) < 0 ? error_sys(e, "watch sandbox '%s'", h->name) : 0;
}

void handle_rewatch(struct hutch *h, int fd, bool writes)
{
	struct epoll_event event = { .events = EPOLLIN | (writes ? EPOLLOUT : 0u) };

	/* EPOLL_CTL_MOD of a watched descriptor allocates nothing, so it cannot fail. */
	(void)epoll_ctl(h->io, EPOLL_CTL_MOD, fd, &event);
}

void handle_drop(struct hutch *h, int *fd)
{
	/* A forked child may hold the descriptor open; close(2) alone would then
	 * leave it in the epoll set. */
	if (*fd >= 0)
		(void)epoll_ctl(h->io, EPOLL_CTL_DEL, *fd, NULL);
	own_close(fd);
}

/* Makes the epoll descriptor `loop` when it is first asked for: a program without an
 * event loop saves two descriptors. */
static int make_loop(struct hutch *h, struct hutch_error *e)
{
	AUTO_CLOSE int loop = epoll_create1(EPOLL_CLOEXEC);
	AUTO_CLOSE int ready = loop < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (ready < 0 || watch_in(loop, h->io) < 0 || watch_in(loop, ready) < 0)
		return error_sys(e, "make a descriptor to poll for sandbox '%s'",
				 h->name);
	h->loop = fd_take(&loop);
	h->ready = fd_take(&ready);
	queue_show(h);
	writer_flush(h); /* sends the hello now, since a program that only polls makes no
			  * other call that sends it */
	return 0;
}

int hutch_fd(struct hutch *h, struct hutch_error *e)
{
	if (handle_enter(h, e) < 0)
		return -1;
	if (h->loop < 0 && make_loop(h, e) < 0)
		return handle_leave(h, -1);
	return handle_leave(h, h->loop);
}

/* --- what is handed over to it --------------------------------------------- */

int handle_lost(const struct hutch *h, struct hutch_error *e)
{
	errno = EMFILE;
	(void)error_sys(e, "take the connection that came for '%s'", h->name);
	return error_remedy(e, "close some descriptors, or raise the limit (ulimit -n)");
}

/* JSON may write each character of a name as an escape of six characters. */
#define NAME_WRITTEN_MAX (6 * REGISTRY_NAME_MAX + 2)

bool handle_rename(struct hutch *h, struct json_view name)
{
	char text[NAME_WRITTEN_MAX];
	size_t at = 1;

	if (json_view_type(name) != JSON_STRING || name.len > NAME_WRITTEN_MAX)
		return false;
	(void)json_decode_all(name.text, name.len, &at, text);
	if (!registry_is_name(text))
		return false;
	memcpy(h->name, text, strlen(text) + 1); /* the name fits: registry_is_name() has
						  * checked its length */
	return true;
}

/* --- begin and end --------------------------------------------------------- */

void handle_open(struct hutch *h)
{
	struct packet *p = h->opened;

	h->stage = OPEN;
	h->opened = NULL;
	handle_drop(h, &h->timer);
	queue_put(h, p);
	writer_flush(h);
}

void handle_end(struct hutch *h)
{
	struct packet *p = h->end;

	if (h->stage == OVER)
		return;
	h->stage = OVER;
	h->end = NULL;
	handle_drop(h, &h->socket);
	handle_drop(h, &h->timer);
	own_close(&h->handed);
	if (h->helper.ended >= 0)
		(void)epoll_ctl(h->io, EPOLL_CTL_DEL, h->helper.ended, NULL);
	helper_kill(&h->helper);
	writer_done(h);
	call_fail_all(h, &h->why);
	p->m.error = h->why;
	queue_put(h, p);
	for (const struct waiter *w = h->waiters; w; w = w->next)
		wake_one(w);
}

static void free_packets(struct packet *p)
{
	struct packet *next;

	for (; p; p = next) {
		next = p->next;
		packet_free(p);
	}
}

static void free_handle(struct hutch *h)
{
	writer_done(h);
	reader_done(h);
	free_packets(h->calls);
	free_packets(h->queue);
	packet_free(h->end);
	packet_free(h->opened);
	own_close(&h->notes);
	own_close(&h->socket);
	own_close(&h->handed);
	own_close(&h->timer);
	own_close(&h->ready);
	own_close(&h->loop);
	own_close(&h->io);
	if (h->mine)
		(void)munmap(h->mine, (size_t)sysconf(_SC_PAGESIZE));
	free(h->program);
	free(h);
}

void hutch_close(struct hutch *h)
{
	if (!h)
		return;
	/* In a child of fork(2), the helper belongs to the parent, and any thread may
	 * have held the lock: neither is touched. */
	if (h->mine && !h->mine[0]) {
		helper_leave(&h->helper);
	} else {
		helper_kill(&h->helper);
		(void)pthread_mutex_destroy(&h->lock);
	}
	free_handle(h);
}

static int fill(struct hutch *h, const struct hutch_how *how, struct hutch_error *e)
{
	h->end = packet_new(HUTCH_ENDED);
	h->opened = packet_new(HUTCH_READY);
	h->program = strdup(how->program ? how->program : "hutch");
	if (!h->end || !h->opened || !h->program)
		return error_memory(e);
	h->mine = new_mark();
	h->io = epoll_create1(EPOLL_CLOEXEC);
	if (!h->mine || h->io < 0)
		return error_sys(e, "make a handle for sandbox '%s'", h->name);
	/* The copy is made with a number above those that dup2(2) uses in the helper,
	 * so that it is not overwritten there. */
	if (how->notes > 0 && (h->notes = fcntl(how->notes, F_DUPFD_CLOEXEC, 10)) < 0)
		return error_sys(e, "copy descriptor %d, which notes go to", how->notes);
	return 0;
}

/* Copies a caller's struct, which has fewer members if the caller was built with an
 * older version of hutch.h; the others are zero. */
static struct hutch_how whole(const struct hutch_how *how)
{
	struct hutch_how all = { 0 };

	if (how)
		memcpy(&all, how, how->size < sizeof(all) ? how->size : sizeof(all));
	return all;
}

struct hutch *handle_new(const char *name, const struct hutch_how *how,
			 struct hutch_error *e)
{
	if (!name || !registry_is_name(name)) {
		(void)error_name(e, name);
		return NULL;
	}
	struct hutch *h = calloc(1, sizeof(*h));
	if (!h) {
		(void)error_memory(e);
		return NULL;
	}
	memcpy(h->name, name, strlen(name) + 1); /* the name fits: the caller has checked
						  * its length */
	h->socket = h->timer = h->io = h->loop = h->ready = h->notes = h->handed = -1;
	h->last_id = HELLO;
	helper_init(&h->helper);
	(void)pthread_mutex_init(&h->lock, NULL);
	if (fill(h, how, e) == 0)
		return h;
	hutch_close(h);
	return NULL;
}

int hutch_attach(const char *name, const struct hutch_how *how, struct hutch **ret,
		 struct hutch_error *e)
{
	const struct hutch_how all = whole(how);
	struct hutch *h = handle_new(name, &all, e);

	if (!h)
		return -1;
	if (opening_find(h, e) < 0) {
		hutch_close(h);
		return -1;
	}
	*ret = h;
	return 0;
}

int hutch_adopt(const char *name, int fd, const struct hutch_how *how, struct hutch **ret,
		struct hutch_error *e)
{
	const struct hutch_how all = whole(how);
	struct hutch *h = handle_new(name, &all, e);

	if (!h)
		return -1;
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || handle_watch(h, fd, e) < 0) {
		(void)error_sys(e, "use descriptor %d for sandbox '%s'", fd, name);
		hutch_close(h);
		return -1;
	}
	h->socket = fd;
	handle_open(h);
	*ret = h;
	return 0;
}

int hutch_take(const char *pool, const struct hutch_how *how, struct hutch **ret,
	       struct hutch_error *e)
{
	const struct hutch_how all = whole(how);
	struct hutch *h = handle_new(pool, &all, e);

	if (!h)
		return -1;
	if (opening_take(h, e) < 0) {
		hutch_close(h);
		return -1;
	}
	*ret = h;
	return 0;
}

/* Returns the index of the name: the last word, but with --main the last one before the
 * words of the main process. */
static size_t name_at(const char *const *args, size_t count)
{
	bool has_main = false;

	for (size_t i = 1; i < count; i++) {
		has_main = has_main || !strcmp(args[i - 1], "--main");
		if (has_main && !strcmp(args[i], "--"))
			return i - 1;
	}
	return count - 1;
}

int hutch_create(const char *const *args, const struct hutch_how *how, struct hutch **ret,
		 struct hutch_error *e)
{
	const struct hutch_how all = whole(how);
	size_t count = 0;

	while (args && args[count])
		count++;
	if (!count)
		return error_set(e, HUTCH_INVALID,
			     "no name was given for the sandbox, which comes last");
	struct hutch *h = handle_new(args[name_at(args, count)], &all, e);
	if (!h)
		return -1;
	if (opening_create(h, all.verb ? all.verb : "create", args, e) < 0) {
		hutch_close(h);
		return -1;
	}
	*ret = h;
	return 0;
}

const char *hutch_name(const struct hutch *h)
{
	return h->name;
}

#include "sandbox/state/pools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/state/registry_end.h"
#include "sandbox/state/state_dir.h"
#include "store/rm_tree.h"

int pools_check_name(const char *name, struct err *e)
{
	if (!registry_is_name(name))
		return registry_refuse_name(name, "pool", POOLS_NAME_MAX, e);
	if (strlen(name) <= POOLS_NAME_MAX)
		return 0;
	return err_set(e, ERR_USAGE,
		       "'%s' is too long for the name of a pool: its sandboxes are "
		       "called that and %d characters more, so %d are the most",
		       name, POOLS_DIGITS + 1, POOLS_NAME_MAX);
}

void pools_init(struct pools_place *p)
{
	*p = (struct pools_place){
		.state = -1, .pools = -1, .folder = -1, .listener = -1
	};
}

void pools_done(struct pools_place *p)
{
	own_close(&p->listener);
	own_close(&p->folder);
	own_close(&p->pools);
	own_close(&p->state);
	pools_init(p);
}

/* --- one that was left over -------------------------------------------------- */

/* Removes the folder of a pool that is dead.  Returns 1: it is removed now.  0: the
 * pool is alive, or not there.  -1: the folder cannot be removed. */
static int tidy(int state, int pools, const char *name, struct err *e)
{
	AUTO_FREE char *place = text_format(POOLS_FOLDER "/%s", name);
	char id[REGISTRY_ID_LEN + 1];
	AUTO_CLOSE int folder = state_dir_folder(pools, name, NULL);

	if (folder < 0 || state_dir_lock(folder, LOCK_EX | LOCK_NB) < 0)
		return 0;
	/* Another process that had the lock before may have removed the
	 * folder. */
	if (state_dir_is_at(pools, name, folder) &&
	    hex_random(id, REGISTRY_ID_LEN, NULL) == 0)
		registry_discard(state, pools, name, id);
	if (state_dir_is_at(pools, name, folder))
		return state_dir_in_the_way(place, "cannot be removed", e);
	return 1;
}

/* --- made ---------------------------------------------------------------------- */

/* Names the socket through the folder's descriptor, since the folder's path may be
 * longer than a socket address can be (unix(7)). */
static struct sockaddr_un address_in(int folder)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "/proc/self/fd/%d/" POOLS_SOCKET, folder);
	return address;
}

static int listen_in(int folder, struct err *e)
{
	const struct sockaddr_un address = address_in(folder);
	AUTO_CLOSE int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* bind(2) gives the file the mode that the socket has. */
	if (fd < 0 || fchmod(fd, 0600) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return err_sys(e, "make the pool's socket");
	return fd_take(&fd);
}

/* Makes and locks a folder.  Returns 1: made and locked.  0: try again, since the id
 * was taken, or another process removed the folder before it was locked. */
static int try_folder(struct pools_place *p, int tmp, char id[REGISTRY_ID_LEN + 1],
		      struct err *e)
{
	own_close(&p->folder);
	if (hex_random(id, REGISTRY_ID_LEN, e) < 0)
		return -1;
	if (mkdirat(tmp, id, 0700) < 0)
		return errno == EEXIST ? 0
				       : err_sys(e, "make a folder in the state folder");
	p->folder = openat(tmp, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (p->folder < 0)
		return errno == ENOENT ? 0
				       : err_sys(e, "open a folder in the state folder");
	if (state_dir_lock(p->folder, LOCK_EX | LOCK_NB) == 0)
		return state_dir_is_at(tmp, id, p->folder);
	return errno == EWOULDBLOCK ? 0 : err_sys(e, "lock a folder in the state folder");
}

static int take_name(struct pools_place *p, int tmp, const char *id, struct err *e)
{
	while (sys_renameat2(tmp, id, p->pools, p->name, KERNEL_RENAME_NOREPLACE) < 0) {
		if (errno != EEXIST)
			return err_sys(e, "put pool '%s' in the state folder", p->name);
		const int tidied = tidy(p->state, p->pools, p->name, e);
		if (tidied < 0)
			return -1;
		if (tidied > 0)
			continue;
		(void)err_set(e, ERR_EXISTS, "a pool named '%s' is there already",
			      p->name);
		return err_remedy(
			e, "choose another name, or end that one: hutch pool rm %s",
			p->name);
	}
	return 0;
}

static int make(struct pools_place *p, struct err *e)
{
	char id[REGISTRY_ID_LEN + 1];
	int made = 0;

	p->state = state_dir_state(true, e);
	p->pools = p->state < 0 ? -1 : state_dir_made(p->state, POOLS_FOLDER, e);
	AUTO_CLOSE int tmp = p->pools < 0 ? -1
					  : state_dir_made(p->state, STATE_DIR_TMP, e);
	if (tmp < 0)
		return -1;
	while (!made)
		made = try_folder(p, tmp, id, e);
	if (made < 0)
		return -1;
	p->listener = listen_in(p->folder, e);
	if (p->listener >= 0 && take_name(p, tmp, id, e) == 0)
		return 0;
	rm_tree_remove(tmp, id);
	return -1;
}

int pools_create(const char *name, struct pools_place *ret, struct err *e)
{
	pools_init(ret);
	if (pools_check_name(name, e) < 0)
		return -1;
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	if (make(ret, e) == 0)
		return 0;
	pools_done(ret);
	return e && e->kind == ERR_EXISTS ? -1 : err_in(e, "make pool '%s'", name);
}

void pools_remove(struct pools_place *p)
{
	char id[REGISTRY_ID_LEN + 1];

	own_close(&p->listener);
	if (p->folder >= 0 && state_dir_is_at(p->pools, p->name, p->folder) &&
	    hex_random(id, REGISTRY_ID_LEN, NULL) == 0)
		registry_discard(p->state, p->pools, p->name, id);
	pools_done(p);
}

/* --- looked for ---------------------------------------------------------------- */

static int absent(const char *name, struct err *e)
{
	(void)err_set(e, ERR_NOT_FOUND, "no pool is named '%s'", name);
	return err_remedy(
		e,
		"hutch pool ls lists those that are there; hutch pool create %s makes "
		"one",
		name);
}

/* Opens the folder .pools; -1 with errno ENOENT in *e: no pool was ever
 * made. */
static int open_pools(int *ret_state, struct err *e)
{
	*ret_state = state_dir_state(false, e);
	return *ret_state < 0 ? -1 : state_dir_folder(*ret_state, POOLS_FOLDER, e);
}

static int connect_in(int folder, int wait_ms)
{
	const struct sockaddr_un address = address_in(folder);
	const int left = wait_ms > 0 ? wait_ms : 1; /* a time-out of 0 would mean no
						     * time-out */
	const struct timeval none = { 0 }, patience = { .tv_sec = left / 1000,
							.tv_usec = left % 1000 * 1000 };
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* SO_SNDTIMEO bounds connect(2) too, which waits for room in the
	 * queue. */
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none)) < 0)
		return -1;
	return fd_take(&fd);
}

int pools_connect(const char *name, int wait_ms, struct err *e)
{
	AUTO_CLOSE int state = -1;
	struct err why = { 0 };

	if (pools_check_name(name, e) < 0)
		return -1;
	AUTO_CLOSE int pools = open_pools(&state, &why);
	AUTO_CLOSE int folder = pools < 0 ? -1 : state_dir_folder(pools, name, &why);
	if (folder < 0 && why.sys == ENOENT)
		return absent(name, e);
	if (folder < 0 && e)
		*e = why;
	if (folder < 0)
		return -1;
	int fd = connect_in(folder, wait_ms);
	if (fd >= 0)
		return fd;
	int sys = errno;
	/* A keeper (the process hutch-pool) closes its listener before it gives up
	 * the name, so a refused connection means that the pool is gone. */
	if (tidy(state, pools, name, NULL) != 0 || sys == ENOENT || sys == ECONNREFUSED)
		return absent(name, e);
	errno = sys;
	(void)err_sys(e, "connect to pool '%s'", name);
	return err_remedy(e, "try again, or end its keeper, a process called hutch-pool");
}

bool pools_has(const char *name)
{
	AUTO_CLOSE int state = -1;

	if (!registry_is_name(name))
		return false;
	AUTO_CLOSE int pools = open_pools(&state, NULL);
	AUTO_CLOSE int folder = pools < 0 ? -1 : state_dir_folder(pools, name, NULL);
	return folder >= 0 && state_dir_is_alive(folder);
}

struct found {
	int state, pools;
	struct list *names;
};

static void look_at(void *arg, const char *name)
{
	const struct found *f = arg;
	AUTO_CLOSE int folder = -1;

	if (!registry_is_name(name))
		return;
	folder = state_dir_folder(f->pools, name, NULL);
	if (folder >= 0 &&
	    (state_dir_is_alive(folder) || tidy(f->state, f->pools, name, NULL) == 0))
		list_add(f->names, name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int pools_list(struct list *ret, struct err *e)
{
	AUTO_CLOSE int state = -1;
	struct err why = { 0 };
	AUTO_CLOSE int pools = open_pools(&state, &why);
	struct found f = { .pools = pools, .names = ret };

	f.state = state;
	*ret = (struct list){ 0 };
	if (pools < 0 && why.sys == ENOENT)
		return 0;
	if (pools < 0 && e)
		*e = why;
	if (pools < 0 || state_dir_each(pools, look_at, &f, e) < 0)
		return -1;
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), by_name);
	return 0;
}

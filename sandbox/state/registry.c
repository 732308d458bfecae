#include "sandbox/state/registry.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "sandbox/state/holder.h"
#include "sandbox/state/registry_end.h"
#include "sandbox/state/state_dir.h"
#include "store/rm_tree.h"

/* How many bytes of an invalid name an error quotes. */
#define QUOTED_MAX 40

static const char *const status_names[] = {
	[REGISTRY_BUILDING] = "building", [REGISTRY_STARTING] = "starting",
	[REGISTRY_STARTED] = "started",	  [REGISTRY_READY] = "ready",
	[REGISTRY_PAUSED] = "paused",	  [REGISTRY_STOPPING] = "stopping",
	[REGISTRY_ENDED] = "ended",	  [REGISTRY_ERROR] = "error",
	[REGISTRY_DISCONNECTED] = "disconnected",
};
_Static_assert(ARRAY_LEN(status_names) == REGISTRY_STATUS_COUNT, "a status has no name");

const char *registry_status_name(enum registry_status status)
{
	return (unsigned)status < REGISTRY_STATUS_COUNT ? status_names[status] : "error";
}

/* Suggests a name that is like the refused one; an empty name is like none. */
static int suggest_name(const char *name, unsigned max, struct err *e)
{
	char like[REGISTRY_NAME_MAX + 1];
	size_t len = 0;

	for (; *name && len < max && len < REGISTRY_NAME_MAX; name++)
		if (isalnum((unsigned char)*name) || (len && strchr("_.-", *name)))
			like[len++] = *name;
		else if (len && like[len - 1] != '-' && !((unsigned char)*name & 0x80))
			like[len++] = '-'; /* a byte of UTF-8 is left out */
	while (len && like[len - 1] == '-')
		len--;
	return len ? err_remedy(e, "'%.*s' would be one", (int)len, like) : -1;
}

int registry_refuse_name(const char *name, const char *of, unsigned max, struct err *e)
{
	/* The name is not cut in the middle of a UTF-8 character. */
	size_t cut = strnlen(name, QUOTED_MAX);
	while (name[cut] && cut && ((unsigned char)name[cut] & 0xc0) == 0x80)
		cut--;
	AUTO_FREE char *start = text_format("%.*s", (int)cut, name);
	AUTO_FREE char *shown = term_escape_line(start);
	(void)err_set(e, ERR_USAGE,
		      "'%s%s' is no name of a %s: 1 to %u of A-Z a-z 0-9 _ . -, the "
		      "first a letter or a digit",
		      shown, name[cut] ? "..." : "", of, max);
	return suggest_name(name, max, e);
}

int registry_check_name(const char *name, struct err *e)
{
	return registry_is_name(name) ? 0 : registry_refuse_name(name, "sandbox",
								 REGISTRY_NAME_MAX, e);
}

void registry_init(struct registry_entry *r)
{
	*r = (struct registry_entry){
		.state = -1, .folder = -1, .alive = -1, .lock = -1
	};
}

void registry_done(struct registry_entry *r)
{
	if (!r || !r->name[0])
		return;
	own_close(&r->alive);
	own_close(&r->lock);
	own_close(&r->folder);
	own_close(&r->state);
	registry_init(r);
}

/* --- made, out of sight ---------------------------------------------------- */

struct sweep {
	int state, tmp;
};

/* Removes a folder of .tmp that no process locks: a hutch that was killed has
 * left it. */
static void sweep_one(void *arg, const char *name)
{
	const struct sweep *s = arg;
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int old = openat(s->tmp, name, flags);

	/* Between its opening and its locking, the folder may have been moved and
	 * become a sandbox's. */
	if (old >= 0 && state_dir_lock(old, LOCK_EX | LOCK_NB) == 0 &&
	    state_dir_is_at(s->tmp, name, old))
		rm_tree_remove(s->tmp, name);
}

/* Makes and locks a folder in .tmp.  Returns 1: made and locked; 0: try again,
 * since another process has the id, or removed the folder before it was
 * locked. */
static int try_folder(struct registry_entry *r, const char *id, int tmp, struct err *e)
{
	if (id)
		(void)snprintf(r->id, sizeof(r->id), "%s", id);
	else if (hex_random(r->id, REGISTRY_ID_LEN, e) < 0)
		return -1;
	const bool is_made = mkdirat(tmp, r->id, 0700) == 0;
	if (!is_made && errno != EEXIST)
		return err_sys(e, "make a folder in the state folder");
	if (!is_made)
		return !id ? 0
			   : err_set(e, ERR_BUSY,
				     "sandbox '%s' is being started or removed", r->name);
	r->alive = openat(tmp, r->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->alive < 0)
		return errno == ENOENT ? 0
				       : err_sys(e, "open a folder in the state folder");
	if (state_dir_lock(r->alive, LOCK_EX | LOCK_NB) == 0)
		return state_dir_is_at(tmp, r->id, r->alive);
	return errno == EWOULDBLOCK ? 0 : err_sys(e, "lock a folder in the state folder");
}

static int make_folder(struct registry_entry *r, const char *id, int tmp, struct err *e)
{
	int made = 0;

	while (!made) {
		own_close(&r->alive);
		made = try_folder(r, id, tmp, e);
	}
	return made < 0 ? -1 : 0;
}

static int put_mark(const struct registry_entry *r, const char *name, struct err *e)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(r->folder, name, flags, 0600);

	return fd < 0 ? err_sys(e, "write %s of a sandbox", name) : 0;
}

static int fill(struct registry_entry *r, struct err *e)
{
	/* The folder is opened a second time: the janitor gets a copy of this
	 * descriptor, and not of r->alive, which holds a lock that the janitor must
	 * not have. */
	r->folder = openat(r->alive, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->folder < 0)
		return err_sys(e, "open a sandbox's folder");
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
	r->lock = openat(r->folder, STATE_DIR_LOCK, flags, 0600);
	if (r->lock < 0 || io_write_all(r->lock, "\n", 1) < 0)
		return err_sys(e, "make a sandbox's lock");
	if (state_dir_lock(r->lock, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, "lock a sandbox");
	holder_become(r->lock, HOLDER_SUPERVISOR);
	if (symlinkat(r->id, r->folder, STATE_DIR_ID) < 0 ||
	    mkdirat(r->folder, STATE_DIR_LOG, 0700) < 0)
		return err_sys(e, "make a sandbox's files");
	return 0;
}

/* Moves the folder to its place in the state folder, under the sandbox's name. */
static int take_name(const struct registry_entry *r, int from, const char *old,
		     const char *name, struct err *e)
{
	while (sys_renameat2(from, old, r->state, name, KERNEL_RENAME_NOREPLACE) < 0) {
		if (errno != EEXIST)
			return err_sys(e, "put sandbox '%s' in the state folder", name);
		if (registry_settle(r->state, name, true, e) < 0)
			return -1;
	}
	return 0;
}

/* The settings with which an entry begins. */
struct birth {
	const char *id; /* NULL: a new id is generated */
	bool is_waiting;
};

static int make(struct registry_entry *r, const char *name, const struct birth *b,
		struct err *e)
{
	r->state = state_dir_state(true, e);
	if (r->state < 0)
		return -1;
	/* .ended is made now, so that it exists at the sandbox's end, when the disk
	 * may be full. */
	AUTO_CLOSE int ended = state_dir_made(r->state, STATE_DIR_ENDED, e);
	AUTO_CLOSE int tmp = ended < 0 ? -1 : state_dir_made(r->state, STATE_DIR_TMP, e);
	if (tmp < 0)
		return -1;
	struct sweep s = { r->state, tmp };
	if (state_dir_each(tmp, sweep_one, &s, e) < 0)
		return -1;
	if (make_folder(r, b->id, tmp, e) < 0)
		return -1;
	if (fill(r, e) == 0 &&
	    (!b->is_waiting || put_mark(r, STATE_DIR_WAITING, e) == 0) &&
	    take_name(r, tmp, r->id, name, e) == 0)
		return 0;
	rm_tree_remove(tmp, r->id);
	return -1;
}

static int not_made(const char *name, struct err *e)
{
	if (!e || e->kind == ERR_EXISTS || e->kind == ERR_BUSY)
		return -1;
	if (e->sys == ENOSPC || e->sys == EDQUOT)
		(void)err_remedy(e, "make room there, or set XDG_RUNTIME_DIR to a folder "
				    "that has some");
	return err_in(e, "make sandbox '%s'", name);
}

static int create(const char *name, const struct birth *b, struct registry_entry *r,
		  struct err *e)
{
	if (registry_check_name(name, e) < 0)
		return -1;
	registry_init(r);
	(void)snprintf(r->name, sizeof(r->name), "%s", name);
	if (make(r, name, b, e) == 0)
		return 0;
	registry_done(r);
	return not_made(name, e);
}

int registry_create(const char *name, struct registry_entry *r, struct err *e)
{
	return create(name, &(struct birth){ 0 }, r, e);
}

int registry_create_again(const char *name, const char *id, struct registry_entry *r,
			  struct err *e)
{
	return create(name, &(struct birth){ .id = id }, r, e);
}

int registry_create_waiting(const char *name, struct registry_entry *r, struct err *e)
{
	return create(name, &(struct birth){ .is_waiting = true }, r, e);
}

/* --- changed --------------------------------------------------------------- */

int registry_leave_nothing(const struct registry_entry *r, struct err *e)
{
	return put_mark(r, STATE_DIR_RM, e);
}

int registry_set_info(const struct registry_entry *r, const char *json, struct err *e)
{
	return state_dir_put(r->folder, STATE_DIR_INFO, json, e);
}

int registry_set_status(const struct registry_entry *r, enum registry_status status,
			struct err *e)
{
	return state_dir_put(r->folder, STATE_DIR_STATUS, registry_status_name(status),
			     e);
}

void registry_unset_waiting(const struct registry_entry *r)
{
	(void)unlinkat(r->folder, STATE_DIR_WAITING, 0); /* the file is there */
}

int registry_rename(struct registry_entry *r, const char *name, struct err *e)
{
	if (registry_check_name(name, e) < 0)
		return -1;
	if (take_name(r, r->state, r->name, name, e) < 0)
		return err_in(e, "rename sandbox '%s'", r->name);
	(void)snprintf(r->name, sizeof(r->name), "%s", name);
	return 0;
}

/* The socket is named through the folder's descriptor: the state folder's own
 * path may be longer than an address can be (unix(7)). */
static int listen_at(const struct registry_entry *r, const char *file, struct err *e)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
		       r->folder, file);
	/* bind(2) gives the file the mode that the socket has. */
	if (fd < 0 || fchmod(fd, 0600) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return err_sys(e, "make the control socket of sandbox '%s'", r->name);
	return fd_take(&fd);
}

int registry_listen(const struct registry_entry *r, struct err *e)
{
	AUTO_CLOSE int fd = listen_at(r, "." STATE_DIR_SOCKET, e);

	if (fd < 0)
		return -1;
	if (renameat(r->folder, "." STATE_DIR_SOCKET, r->folder, STATE_DIR_SOCKET) < 0)
		return err_sys(e, "make the control socket of sandbox '%s'", r->name);
	return fd_take(&fd);
}

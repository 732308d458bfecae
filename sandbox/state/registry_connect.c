/* The ways to the processes of a sandbox: its control socket, and the holders of its lock. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/state/holder.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/registry_end.h"
#include "sandbox/state/registry_look.h"
#include "sandbox/state/state_dir.h"

#define CONNECT_SECONDS 10

/* Sets how long a send or connect may wait; 0 seconds: without limit. */
static int set_patience(int fd, int seconds)
{
	const struct timeval time = { .tv_sec = seconds };

	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

static int connect_by(int fd, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return connect(fd, (const struct sockaddr *)&address, sizeof(address));
}

/* Connects to the socket in the folder, whose own path may be longer than an address.  A
 * path through /proc needs no change of the working directory, which may be impossible,
 * but the kernel then makes and removes three files of /proc. */
static int connect_in(int fd, int folder)
{
	AUTO_CLOSE int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char path[sizeof("/proc/self/fd//" STATE_DIR_SOCKET) + 10];

	if (before < 0 || fchdir(folder) < 0) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/" STATE_DIR_SOCKET,
			       folder);
		return connect_by(fd, path);
	}
	const int connected = connect_by(fd, STATE_DIR_SOCKET);
	const int sys = errno;
	if (fchdir(before) < 0)
		return -1;
	errno = sys;
	return connected;
}

static int connect_at(int folder)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* SO_SNDTIMEO bounds connect(2) too, which waits for room in the
	 * queue. */
	if (fd < 0 || set_patience(fd, CONNECT_SECONDS) < 0 ||
	    connect_in(fd, folder) < 0 || set_patience(fd, 0) < 0)
		return -1;
	return fd_take(&fd);
}

/* Returns whether the sandbox has ended.  Its supervisor writes the record, then removes the
 * socket, and lives on until its clients have read the rest. */
static bool has_ended(int folder)
{
	AUTO_CLOSE int lock = state_dir_file(folder, NULL);

	return (lock >= 0 && registry_has_record(lock)) || !state_dir_is_alive(folder);
}

static int not_connected(const char *name, int folder, struct err *e)
{
	int sys = errno;

	if (has_ended(folder))
		return registry_absent(name, e);
	errno = sys;
	(void)err_sys(e, "connect to sandbox '%s', which is %s", name,
		      registry_status_name(registry_read_status(folder)));
	if (e && sys == EAGAIN)
		(void)err_set(e, ERR_SYSTEM,
			      "sandbox '%s' does not answer: its queue of "
			      "connections is full",
			      name);
	else if (e)
		e->kind = ERR_SYSTEM; /* the sandbox exists; its socket does not exist
				       * yet, or not any more */
	return err_remedy(e, "try again, or end it: hutch rm -f %s", name);
}

int registry_connect(const char *name, struct err *e)
{
	struct registry_entry r;

	if (registry_open(name, &r, e) < 0)
		return -1;
	int fd = connect_at(r.folder);
	if (fd < 0)
		(void)not_connected(name, r.folder, e);
	registry_done(&r);
	return fd;
}

static int open_holder(const struct registry_entry *r, enum holder as, struct err *e)
{
	AUTO_CLOSE int lock = state_dir_file(r->folder, NULL);

	return lock < 0 ? err_sys(e, "open the lock of sandbox '%s'", r->name)
			: holder_open(lock, as, e);
}

int registry_supervisor(const char *name, const char *id, struct err *e)
{
	struct registry_entry r;

	if (registry_open(name, &r, e) < 0)
		return -1;
	const bool is_other = strcmp(r.id, id) != 0;
	const int pidfd = is_other ? -1 : open_holder(&r, HOLDER_SUPERVISOR, e);
	registry_done(&r);
	if (is_other)
		return registry_absent(name, e);
	return pidfd < 0 ? err_in(e, "find the supervisor of sandbox '%s'", name) : pidfd;
}

int registry_janitor(const char *name, struct err *e)
{
	struct registry_entry r;

	if (registry_find_folder(name, &r, e) < 0)
		return -1;
	const int pidfd = open_holder(&r, HOLDER_JANITOR, e);
	registry_done(&r);
	return pidfd < 0 ? err_in(e, "find the janitor of sandbox '%s'", name) : pidfd;
}

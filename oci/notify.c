#include "oci/notify.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/config.h"
#include "oci/process.h"
#include "oci/state.h"
#include "sandbox/raw/raw_mounts.h"
#include "sandbox/raw/raw_plan.h"

#define INSIDE	    "/run/notify"
#define SOCKET_NAME "notify.sock"
#define MESSAGE_MAX 4096

static const char *wanted(void)
{
	const char *path = getenv("NOTIFY_SOCKET");

	return path && *path ? path : NULL;
}

/* Files that a process inside made in the folder would be on the host, and keep the folder from
 * being removed; connect(2) to the socket works all the same. */
static void fill(const struct state *s, struct raw_step *step)
{
	step->source = text_format("%s/" NOTIFY_FOLDER, s->path);
	step->flags.set = MOUNT_ATTR_RDONLY;
}

/* Returns -1 if this process may clone no mounts. */
static int detach(const struct state *s)
{
	struct err ignored; /* the process then tells what is wrong */
	AUTO_FREE char *target = text_copy(INSIDE);
	struct raw_step step = {
		.kind = RAW_BIND, .fd = -1, .userns = -1, .target = target
	};

	fill(s, &step);
	AUTO_FREE char *source = step.source;
	return raw_mounts_detach(&step, &ignored);
}

int notify_prepare(const struct state *s, const struct config *c, struct notify *ret,
		   struct err *e)
{
	ret->is_wanted = wanted() != NULL;
	if (!ret->is_wanted)
		return 0;
	/* The container's user may be another one. */
	if (mkdirat(s->folder, NOTIFY_FOLDER, 0755) ||
	    fchmodat(s->folder, NOTIFY_FOLDER, 0755, 0))
		return err_sys(e, "make %s/" NOTIFY_FOLDER, s->path);
	if (c->spaces[SPACE_USER].is_listed)
		ret->mount = detach(s);
	return 0;
}

void notify_show(const struct state *s, const struct notify *n, struct raw_plan *plan,
		 struct process *p)
{
	struct raw_step *step = raw_plan_add(plan, RAW_BIND, INSIDE);

	fill(s, step);
	step->from = "NOTIFY_SOCKET";
	if (n->mount >= 0) {
		step->fd = fcntl(n->mount, F_DUPFD_CLOEXEC, 0);
		step->is_detached = true;
	}
	list_set_env(&p->env, "NOTIFY_SOCKET=" INSIDE "/" SOCKET_NAME);
}

int notify_open(const struct state *s, struct err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (!wanted() || faccessat(s->folder, NOTIFY_FOLDER, F_OK, 0))
		return -1;
	(void)snprintf(at.sun_path, sizeof(at.sun_path),
		       "/proc/self/fd/%d/" NOTIFY_FOLDER "/" SOCKET_NAME,
		       s->folder); /* fits */
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    chmod(at.sun_path, 0777))
		return err_sys(e, "make the socket for sd_notify(3)");
	return fd_take(&fd);
}

/* Tells whether a message of the container's has the line READY=1. */
static bool is_ready(char *text)
{
	char *rest = text;

	for (char *line; (line = strsep(&rest, "\n"));)
		if (!strcmp(line, "READY=1"))
			return true;
	return false;
}

static int tell_host(const struct state *s, struct err *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = wanted();
	const size_t len = strlen(path);

	if (len >= sizeof(to.sun_path))
		return err_set(e, ERR_USAGE, "NOTIFY_SOCKET: the path is too long");
	memcpy(to.sun_path, path, len);
	if (*path == '@')
		to.sun_path[0] = '\0'; /* an abstract address, unix(7) */
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	AUTO_FREE char *text = text_format("READY=1\nMAINPID=%d", (int)s->pid);
	return fd < 0 || sendto(fd, text, strlen(text), MSG_NOSIGNAL,
				(struct sockaddr *)&to,
				(socklen_t)(offsetof(struct sockaddr_un, sun_path) +
					    len)) < 0
		       ? err_sys(e, "tell NOTIFY_SOCKET %s", path)
		       : 0;
}

int notify_hand_on(int socket, const struct state *s, struct err *e)
{
	AUTO_CLOSE int process = sys_pidfd_open(s->pid, 0);

	if (process < 0)
		return 0; /* the container has ended already */
	for (;;) {
		struct pollfd p[] = { { .fd = socket, .events = POLLIN },
				      { .fd = process, .events = POLLIN } };
		char text[MESSAGE_MAX + 1];
		if (poll(p, ARRAY_LEN(p), -1) < 0 && errno != EINTR)
			return err_sys(e, "wait for READY=1");
		const ssize_t n =
			p[0].revents ? recv(socket, text, MESSAGE_MAX, MSG_DONTWAIT) : -1;
		text[n > 0 ? n : 0] = '\0';
		if (n > 0 && is_ready(text))
			return tell_host(s, e);
		if (p[1].revents && n < 0)
			return 0;
	}
}

/* Theory of operation.  A single folder is returned as it is.  Several folders need
 * an overlay, which can only be mounted in a mount namespace of one's own: a child
 * makes such a namespace, mounts the overlay, sends a descriptor of its root to the
 * caller, and ends.  The mount exists until the last descriptor of it is closed. */
#include "sandbox/root/merged_view.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "sandbox/kernel/diagnose.h"
#include "sandbox/kernel/idmap.h"
#include "sandbox/root/overlay.h"

static int make_namespaces(struct err *e)
{
	const int namespaces = CLONE_NEWUSER | CLONE_NEWNS;
	struct idmap uid, gid;

	(void)idmap_single(&uid, 0, geteuid());
	(void)idmap_single(&gid, 0, getegid());
	if (unshare(namespaces) < 0)
		return diagnose_clone(namespaces, e);
	if (idmap_write_both(&uid, &gid, e) < 0)
		return -1;
	if (sys_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(e, "make mounts private");
	return 0;
}

struct view {
	const struct list *lowers;
	int to;
};

static int make_view(void *arg, void *result, struct err *e)
{
	const struct view *v = arg;

	(void)result;
	if (make_namespaces(e) < 0)
		return -1;
	AUTO_CLOSE int root = overlay_view(v->lowers, e);
	if (root < 0)
		return -1;
	return fd_pass_send(v->to, "", 1, &root, 1) < 0 ? err_sys(e, "hand over the view")
							: 0;
}

static int open_view(const struct list *lowers, struct err *e)
{
	int ends[2], root;
	char byte;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(e, "make a pair of sockets");
	AUTO_CLOSE int ours = ends[0];
	AUTO_CLOSE int theirs = ends[1];
	struct view view = { lowers, theirs };
	const struct worker_task task = {
		.name = "the process that shows the image's layers",
		.work = make_view,
		.arg = &view,
		.fds = { theirs },
		.fd_count = 1
	};
	if (worker_run(&task, NULL, e) < 0)
		return -1;
	if (fd_pass_receive(ours, &byte, 1, &root) != 1 || root < 0)
		return err_sys(e, "take over the view");
	return root;
}

int merged_view_open(const struct list *lowers, struct err *e)
{
	if (lowers->count == 1) {
		int only = open(lowers->items[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return only < 0 ? err_sys(e, "open %.300s", lowers->items[0]) : only;
	}
	int root = open_view(lowers, e);
	return root < 0 ? err_in(e, "show the image") : root;
}

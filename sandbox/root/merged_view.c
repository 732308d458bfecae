/* Theory of operation.  A single folder is returned as it is.  Several need an
 * overlay, which can only be mounted in a mount namespace of one's own: a child
 * makes one, mounts the overlay, sends a descriptor of the root and ends.  The
 * mount ends with the last descriptor. */
#include "sandbox/root/merged_view.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
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

static _Noreturn void serve(const struct list *lowers, int to)
{
	struct err e = { .kind = ERR_NONE };
	int root = -1;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (make_namespaces(&e) == 0)
		root = overlay_view(lowers, &e);
	/* If it fails, the parent sees the socket close. */
	(void)fd_pass_send(to, &e, sizeof(e), &root, root >= 0);
	_exit(0);
}

static int receive(int from, struct err *e)
{
	struct err told;
	int root;
	ssize_t n = fd_pass_receive(from, &told, sizeof(told), &root);

	if (n == (ssize_t)sizeof(told) && root >= 0)
		return root;
	own_close(&root);
	if (n != (ssize_t)sizeof(told) || told.kind == ERR_NONE)
		return err_set(e, ERR_INTERNAL, "the process that was to show the image's layers "
					       "ended early");
	*e = told;
	return -1;
}

int merged_view_open(const struct list *lowers, struct err *e)
{
	int ends[2];

	if (lowers->count == 1) {
		int only = open(lowers->items[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return only < 0 ? err_sys(e, "open %.300s", lowers->items[0]) : only;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(e, "make a pair of sockets");
	AUTO_CLOSE int ours = ends[0];
	AUTO_CLOSE int theirs = ends[1];
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork");
	if (pid == 0)
		serve(lowers, theirs);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
		/* again */
	}
	int root = receive(ours, e);
	return root < 0 ? err_in(e, "show the image") : root;
}

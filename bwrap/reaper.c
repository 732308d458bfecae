#include "bwrap/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_keep.h"
#include "base/io.h"
#include "base/own.h"
#include "bwrap/args.h"
#include "bwrap/privileges.h"

int reaper_die_with(int alive, struct err *e)
{
	struct pollfd ended = { .fd = alive, .events = POLLIN };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(e, "prctl PR_SET_PDEATHSIG");
	if (poll(&ended, 1, 0) > 0)
		return err_set(e, ERR_GONE, "the parent has ended");
	return 0;
}

/* Takes a lock that other processes of the caller's see, for as long as this process
 * lives: its descriptor stays open. */
static int lock(const char *path, struct err *e)
{
	struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "Unable to open lock file %.300s", path);
	if (fcntl(fd, F_SETLK, &whole) < 0)
		return err_sys(e, "Unable to lock file %.300s", path);
	(void)fd_take(&fd); /* closing any descriptor of the file would release it */
	return 0;
}

int reaper_begin(const struct args *a, const struct reaper *r, struct err *e)
{
	const int kept[] = { r->ended, r->alive, a->sync };

	if (privileges_reduce(0, e) < 0 || privileges_show(e) < 0)
		return -1;
	if (fd_keep(kept, ARRAY_LEN(kept)) < 0)
		return err_sys(e, "close descriptors");
	for (size_t i = 0; i < a->locks.count; i++)
		if (lock(a->locks.items[i], e) < 0)
			return -1;
	if (a->die_with_parent && reaper_die_with(r->alive, e) < 0)
		return -1;
	return filters_install(&a->filters, e);
}

int reaper_run(const struct reaper *r)
{
	int last = 1 << 8; /* "exited with 1" */

	for (;;) {
		int status;
		const pid_t pid = waitpid(-1, &status, 0);
		if (pid < 0 && errno != EINTR)
			return last;
		if (pid != r->command)
			continue;
		last = status;
		/* ignored: the process that waits for it may have been killed */
		if (r->ended >= 0)
			(void)io_write_all(r->ended, &status, sizeof(status));
	}
}

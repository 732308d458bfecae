#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/monitor/broker_parts.h"

struct opening {
	int flags;
	mode_t mode;
};

/* --- what waits ----------------------------------------------------------------------- */

static bool is_over(const struct broker_work *w, struct waiter *one)
{
	if (waitpid(one->pid, NULL, WNOHANG) == one->pid)
		return true;
	if (ioctl(w->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &one->call) == 0)
		return false;
	(void)kill(one->pid, SIGKILL); /* the child is not yet reaped, so no other
					* process has its pid */
	return waitpid(one->pid, NULL, 0) == one->pid;
}

/* Returns a free entry of the table of waiting children, or NULL.  Entries whose
 * child has ended become free; children whose caller is gone are killed first. */
static struct waiter *find_place(struct broker_work *w)
{
	struct waiter *found = NULL;

	for (int i = 0; i < BROKER_WAITERS; i++) {
		struct waiter *one = &w->waiters[i];
		if (one->pid && is_over(w, one))
			one->pid = 0;
		if (!one->pid)
			found = one;
	}
	return found;
}

static bool is_cloexec(const struct opening *o)
{
	return o->flags & O_CLOEXEC;
}

static _Noreturn void wait_and_open(const struct job *j, pid_t broker, int dir,
				    const char *name, const struct opening *o)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != broker)
		_exit(1);
	/* The file exists, so it is opened without O_CREAT: if it was replaced
	 * meanwhile, no new file is made. */
	int fd = openat(dir, name, o->flags & ~O_CREAT, o->mode);
	if (fd < 0)
		job_answer(j, -errno);
	else
		job_hand_over(j, fd, is_cloexec(o));
	_exit(0);
}

/* Opens the file in a child, which may have to wait, and answers the call. */
static int open_waiting(const struct job *j, int dir, const char *name,
			const struct opening *o)
{
	struct waiter *place = find_place(j->work);
	const pid_t broker = getpid();

	if (!place)
		return -ENFILE;
	const pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		wait_and_open(j, broker, dir, name, o);
	*place = (struct waiter){ pid, j->target.call->id };
	return JOB_ANSWERED;
}

/* --- what is there -------------------------------------------------------------------- */

/* Opens the file with O_NONBLOCK, so that the broker does not wait, and then clears
 * that flag unless the caller has set it. */
static int open_at_once(int dir, const char *name, const struct opening *o)
{
	struct opening now = *o;

	now.flags |= O_CLOEXEC | O_NONBLOCK;
	AUTO_CLOSE int fd = openat(dir, name, now.flags, now.mode);
	if (fd < 0 || o->flags & O_NONBLOCK)
		return fd < 0 ? -errno : fd_take(&fd);
	const int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return -errno;
	return fd_take(&fd);
}

/* Opens a file that exists; in a child, if open(2) may block.  A FIFO waits for its
 * other end, and a file with a lease for the lease's holder (fcntl(2)).  For
 * /dev/tty, which means the terminal of the opening process, the caller's terminal is
 * opened. */
static int open_there(const struct job *j, int dir, const char *name,
		      const struct opening *o, const struct stat *st)
{
	const bool waits = !(o->flags & O_NONBLOCK);
	int fd;

	if (waits && S_ISFIFO(st->st_mode))
		return open_waiting(j, dir, name, o);
	if (S_ISCHR(st->st_mode) && st->st_rdev == makedev(5, 0))
		fd = job_terminal(j, o->flags | O_CLOEXEC);
	else
		fd = open_at_once(dir, name, o);
	if (fd == -EWOULDBLOCK && waits)
		return open_waiting(j, dir, name, o);
	if (fd < 0)
		return fd;
	job_hand_over(j, fd, is_cloexec(o));
	return JOB_ANSWERED;
}

/* --- open(2) -------------------------------------------------------------------------- */

#define FOLLOW 2 /* the result of open_spot() if the last name is a link that has to be
		  * followed */

/* Returns whether the file is /dev/null.  Processes inside have the host's /dev/null
 * as their stdin, and a Landlock rule that allows it (landlock_root.h). */
static bool is_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

/* Opens the file to which a link of procfs leads.  The link is followed only
 * once: the process that it belongs to can change the target at any time
 * (dup2(2)). */
static int open_magic(const struct job *j, const struct spot *s, const struct opening *o)
{
	AUTO_CLOSE int fd = openat(s->dir, s->name, O_PATH | O_CLOEXEC);
	char own[OWN_PATH_MAX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!is_null(&st) && !place_is_open(j, fd))
		return -EACCES;
	own_path(fd, own);
	return open_there(j, j->work->proc, own, o, &st);
}

static int open_new(const struct job *j, const struct spot *s, const struct opening *o)
{
	static const struct stat file = { .st_mode = S_IFREG };
	const int refused = spot_allows(j, s, MAKING_FILE);

	return refused ? refused : open_there(j, s->dir, s->name, o, &file);
}

/* Opens a file that exists.  O_CREAT is dropped if a file of that name may not
 * be made, since the present file may be removed meanwhile. */
static int open_old(const struct job *j, const struct spot *s, const struct opening *o,
		    const struct stat *st)
{
	struct opening there = *o;
	const int refused = spot_allows(j, s, MAKING_FILE);

	if (refused == -EACCES)
		return refused;
	if (refused)
		there.flags &= ~O_CREAT;
	if (spot_is_proc(s->dir)) /* layer: broker-pid-namespace */
		return job_open_inside(j, s, there.flags, there.mode);
	return open_there(j, s->dir, s->name, &there, st);
}

static int open_spot(const struct job *j, const struct spot *s,
		     const struct opening *asked)
{
	struct opening o = *asked;
	struct stat st;

	if (s->is_magic)
		return open_magic(j, s, &o);
	if (!*s->name)
		return o.flags & O_EXCL ? -EEXIST : -EISDIR;
	if (strchr(s->name, '/'))
		return -EISDIR;
	o.flags |= O_NOFOLLOW;
	if (fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? open_new(j, s, &o) : -errno;
	if (o.flags & O_EXCL)
		return -EEXIST;
	if (S_ISLNK(st.st_mode) && !(asked->flags & O_NOFOLLOW))
		return FOLLOW;
	return open_old(j, s, &o, &st);
}

static int open_path(struct job *j, int base, const char *path, const struct opening *o)
{
	struct spot s = { .dir = -1 };
	int result = spot_find(&j->path_walk, base, path, &s);

	while (!result) {
		result = open_spot(j, &s, o);
		if (result == FOLLOW)
			result = spot_follow(&j->path_walk, &s);
	}
	spot_done(&s);
	return result;
}

int job_open(struct job *j, int base, const char *path, int flags, mode_t mode)
{
	/* O_NOCTTY: the broker must not get a controlling terminal by opening one. */
	const struct opening o = { flags | O_NOCTTY, mode };

	/* O_CREAT with O_DIRECTORY fails, as in Linux from 6.4 on; older kernels made
	 * a file.  O_TMPFILE includes O_DIRECTORY. */
	if (flags & O_DIRECTORY)
		return -EINVAL;
	return open_path(j, base, path, &o);
}

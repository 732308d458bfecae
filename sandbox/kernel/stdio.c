#include "sandbox/kernel/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/policy.h"

static const char *const names[STDIO_COUNT] = { "stdin", "stdout", "stderr" };

void stdio_init(struct stdio *s)
{
	*s = (struct stdio){ .inside = { -1, -1, -1 }, .silence = -1 };
	for (int i = 0; i < STDIO_COUNT; i++)
		s->pumps[i].from = s->pumps[i].to = -1;
}

void stdio_handed_over(struct stdio *s)
{
	for (int i = 0; i < STDIO_COUNT; i++)
		own_close(&s->inside[i]);
}

void stdio_done(struct stdio *s)
{
	if (!s)
		return;
	stdio_handed_over(s);
	own_close(&s->silence);
	for (int i = 0; i < STDIO_COUNT; i++)
		pump_done(&s->pumps[i]);
}

static int open_null(int flags, struct err *e)
{
	int fd = open("/dev/null", flags | O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open /dev/null") : fd;
}

/* Tells whether a file is /dev/null.  The command then gets /dev/null itself instead of
 * a pipe, since no data can pass through it. */
static bool is_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

/* Opens the caller's descriptor `fd` for a pump.  A terminal is opened anew, since
 * the new open file description may be made non-blocking without making the caller's
 * so; any other file is duplicated. */
static int caller_end(int fd, int flags, struct err *e)
{
	char path[32];
	int again = -1;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (isatty(fd))
		again = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (again < 0)
		again = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return again < 0 ? err_sys(e, "use %s", names[fd]) : again;
}

static enum pump_mode mode_for(int fd, const struct stat *st, const struct policy *policy)
{
	if (isatty(fd))
		return policy->has_terminal ? PUMP_COPY : PUMP_VISIBLE;
	if (S_ISREG(st->st_mode))
		return PUMP_FILE;
	return S_ISFIFO(st->st_mode) ? PUMP_SPLICE : PUMP_COPY;
}

/* Makes a pipe between hutch and the command.  hutch's end does not block, the
 * command's does: the two ends are separate open file descriptions. */
static int make_pipe(int *ret_ours, int *ret_inside, bool is_input, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	*ret_ours = ends[is_input];
	*ret_inside = ends[!is_input];
	return fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0 ? err_sys(e, "fcntl") : 0;
}

static int open_input(struct stdio *s, const struct policy *policy, struct err *e)
{
	struct stat st;
	int ours;

	/* With -t but without -i, hutch keeps the write end of the command's stdin pipe
	 * open and never writes to it: if that input ended, the executor would type
	 * end-of-file into the command's terminal, and so end a shell that has no other
	 * input. */
	if (policy->has_terminal && !policy->is_interactive)
		return make_pipe(&s->silence, &s->inside[0], true, e);
	if (!policy->is_interactive || fstat(0, &st) < 0 || is_null(&st)) {
		s->inside[0] = open_null(O_RDONLY, e);
		return s->inside[0] < 0 ? -1 : 0;
	}
	if (S_ISDIR(st.st_mode))
		return err_set(e, ERR_USAGE, "stdin is a folder");
	if (make_pipe(&ours, &s->inside[0], true, e) < 0)
		return -1;
	int from = caller_end(0, O_RDONLY, e);
	pump_init(&s->pumps[0], from, ours, isatty(0) ? PUMP_COPY : PUMP_SPLICE);
	return from < 0 ? -1 : 0;
}

static int open_output(struct stdio *s, const struct policy *policy, int fd,
		       struct err *e)
{
	struct stat st;
	int ours;

	if (fstat(fd, &st) < 0 || is_null(&st)) {
		s->inside[fd] = open_null(O_WRONLY, e);
		return s->inside[fd] < 0 ? -1 : 0;
	}
	if (S_ISDIR(st.st_mode))
		return err_set(e, ERR_USAGE, "%s is a folder", names[fd]);
	if (make_pipe(&ours, &s->inside[fd], false, e) < 0)
		return -1;
	int to = caller_end(fd, O_WRONLY, e);
	pump_init(&s->pumps[fd], ours, to, mode_for(fd, &st, policy));
	s->pumps[fd].may_widen = true;
	return to < 0 ? -1 : 0;
}

/* Tells whether stdout and stderr go to the same place; they then share one pipe, so
 * that the order of writes is kept.  Two terminals count as the same place, since a tty
 * and /dev/tty may be the same terminal: with two pumps, each could deliver one half of
 * a control character. */
static bool is_same_place(int a, int b)
{
	struct stat x, y;

	if (isatty(a) && isatty(b))
		return true;
	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino && x.st_rdev == y.st_rdev;
}

static int open_error(struct stdio *s, const struct policy *policy, struct err *e)
{
	if (!policy->has_terminal && !is_same_place(1, 2))
		return open_output(s, policy, 2, e);
	s->inside[2] = fcntl(s->inside[1], F_DUPFD_CLOEXEC, 3);
	return s->inside[2] < 0 ? err_sys(e, "use stderr") : 0;
}

/* Tells whether a descriptor is a unix datagram socket, which can send to any name: to
 * all abstract names of the network namespace that it was made in, and to any path that
 * its sender can reach.  Landlock checks abstract names since ABI 6, and socket paths
 * never. */
static bool sends_anywhere(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	       domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_DGRAM;
}

static int inherit(struct stdio *s, struct err *e)
{
	for (int i = 0; i < STDIO_COUNT; i++) {
		if (sends_anywhere(i)) {
			(void)err_set(e, ERR_REFUSED,
				      "hand %s over (--stdio inherit): it is a "
				      "datagram socket, which leads to all of this "
				      "host's",
				      names[i]);
			return err_remedy(e, "leave --stdio inherit out, or use a pipe");
		}
		s->inside[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
		if (s->inside[i] < 0)
			return err_sys(e, "hand %s over (--stdio inherit)", names[i]);
	}
	return 0;
}

int stdio_open(struct stdio *s, const struct policy *policy, struct err *e)
{
	if (policy->inherits_stdio)
		return inherit(s, e);
	if (policy->has_terminal && policy->is_interactive && !isatty(0)) {
		(void)err_set(e, ERR_USAGE, "-t with -i needs a terminal as stdin");
		return err_remedy(e, "leave -t out when stdin is a pipe or a file");
	}
	s->has_terminal = policy->has_terminal && policy->is_interactive;
	if (open_input(s, policy, e) < 0 || open_output(s, policy, 1, e) < 0)
		return -1;
	return open_error(s, policy, e);
}

int stdio_check(const struct stdio *s, struct err *e)
{
	if (!s->pumps[1].failed)
		return 0;
	errno = s->pumps[1].failed;
	return err_sys(e, "write to stdout");
}

#include "oci/console.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"
#include "base/worker.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/terminal.h"

int console_connect(const char *path, struct err *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (snprintf(to.sun_path, sizeof(to.sun_path), "%s", path) >=
	    (int)sizeof(to.sun_path))
		return err_set(e, ERR_USAGE, "--console-socket: the path is too long");
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return err_sys(e, "connect to the console socket %s", path);
	return fd_take(&fd);
}

int console_send(int connection, int master, struct err *e)
{
	static const char name[] = "/dev/ptmx";

	return fd_pass_send(connection, name, sizeof(name) - 1, &master, 1) < 0
		       ? err_sys(e, "send the terminal over the console socket")
		       : 0;
}

int console_make(struct console *ret, uint32_t rows, uint32_t cols, uint32_t uid,
		 struct err *e)
{
	const struct winsize size = { .ws_row = (unsigned short)rows,
				      .ws_col = (unsigned short)cols };
	int unlocked = 0;

	AUTO_CLOSE int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0)
		return err_sys(e, "open the container's /dev/ptmx");
	if (ioctl(master, TIOCSPTLCK, &unlocked))
		return err_sys(e, "unlock the container's terminal");
	AUTO_CLOSE int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return err_sys(e, "open the container's terminal");
	if (rows && cols && ioctl(master, TIOCSWINSZ, &size))
		return err_sys(e, "size the container's terminal");
	/* The terminal belongs to root inside already; another user may not be mapped. */
	if (uid && fchown(slave, uid, (gid_t)-1) && errno != EINVAL && errno != EPERM)
		return err_sys(e, "give the container's terminal to its user");
	ret->master = fd_take(&master);
	ret->slave = fd_take(&slave);
	return 0;
}

int console_bind(const struct console *c, struct err *e)
{
	AUTO_CLOSE int place =
		open("/dev/console",
		     O_RDONLY | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC,
		     0620);
	AUTO_CLOSE int there = open("/dev/console", O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (there < 0)
		return err_sys(e, "open the container's /dev/console");
	AUTO_CLOSE int mount = mount_api_clone(c->slave, "", false, e);
	return mount < 0 ? -1 : mount_api_attach(mount, there, "", "/dev/console", e);
}

int console_take(const struct console *c, struct err *e)
{
	if (ioctl(c->slave, TIOCSCTTY, 0))
		return err_sys(e, "take the container's terminal");
	for (int fd = 0; fd < 3; fd++)
		if (dup2(c->slave, fd) < 0)
			return err_sys(e, "use the container's terminal");
	return 0;
}

void console_done(struct console *c)
{
	own_close(&c->master);
	own_close(&c->slave);
}

/* --- a verb that stays -------------------------------------------------------------- */

struct attend {
	int master, pid, child, signals;
	bool has_input;
};

/* Copies some bytes; false: `from` has ended. */
static bool copy_some(int from, int to)
{
	char bytes[4096];
	const ssize_t n = read(from, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	return n > 0 && io_write_all(to, bytes, (size_t)n) == 0;
}

static void copy_size(int master)
{
	struct winsize size;

	if (master >= 0 && ioctl(0, TIOCGWINSZ, &size) == 0)
		(void)ioctl(master, TIOCSWINSZ, &size); /* the old size serves, too */
}

static void hand_on(const struct attend *a)
{
	struct signalfd_siginfo info;

	if (read(a->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGWINCH)
		copy_size(a->master);
	else
		(void)kill(a->pid, (int)info.ssi_signo); /* it may have ended by now */
}

/* Carries bytes until the child has ended and its output was read. */
static void carry(struct attend *a)
{
	bool is_over = false;

	while (!is_over) {
		struct pollfd p[] = {
			{ .fd = a->master, .events = POLLIN },
			{ .fd = a->has_input && a->master >= 0 ? 0 : -1,
			  .events = POLLIN },
			{ .fd = a->signals, .events = POLLIN },
			{ .fd = a->child, .events = POLLIN },
		};

		if (poll(p, ARRAY_LEN(p), -1) < 0 && errno != EINTR)
			return;
		if (p[2].revents)
			hand_on(a);
		if (p[1].revents)
			a->has_input = copy_some(0, a->master);
		if (!p[0].revents)
			is_over = p[3].revents != 0;
		else if (!copy_some(a->master, 1))
			own_close(&a->master); /* the terminal's last user has gone */
	}
}

static int open_signals(struct err *e)
{
	static const int numbers[] = { SIGWINCH, SIGTERM, SIGINT, SIGHUP,
				       SIGQUIT,	 SIGUSR1, SIGUSR2 };
	sigset_t set;

	(void)sigemptyset(&set); /* can't fail */
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		(void)sigaddset(&set, numbers[i]); /* can't fail */
	(void)sigprocmask(SIG_BLOCK, &set, NULL);  /* can't fail */
	const int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_sys(e, "wait for signals") : fd;
}

int console_attend(int master, int pid, struct err *e)
{
	struct terminal own = { .fd = -1 };
	AUTO_CLOSE int signals = open_signals(e);
	AUTO_CLOSE int child = sys_pidfd_open(pid, 0);

	if (signals < 0)
		return -1;
	if (child < 0)
		return err_sys(e, "wait for the container's process");
	if (master >= 0 && isatty(0)) {
		if (terminal_open(&own, 0, e) || terminal_raw(&own, e))
			return -1;
		copy_size(master);
	}
	struct attend a = { master, pid, child, signals, true };
	carry(&a);
	if (own.fd >= 0)
		terminal_restore(&own);
	return worker_reap(pid);
}

#include "executor/process/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "base/own.h"

/* Device numbers of Documentation/admin-guide/devices.txt. */
static bool is_ptmx(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(5, 2);
}

static void be_utf8_aware(int slave)
{
	struct termios mode;

	/* IUTF8 only helps the kernel to erase whole characters, so a failure does not
	 * matter. */
	if (tcgetattr(slave, &mode) < 0)
		return;
	mode.c_iflag |= IUTF8;
	(void)tcsetattr(slave, TCSANOW, &mode);
}

int terminal_open(struct terminal *ret, uint32_t rows, uint32_t cols)
{
	int unlocked = 0;

	/* If a command owns /dev, it may have replaced this file: O_NONBLOCK keeps a FIFO
	 * from blocking us, and is_ptmx() checks the device. */
	AUTO_CLOSE int master =
		open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (master < 0)
		return -1;
	if (!is_ptmx(master)) {
		errno = ENODEV;
		return -1;
	}
	if (ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return -1;
	/* Opens the slave by the master's descriptor, since the path /dev/pts/N could
	 * lead to another terminal. */
	AUTO_CLOSE int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return -1;
	be_utf8_aware(slave);
	struct terminal t = { .master = master, .slave = slave };
	if (terminal_resize(&t, rows, cols) < 0)
		return -1;
	*ret = (struct terminal){ .master = fd_take(&master), .slave = fd_take(&slave) };
	return 0;
}

int terminal_resize(const struct terminal *t, uint32_t rows, uint32_t cols)
{
	struct winsize size = { .ws_row = (unsigned short)rows,
				.ws_col = (unsigned short)cols };

	return ioctl(t->master, TIOCSWINSZ, &size);
}

int terminal_eof_char(const struct terminal *t)
{
	struct termios mode;

	if (tcgetattr(t->slave, &mode) < 0 || mode.c_cc[VEOF] == _POSIX_VDISABLE)
		return -1;
	return mode.c_cc[VEOF];
}

int terminal_is_by_line(const struct terminal *t)
{
	struct termios mode;

	return tcgetattr(t->slave, &mode) == 0 && (mode.c_lflag & ICANON);
}

int terminal_has_signals(const struct terminal *t)
{
	struct termios mode;

	return tcgetattr(t->slave, &mode) == 0 && (mode.c_lflag & ISIG);
}

const char *terminal_kind(void)
{
	/* The places where ncurses looks on Debian, other distributions and Alpine. */
	static const char *const places[] = {
		"/etc/terminfo/t/tmux-256color",
		"/lib/terminfo/t/tmux-256color",
		"/usr/share/terminfo/t/tmux-256color",
		"/usr/lib/terminfo/t/tmux-256color",
	};

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (access(places[i], R_OK) == 0)
			return "tmux-256color";
	return "xterm-256color";
}

void terminal_close(struct terminal *t)
{
	if (!t)
		return;
	own_close(&t->slave);
	own_close(&t->master);
}

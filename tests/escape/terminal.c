/* Injecting input into a terminal: TIOCSTI, and TIOCLINUX's paste; on inherited
 * terminals, and on a terminal of our own, where it does no harm. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define HIGH_BITS (1UL << 32)

/* Makes a terminal of our own and returns its slave end, as our controlling
 * terminal.  Opened by descriptor, so that no path is needed. */
static int own_terminal(void)
{
	int main_end = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	int zero = 0;

	if (main_end < 0 || ioctl(main_end, TIOCSPTLCK, &zero))
		return -1;
	int fd = ioctl(main_end, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	if (fd < 0)
		return -1;
	return ioctl(fd, TIOCSCTTY, 0) ? -1 : fd;
}

/* Runs `act` on a terminal of its own, in a child, since only a session leader can
 * have a controlling terminal. */
static void on_own(struct trial *t, void (*act)(struct trial *t, int fd))
{
	pid_t pid = fork();

	if (pid) {
		(void)child_wait(pid); /* the child stores the result in shared memory */
		return;
	}
	(void)setsid(); /* cannot fail: a new process leads no group */
	int fd = own_terminal();
	if (fd < 0)
		trial_error(t, "skip", errno);
	else
		act(t, fd);
	_exit(0);
}

/* Uses the raw call: the C library might cut the request to 32 bits. */
static void push(struct trial *t, int fd)
{
	/* Both requests read one byte: TIOCSTI the input, and TIOCLINUX a subcode,
	 * where 2 sets the selection. */
	char byte = t->probe->value2 == TIOCLINUX ? 2 : 'x';

	trial_call(t, syscall(SYS_ioctl, fd, (unsigned long)t->probe->value2,
			      &byte));
}

static void push_own(struct trial *t)
{
	on_own(t, push);
}

static void push_inherited(struct trial *t)
{
	push(t, (int)t->probe->value);
}

static void push_tty(struct trial *t)
{
	AUTO_CLOSE int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		trial_file(t, fd);
	else
		push(t, fd);
}

/* Another line discipline (1 is SLIP) would load a driver that reads the input;
 * redirecting the console would take the machine's output. */
static void set(struct trial *t, int fd)
{
	/* The kernel always has N_TTY; other line disciplines may be modules, which
	 * dev.tty.ldisc_autoload may forbid to load. */
	static const int discipline = N_TTY;

	trial_call(t, ioctl(fd, (unsigned long)t->probe->value2, &discipline));
}

static void set_own(struct trial *t)
{
	on_own(t, set);
}

static void open_console(struct trial *t)
{
	AUTO_CLOSE int fd = open(t->probe->text, O_RDWR | O_NOCTTY | O_CLOEXEC);

	trial_file(t, fd);
}

/* Where the descriptor is no terminal, ENOTTY is the kernel's answer and EPERM
 * the filter's. */
#define INHERITED(nm, fd) \
	{ "C54", nm, .run = push_inherited, .value = fd, .value2 = TIOCSTI }
#define OWN(nm, request) { "C54", nm, .run = push_own, .value2 = request }

const struct probe terminal_probes[] = {
	INHERITED("tiocsti-stdin", 0),
	INHERITED("tiocsti-stdout", 1),
	INHERITED("tiocsti-stderr", 2),
	{ "C54", "tiocsti-dev-tty", .run = push_tty, .value2 = TIOCSTI },
	OWN("tiocsti-own-terminal", TIOCSTI),
	OWN("tiocsti-high-bits", (long)(TIOCSTI | HIGH_BITS)),
	OWN("tioclinux-own-terminal", TIOCLINUX),
	OWN("tioclinux-high-bits", (long)(TIOCLINUX | HIGH_BITS)),
	{ "C54", "set-line-discipline", .run = set_own, .value2 = TIOCSETD },
	{ "C54", "open-console", .run = open_console, .text = "/dev/console" },
	{ "C54", "open-tty1", .run = open_console, .text = "/dev/tty1" },
	{ 0 },
};

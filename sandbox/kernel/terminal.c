#include "sandbox/kernel/terminal.h"

#include <signal.h>
#include <sys/ioctl.h>

#include "base/err.h"

void terminal_size(int fd, uint32_t *ret_rows, uint32_t *ret_cols)
{
	struct winsize size = { 0 };

	(void)ioctl(fd, TIOCGWINSZ, &size); /* on failure the defaults are returned */
	*ret_rows = size.ws_row ? size.ws_row : 24;
	*ret_cols = size.ws_col ? size.ws_col : 80;
}

int terminal_open(struct terminal *t, int fd, struct err *e)
{
	if (tcgetattr(fd, &t->saved) < 0)
		return err_sys(e, "read the terminal's modes");
	t->fd = fd;
	t->is_raw = false;
	return 0;
}

/* Sets the terminal's modes with SIGTTOU blocked: that signal would stop a process
 * in the background that changes modes (tcsetattr(3)). */
static int set_modes(int fd, const struct termios *modes)
{
	sigset_t ttou, old;

	(void)sigemptyset(&ttou);
	(void)sigaddset(&ttou, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &ttou, &old);
	int result = tcsetattr(fd, TCSADRAIN, modes);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	return result;
}

int terminal_raw(struct terminal *t, struct err *e)
{
	struct termios raw = t->saved;

	cfmakeraw(&raw);
	if (set_modes(t->fd, &raw) < 0)
		return err_sys(e, "set the terminal's modes");
	t->is_raw = true;
	return 0;
}

void terminal_restore(struct terminal *t)
{
	if (t->is_raw)
		(void)set_modes(t->fd, &t->saved); /* the modes of a terminal that is
						    * gone do not matter */
	t->is_raw = false;
}

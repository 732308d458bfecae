/* console -- the pseudo terminal of a container's process.
 *
 * The terminal is made by the process itself, from the container's own devpts, so that
 * its name is right inside.  The master goes to the engine by SCM_RIGHTS over the
 * console socket (runc's and crun's protocol), or to a verb that stays. */
#pragma once
#include <stdint.h>

struct err;

/* Connects to the engine's console socket.  Returns the connection. */
int console_connect(const char *path, struct err *e);

/* Sends the master over the connection. */
int console_send(int connection, int master, struct err *e);

struct console {
	int master, slave; /* owned */
};

/* Makes a terminal with the size (0: the kernel's); its slave belongs to `uid`. */
int console_make(struct console *ret, uint32_t rows, uint32_t cols, uint32_t uid,
		 struct err *e);
/* Binds the slave over /dev/console, which is made if missing. */
int console_bind(const struct console *c, struct err *e);
/* Makes the slave the controlling terminal of this session, and its standard streams. */
int console_take(const struct console *c, struct err *e);
void console_done(struct console *c);

/* Waits for process `pid`, a child, and hands signals on to it.  Meanwhile it carries bytes
 * between this process's own terminal or streams and the master, unless that is -1.
 * Returns the wait(2) status, -1 with the error. */
int console_attend(int master, int pid, struct err *e);

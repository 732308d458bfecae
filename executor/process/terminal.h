/* terminal -- a pseudo-terminal of the sandbox's own devpts.
 *
 * It is never the terminal of the user who started the sandbox, so that input which a
 * command injects into it (for example by TIOCSTI) stays inside. */
#pragma once
#include <stdint.h>

struct terminal {
	int master, slave; /* owned; the two sides of the terminal; -1 when closed */
};

/* Opens a terminal with the given size, in the kernel's default mode (cooked, echo) with
 * IUTF8 set.  The slave belongs to the calling thread's file system uid, so that the
 * command's user can open it again.  Returns -1 with errno set. */
int terminal_open(struct terminal *ret, uint32_t rows, uint32_t cols);

/* Sets the terminal's size; the kernel sends SIGWINCH to the foreground process group. */
int terminal_resize(const struct terminal *t, uint32_t rows, uint32_t cols);

/* Returns the character that ends input in the terminal's present mode (^D by default);
 * -1: there is none. */
int terminal_eof_char(const struct terminal *t);

/* Returns true in canonical mode, in which the kernel delivers input line by line. */
int terminal_is_by_line(const struct terminal *t);

/* Returns true in modes in which keys like ^C send signals. */
int terminal_has_signals(const struct terminal *t);

/* Returns the value of TERM for a terminal whose output is read by screen.h:
 * tmux-256color if the sandbox's ncurses has an entry for it, else xterm-256color, which
 * is known everywhere. */
const char *terminal_kind(void);

/* Closes the sides of the terminal that are open. */
void terminal_close(struct terminal *t);

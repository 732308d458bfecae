/* terminal -- a pseudo-terminal of the sandbox's own devpts.
 *
 * Never one of the caller's: what is typed or injected there (TIOCSTI and its
 * kin) stays inside. */
#pragma once
#include <stdint.h>

struct terminal {
	int master, slave; /* owned; -1 when closed */
};

/* Opens one with the given size, in the kernel's default mode (cooked, echo)
 * and UTF-8 aware.  The slave belongs to the calling thread's file system uid.
 * -1 with errno set. */
int terminal_open(struct terminal *ret, uint32_t rows, uint32_t cols);

/* Sets the size; the kernel tells the foreground process group by SIGWINCH. */
int terminal_resize(const struct terminal *t, uint32_t rows, uint32_t cols);

/* The character that ends input in the terminal's present mode, or -1 when
 * none does. */
int terminal_eof_char(const struct terminal *t);

/* True in canonical mode, where the kernel hands out input by the line. */
int terminal_is_by_line(const struct terminal *t);

/* True where keys like ^C are signals. */
int terminal_has_signals(const struct terminal *t);

/* The TERM of a screen (screen.h): tmux-256color where ncurses inside knows it, else
 * xterm-256color, which everything knows. */
const char *terminal_kind(void);

/* Closes both sides that are open. */
void terminal_close(struct terminal *t);

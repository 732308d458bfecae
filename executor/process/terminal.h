/* terminal -- a pseudo-terminal of the sandbox's own devpts.
 *
 * It is never a terminal of the caller's: input that a command types or injects
 * (TIOCSTI and its kin) stays inside. */
#pragma once
#include <stdint.h>

struct terminal {
	int master, slave; /* owned; -1 when closed */
};

/* Opens a terminal with the given size, in the kernel's default mode (cooked, echo) and
 * UTF-8 aware.  The slave belongs to the calling thread's file system uid.  -1 with
 * errno set. */
int terminal_open(struct terminal *ret, uint32_t rows, uint32_t cols);

/* Sets the size; the kernel sends SIGWINCH to the foreground process group. */
int terminal_resize(const struct terminal *t, uint32_t rows, uint32_t cols);

/* The character that ends input in the terminal's present mode; -1: there is none. */
int terminal_eof_char(const struct terminal *t);

/* True in canonical mode, where the kernel hands out input by the line. */
int terminal_is_by_line(const struct terminal *t);

/* True in modes in which keys like ^C send signals. */
int terminal_has_signals(const struct terminal *t);

/* The TERM that a screen (screen.h) supports: tmux-256color if ncurses inside knows it,
 * else xterm-256color, which is known everywhere. */
const char *terminal_kind(void);

/* Closes both sides that are open. */
void terminal_close(struct terminal *t);

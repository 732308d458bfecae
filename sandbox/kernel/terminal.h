/* terminal -- the size of the caller's terminal, its modes, and their
 * restoration.
 *
 * With -t the caller's terminal is raw, so that every key, Ctrl-C included,
 * goes to the terminal inside; a janitor (janitor.h) restores the modes even
 * when hutch is killed. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

struct err;

struct terminal {
	int fd; /* borrowed; -1: there is no terminal */
	struct termios saved;
	bool is_raw;
};

/* Returns the rows and columns of the terminal at `fd`; 24 and 80 if the terminal
 * does not say. */
void terminal_size(int fd, uint32_t *ret_rows, uint32_t *ret_cols);

/* Reads the modes of `fd`, for terminal_raw() and terminal_restore(). */
int terminal_open(struct terminal *t, int fd, struct err *e);
int terminal_raw(struct terminal *t, struct err *e);
void terminal_restore(struct terminal *t);

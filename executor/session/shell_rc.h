/* shell_rc -- the start-up file of a session's bash.  It defines the functions that the
 * executor's lines (shell.h) call. */
#pragma once
enum shell_rc {
	SHELL_RC_FIRST, /* for the shell that the executor starts */
	SHELL_RC_BARE,	/* for the shell that the executor starts, but without
			 * ~/.bashrc */
	SHELL_RC_INNER, /* for a shell that a command has started (shell_inner.h) */
};

/* Returns a new sealed memfd with the start-up file, which the caller owns; -1 with errno
 * set. */
int shell_rc_make(enum shell_rc kind);

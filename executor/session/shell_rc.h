/* shell_rc -- the start-up file of a session's bash: the functions that its driver
 * (shell.h) calls in it. */
#pragma once
enum shell_rc {
	SHELL_RC_FIRST, /* the start-up file of a session's own shell */
	SHELL_RC_BARE,	/* the start-up file of a session's own shell, but without
			 * ~/.bashrc */
	SHELL_RC_INNER, /* the start-up file of a shell that a command began
			 * (shell_inner.h) */
};

/* Returns a new sealed memfd with the start-up file, which the caller owns; -1 with errno
 * set. */
int shell_rc_make(enum shell_rc kind);

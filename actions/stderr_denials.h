/* stderr_denials -- finds error messages about refused access in a command's output.
 *
 * Programs put the words of strerror(3) on a line with the path that they are about:
 *
 *	touch: cannot touch '/usr/x': Read-only file system
 *	bash: /usr/x: Permission denied
 *	PermissionError: [Errno 13] Permission denied: '/usr/x'
 *	Error: EROFS: read-only file system, open '/usr/x'
 *
 * A process in the sandbox wrote this text, so the result may only be used as a hint.
 * Output without such a line does not show that nothing was refused. */
#pragma once
#include <stddef.h>

/* Only this many bytes at the end of an output are searched. */
#define STDERR_DENIALS_TEXT_MAX (16u << 10)
#define STDERR_DENIALS_MAX	   8

struct stderr_denials {
	int sys;    /* the errno that the message means: EROFS, EACCES or EPERM */
	char *path; /* the path that was refused: absolute, one line; owned */
};

/* Finds such messages at the end of a text of any bytes: the last line's first, each
 * once. Relative paths begin at `cwd`; NULL: they are left out. Returns the number
 * found. */
size_t stderr_denials_find(const void *text, size_t len, const char *cwd,
		       struct stderr_denials ret[static STDERR_DENIALS_MAX]);
void stderr_denials_done(struct stderr_denials *c, size_t count);

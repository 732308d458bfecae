/* complaint -- what a command has said that it was refused, found in its output.
 *
 * Programs put the words of strerror(3) on a line with the path that they are about:
 *
 *	touch: cannot touch '/usr/x': Read-only file system
 *	bash: /usr/x: Permission denied
 *	PermissionError: [Errno 13] Permission denied: '/usr/x'
 *	Error: EROFS: read-only file system, open '/usr/x'
 *
 * Whatever is found is the inside's word: good for a hint, and for nothing else.  What is
 * not there is no refusal: it is mostly nowhere. */
#pragma once
#include <stddef.h>

/* Lines in other places than the last bytes of an output are not looked at. */
#define COMPLAINT_TEXT_MAX (16u << 10)
#define COMPLAINTS_MAX	   8

struct complaint {
	int sys;    /* EROFS, EACCES or EPERM */
	char *path; /* absolute, one line; owned */
};

/* Those at the end of a text of any bytes, the last line's first, each once.  `cwd` is where
 * paths begin that are relative; NULL: these are left out.  Returns how many there are. */
size_t complaints_find(const void *text, size_t len, const char *cwd,
		       struct complaint ret[static COMPLAINTS_MAX]);
void complaints_done(struct complaint *c, size_t count);

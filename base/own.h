/* own -- local variables that release their descriptor or memory.
 *
 *	AUTO_CLOSE int fd = open(...);
 *	AUTO_FREE char *text = strdup(...);
 *
 * Both release at the end of the scope, on every path out of it; errno is kept.  To
 * hand over ownership, take the value out: `*ret_fd = fd_take(&fd);`.  The attribute
 * `unused` prevents a warning about a variable that is only declared to be
 * released. */
#pragma once
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define AUTO_CLOSE __attribute__((cleanup(own_close), unused))
#define AUTO_FREE  __attribute__((cleanup(own_free), unused))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Closes *fd if it is open (>= 0) and sets it to -1. */
static inline void own_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd); /* ignored: nothing useful can be done about EIO from
				   * close(2) */
	*fd = -1;
	errno = saved;
}

/* Frees the pointer that `pp` points at. */
static inline void own_free(void *pp)
{
	int saved = errno;

	free(*(void **)pp);
	*(void **)pp = NULL;
	errno = saved;
}

/* Moves a descriptor out of its owner *fd, which becomes -1, and returns it. */
static inline int fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* malloc -- malloc(3) and related functions, over an arena (arena.h says why).  They
 * are linked into `hutch` alone: programs that live longer, or are built with
 * sanitizers, use libc's malloc(3). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void *malloc(size_t size)
{
	return arena_allocate(size);
}

void free(void *p)
{
	int saved = errno;

	arena_release(p);
	errno = saved;
}

void *calloc(size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	void *p = arena_allocate(total);
	return p ? memset(p, 0, total) : NULL;
}

void *realloc(void *p, size_t size)
{
	return arena_resize(p, size);
}

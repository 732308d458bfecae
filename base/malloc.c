/* malloc -- malloc(3) and related functions for hutch and hutch-supervise: over an arena
 * (arena.h says why), and libc's for what does not fit there.  The linker replaces each
 * reference to malloc by __wrap_malloc, and __real_malloc is libc's (ld(1), --wrap).
 * Programs built with sanitizers are linked without this file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void *__real_malloc(size_t size);
void __real_free(void *p);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);

void *__wrap_malloc(size_t size);
void __wrap_free(void *p);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_malloc(size_t size)
{
	void *p = arena_allocate(size);

	return p ? p : __real_malloc(size);
}

void __wrap_free(void *p)
{
	const int saved = errno;

	if (arena_holds(p))
		arena_release(p);
	else
		__real_free(p);
	errno = saved;
}

void *__wrap_calloc(size_t count, size_t size)
{
	size_t total;
	void *p = __builtin_mul_overflow(count, size, &total) ? NULL
							      : arena_allocate(total);

	return p ? memset(p, 0, total) : __real_calloc(count, size);
}

/* Moves a block of the arena that cannot grow in its place. */
static void *move(void *p, size_t size)
{
	void *moved = __wrap_malloc(size);

	if (moved) {
		memcpy(moved, p, arena_size_of(p)); /* the new block is larger */
		arena_release(p);
	}
	return moved;
}

void *__wrap_realloc(void *p, size_t size)
{
	if (!p)
		return __wrap_malloc(size);
	if (!arena_holds(p))
		return __real_realloc(p, size);
	return arena_grow(p, size) ? p : move(p, size);
}

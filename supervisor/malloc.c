/* malloc -- malloc(3) and related functions for hutch-supervise: over an arena while the
 * supervisor starts (arena.h says why), and libc's from then on.  The linker replaces
 * each reference to malloc by __wrap_malloc, and __real_malloc is libc's (ld(1), --wrap).
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
	return arena_fits(size) ? arena_allocate(size) : __real_malloc(size);
}

void __wrap_free(void *p)
{
	if (arena_holds(p))
		arena_release(p);
	else
		__real_free(p);
}

void *__wrap_calloc(size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total) || !arena_fits(total))
		return __real_calloc(count, size);
	return memset(arena_allocate(total), 0, total);
}

/* Moves a block of the arena that cannot grow in its place. */
static void *move(void *p, size_t size)
{
	void *moved = __wrap_malloc(size);
	const size_t has = arena_size_of(p);

	if (!moved)
		return NULL;
	memcpy(moved, p, has < size ? has : size);
	arena_release(p);
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

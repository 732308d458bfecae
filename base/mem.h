/* mem -- memory, or abort(3): a process without memory cannot even report an error.
 *
 * Every caller bounds its sizes, so that no process inside a sandbox controls
 * them. */
#pragma once
#include <stdlib.h>
#include <string.h>

static inline void *mem_or_abort(void *p)
{
	if (!p)
		abort();
	return p;
}

/* Returns `size` bytes that are not initialised. */
static inline void *mem_new(size_t size)
{
	return mem_or_abort(malloc(size ? size : 1));
}

/* Returns `count` elements of `size` bytes, all zero. */
static inline void *mem_zeroed(size_t count, size_t size)
{
	return mem_or_abort(calloc(count ? count : 1, size ? size : 1));
}

/* Changes the size of `p` like realloc(3), to `count` > 0 elements of `size` bytes. */
static inline void *mem_resize(void *p, size_t count, size_t size)
{
	return mem_or_abort(reallocarray(p, count, size));
}

static inline void *mem_copy(const void *data, size_t size)
{
	void *mine = mem_new(size);

	return size ? memcpy(mine, data, size) : mine;
}

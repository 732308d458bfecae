/* _GNU_SOURCE is for mremap(2). */
#include "base/arena.h"

#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 16

/* The header in front of each block, which arena_release() and arena_resize() need
 * for the block's size. */
struct block {
	alignas(ALIGNMENT) size_t size; /* bytes of the block without this header; a
					 * multiple of 16 */
	bool is_mapped;
};

static alignas(ALIGNMENT) uint8_t arena[ARENA_SIZE];
static size_t used;
static bool is_closed;

static struct block *block_of(void *p)
{
	return (struct block *)p - 1;
}

static bool is_newest(const struct block *b)
{
	return !b->is_mapped && (const uint8_t *)(b + 1) + b->size == arena + used;
}

/* Returns the size rounded up to a multiple of the alignment; 0 if the size is too
 * large. */
static size_t rounded(size_t size)
{
	size_t most = PTRDIFF_MAX - sizeof(struct block) - ALIGNMENT;

	if (size > most)
		return 0;
	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	return size ? size : ALIGNMENT;
}

static struct block *map(size_t size)
{
	struct block *b = mmap(NULL, sizeof(*b) + size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (b == MAP_FAILED)
		return NULL;
	*b = (struct block){ .size = size, .is_mapped = true };
	return b;
}

static struct block *take(size_t size)
{
	struct block *b = (struct block *)(arena + used);

	used += sizeof(*b) + size;
	*b = (struct block){ .size = size };
	return b;
}

static bool fits(size_t size)
{
	return size < ARENA_LARGE && sizeof(struct block) + size <= ARENA_SIZE - used;
}

void *arena_allocate(size_t size)
{
	size = rounded(size);
	struct block *b = size == 0 ? NULL : fits(size) ? take(size) : map(size);

	if (!b)
		errno = ENOMEM;
	return b ? b + 1 : NULL;
}

static void *remap(struct block *b, size_t size)
{
	b = mremap(b, sizeof(*b) + b->size, sizeof(*b) + size, MREMAP_MAYMOVE);
	if (b == MAP_FAILED)
		return NULL; /* mremap(2) has set errno to ENOMEM */
	b->size = size;
	return b + 1;
}

static bool grow_newest(struct block *b, size_t size)
{
	if (!is_newest(b) || size >= ARENA_LARGE || size - b->size > ARENA_SIZE - used)
		return false;
	used += size - b->size;
	b->size = size;
	return true;
}

bool arena_grow(void *p, size_t size)
{
	struct block *b = block_of(p);
	const size_t needed = rounded(size);

	return needed && (needed <= b->size || grow_newest(b, needed));
}

void *arena_resize(void *p, size_t size)
{
	if (!p)
		return arena_allocate(size);

	struct block *b = block_of(p);
	size_t needed = rounded(size);
	if (needed == 0) {
		errno = ENOMEM;
		return NULL;
	}
	if (arena_grow(p, size))
		return p;
	if (b->is_mapped)
		return remap(b, needed);
	void *moved = arena_allocate(size);
	if (moved) {
		memcpy(moved, p, b->size);
		arena_release(p);
	}
	return moved;
}

void arena_release(void *p)
{
	if (!p)
		return;

	struct block *b = block_of(p);
	if (b->is_mapped)
		(void)munmap(b, sizeof(*b) + b->size); /* munmap(2) cannot fail: the block
							* has a mapping of its own */
	else if (is_newest(b))
		used -= sizeof(*b) + b->size;
}

void arena_close(void)
{
	is_closed = true;
}

bool arena_fits(size_t size)
{
	return !is_closed && size < ARENA_LARGE && fits(rounded(size));
}

bool arena_holds(const void *p)
{
	const uint8_t *at = p;

	return at >= arena && at < arena + ARENA_SIZE;
}

size_t arena_size_of(void *p)
{
	return block_of(p)->size;
}

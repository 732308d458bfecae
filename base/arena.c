#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>

#define ALIGNMENT 16

/* The header in front of each block. */
struct block {
	alignas(ALIGNMENT) size_t size; /* bytes of the block without this header; a
					 * multiple of 16 */
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
	return (const uint8_t *)(b + 1) + b->size == arena + used;
}

/* Returns the size rounded up to a multiple of the alignment; `size` is less than
 * ARENA_LARGE. */
static size_t rounded(size_t size)
{
	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	return size ? size : ALIGNMENT;
}

void *arena_allocate(size_t size)
{
	if (is_closed || size >= ARENA_LARGE ||
	    sizeof(struct block) + rounded(size) > ARENA_SIZE - used)
		return NULL;

	struct block *b = (struct block *)(arena + used);
	*b = (struct block){ .size = rounded(size) };
	used += sizeof(*b) + b->size;
	return b + 1;
}

bool arena_grow(void *p, size_t size)
{
	struct block *b = block_of(p);

	if (size <= b->size)
		return true;
	if (!is_newest(b) || size >= ARENA_LARGE ||
	    rounded(size) - b->size > ARENA_SIZE - used)
		return false;
	used += rounded(size) - b->size;
	b->size = rounded(size);
	return true;
}

size_t arena_size_of(void *p)
{
	return block_of(p)->size;
}

bool arena_holds(const void *p)
{
	const uint8_t *at = p;

	return at >= arena && at < arena + ARENA_SIZE;
}

void arena_release(void *p)
{
	const struct block *b = block_of(p);

	if (is_newest(b))
		used -= sizeof(*b) + b->size;
}

void arena_close(void)
{
	is_closed = true;
}

/* arena -- memory for a program that lives as long as one command, or for the start of
 * one that lives on.
 *
 * A launch makes some hundred small allocations, frees few, and forks twice in
 * between.  libc spreads them over mappings of its own, and each of those is
 * copied at a fork, faulted in and taken down again.  In the arena the blocks
 * lie one behind the other in the program's own zeroed data, and only the
 * newest can be given back.  A large block, and any block when the arena is
 * full, is a mapping of its own that is unmapped when it is released, so memory
 * does not grow over time.
 *
 * A program that lives on takes only the memory of its start from here
 * (supervisor/malloc.c): it asks with arena_fits() first, and closes the arena when it
 * has started.
 *
 * Results are aligned to 16 bytes, like malloc(3)'s.  One thread only. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define ARENA_SIZE \
	(8u << 20) /* bytes of the arena; pages of it that are not touched
				* take no memory */
#define ARENA_LARGE \
	(32u << 10) /* a block of this many bytes or more is a mapping of its
				 * own */

/* Allocates a block like malloc(3); returns NULL with ENOMEM if there is no memory. */
void *arena_allocate(size_t size);

/* Changes the size of block `p` like realloc(3): when NULL is returned, `p` stays as
 * it was. */
void *arena_resize(void *p, size_t size);

/* Releases a block like free(3). */
void arena_release(void *p);

/* Changes the size of block `p` in its place.  Returns false, and leaves the block as it
 * was, if the place does not suffice. */
bool arena_grow(void *p, size_t size);

/* Makes arena_fits() false from now on.  The blocks of the arena stay, and can be released. */
void arena_close(void);

/* Returns whether a block of this size would be in the arena, and no mapping. */
bool arena_fits(size_t size);

/* Returns whether the block is in the arena, and no mapping. */
bool arena_holds(const void *p);

/* Returns how many bytes the block has; at least as many as were asked for. */
size_t arena_size_of(void *p);
